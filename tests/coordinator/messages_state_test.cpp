// The messages state, as it is and extended, and a graph whose whole state is a list of messages.
#include "tests/fixtures/small_graphs.hpp"

#include <troupe/messages_state.hpp>

#include <boost/test/unit_test.hpp>

namespace troupe {
namespace {

struct research : messages_state {
  std::vector<std::string> sources;
  TROUPE_STATE(research, TROUPE_MESSAGES, (sources, append))
};

value assistant(const std::string& text) {
  return value::of(message{.role = "assistant", .content = text});
}

/// An answer to the last message.
value reply_to(const value& messages) {
  const auto& last = messages[messages.size() - 1];
  return assistant("re: " + last.as<message>().content.as<std::string>());
}

std::string text_of(const value& message) {
  return message.as<troupe::message>().content.as<std::string>();
}

} // namespace

BOOST_AUTO_TEST_SUITE(coordinator_messages_state)

BOOST_AUTO_TEST_CASE(messages_state_is_used_as_it_is) {
  state_graph<messages_state> g;
  g.add_node("answer", [](const messages_state& s) {
    return set(&messages_state::messages, {assistant("to " + s.messages.back().role)});
  });
  g.add_edge(START, "answer");
  runtime rt{with_memory()};
  auto app = rt.load(g.compile());
  auto out = app.invoke({{"messages", "hello"}}, {.thread_id = "t"}).state();
  BOOST_REQUIRE(out.messages.size() == 2u);
  BOOST_TEST(out.messages[0].role == "user");
  BOOST_TEST(out.messages[1].content == value("to user"));
  BOOST_TEST(!out.messages[1].id.empty());
  BOOST_TEST(app.invoke({{"messages", "again"}}, {.thread_id = "t"}).state().messages.size() == 4u);
  BOOST_TEST((schema_of<messages_state>().channels[0].second == add_messages));
}

BOOST_AUTO_TEST_CASE(messages_state_is_extended_by_members) {
  state_graph<research> g;
  g.add_node("read", [](const research& s) {
    return update<research>{}
      .set(&research::messages, std::vector{message{.role = "assistant", .content = "done"}})
      .set(&research::sources, {s.messages.back().content.as<std::string>()});
  });
  g.add_node("thank", [](const research&) {
    return set(&research::messages, {assistant("thanks")}); // of one inherited member
  });
  g.add_edge(START, "read");
  g.add_edge("read", "thank");
  runtime rt{with_memory()};
  auto out = rt.load(g.compile()).invoke({{"messages", "a book"}}, {.thread_id = "t"}).state();
  BOOST_TEST(out.messages.size() == 3u);
  BOOST_TEST(out.messages.back().content == value("thanks"));
  BOOST_TEST(out.sources.at(0) == "a book");
  auto refused = rt.load(g.compile()).try_invoke({{"messages", 7}}, {.thread_id = "u"});
  BOOST_TEST(to_string(code_of(refused)) == "invalid_update");
}

BOOST_AUTO_TEST_CASE(root_of_messages_is_a_graph_whose_state_is_one_list_of_messages) {
  state_graph<> g{{{"__root__", add_messages}}};
  g.add_node("answer", [](const value& messages) { return reply_to(messages); });
  g.add_edge(START, "answer");
  runtime rt{with_memory()};
  auto app = rt.load(g.compile());
  auto out = app.invoke(value("hello"), {.thread_id = "t"}).value();
  BOOST_REQUIRE(out.size() == 2u);
  BOOST_TEST(text_of(out[0]) == "hello");
  BOOST_TEST(text_of(out[1]) == "re: hello");
  out = app.invoke(value("more"), {.thread_id = "t"}).value(); // joins the thread's messages
  BOOST_REQUIRE(out.size() == 4u);
  BOOST_TEST(text_of(out[3]) == "re: more");
}

BOOST_AUTO_TEST_CASE(root_of_messages_refuses_what_is_not_a_message) {
  state_graph<> g{{{"__root__", add_messages}}};
  g.add_node("answer", [](const value& messages) { return reply_to(messages); });
  g.add_edge(START, "answer");
  runtime rt{with_memory()};
  auto refused = rt.load(g.compile()).try_invoke(value(7), {.thread_id = "t"});
  BOOST_REQUIRE(!refused);
  BOOST_TEST(to_string(refused.error().code()) == "invalid_update");
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace troupe
