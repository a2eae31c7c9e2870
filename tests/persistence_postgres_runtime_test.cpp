// A run over the saver in Postgres, from end to end: asked in one runtime, answered in another.
#include "tests/postgres_server.hpp"

#include <troupe/runtime.hpp>
#include <troupe/state_graph.hpp>

#include <boost/test/unit_test.hpp>

namespace troupe {

namespace {

struct letter {
  std::string text;
  std::vector<std::string> log;
  TROUPE_STATE(letter, text, (log, append))
};

typed_graph<letter> approval() {
  state_graph<letter> g;
  g.add_node("draft",
             [](const letter&) { return set(&letter::log, std::vector<std::string>{"draft"}); });
  g.add_node("ask", [](const letter& s, context& ctx) {
    auto answer = ctx.interrupt(value{{"send", s.text}});
    return set(&letter::log, std::vector<std::string>{std::string{answer.as_string()}});
  });
  g.add_edge(START, "draft");
  g.add_edge("draft", "ask");
  return g.compile();
}

} // namespace

BOOST_AUTO_TEST_SUITE(persistence_postgres_runtime)

BOOST_AUTO_TEST_CASE(a_question_asked_in_one_runtime_is_answered_in_another) {
  auto options = test::postgres_server::of_this_program().fresh_options();
  for (auto when : {durability::sync, durability::async, durability::exit}) {
    const run_config config{.thread_id = "t" + std::to_string(static_cast<int>(when)),
                            .durability = when};
    {
      runtime rt{{.saver = open_postgres_saver(options).value()}};
      auto paused = rt.load(approval()).invoke(value{{"text", "hello"}}, config);
      BOOST_REQUIRE(paused.interrupts().size() == 1u);
      BOOST_TEST(paused.interrupts()[0].value["send"] == value("hello"));
    }
    runtime rt{{.saver = open_postgres_saver(options).value()}};
    auto app = rt.load(approval());
    auto done = app.invoke(command{.resume = "yes"}, config);
    BOOST_TEST(done.state().log == (std::vector<std::string>{"draft", "yes"}));
    BOOST_TEST(done.state().text == "hello");
  }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
