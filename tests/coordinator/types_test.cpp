// Values of the wrong type: they are refused where they are made, by a message that names the
// place.
#include "tests/fixtures/small_graphs.hpp"

#include <troupe/agents/messages.hpp>

#include <boost/test/unit_test.hpp>

namespace troupe {
namespace {

BOOST_AUTO_TEST_SUITE(coordinator_types)

struct order {
  std::int64_t n = 0;
  std::vector<std::string> log;
  std::string name;
  std::vector<int> seen;
  value any;
  TROUPE_STATE(order, (n, sum), (log, append), name, (seen, topic_accumulating), any)
};

constexpr const char* wanted_int = "read a value: wanted integer: it is string";

// One node `a`, which gives back what `body` does.
template <class F> compiled_graph one_node(F body) {
  state_graph<order> g;
  g.add_node("a", std::move(body));
  g.add_edge(START, "a");
  return g.compile();
}

compiled_graph writes(value update) {
  return one_node([update](const order&) { return state_update{update}; });
}

error failure_of(const compiled_graph& graph, const run_input& input = {},
                 const run_config& config = {}) {
  runtime rt;
  auto how = rt.load(graph).try_invoke(input, config);
  return how ? error{errc::ok, "it ran"} : how.error();
}

BOOST_AUTO_TEST_CASE(a_write_of_the_wrong_type_is_refused_by_node_and_channel) {
  auto refused = failure_of(writes({{"n", "five"}}));
  BOOST_TEST(refused.message() == std::string{"node `a`: channel `n`: "} + wanted_int);
  BOOST_TEST((refused.code() == errc::invalid_update));
  BOOST_TEST(reference_name(refused) == "TypeError");
  BOOST_TEST(failure_of(writes({{"name", 5}})).message().starts_with("node `a`: channel `name`: "));
  BOOST_TEST(failure_of(writes({{"log", value::list({1})}}))
               .message()
               .starts_with("node `a`: channel `log`: "));
  BOOST_TEST(
    failure_of(writes({{"seen", "x"}})).message().starts_with("node `a`: channel `seen`: "));
  BOOST_TEST(
    failure_of(writes({{"n", overwrite("x")}})).message().starts_with("node `a`: channel `n`: "));
}

BOOST_AUTO_TEST_CASE(what_fits_is_written) {
  for (const value& update :
       {value{{"n", 5}}, value{{"name", nullptr}}, value{{"seen", 1}}, value{{"any", "x"}},
        value::map({{"seen", value::list({1, 2})}}), value::map({{"n", overwrite(1)}})})
    BOOST_TEST((failure_of(writes(update)).code() == errc::ok), to_json(update));
}

BOOST_AUTO_TEST_CASE(a_command_of_a_node_is_checked_as_its_update_is) {
  auto graph = one_node([](const order&) { return command{.update = {{"n", "five"}}}; });
  BOOST_TEST(failure_of(graph).message().starts_with("node `a`: channel `n`: "));
}

BOOST_AUTO_TEST_CASE(an_input_of_the_wrong_type_is_refused_and_nothing_is_stored) {
  runtime rt{{.saver = make_memory_saver()}};
  auto app = rt.load(writes({{"name", "x"}}));
  auto refused = app.try_invoke({{"n", "five"}}, {.thread_id = "t"});
  BOOST_REQUIRE(!refused);
  BOOST_TEST(refused.error().message() == std::string{"the input: channel `n`: "} + wanted_int);
  BOOST_TEST((refused.error().code() == errc::invalid_value));
  BOOST_TEST(app.get_state({.thread_id = "t"}).created_at.empty());
  refused = app.try_invoke(command{.update = {{"n", "x"}}}, {.thread_id = "t"});
  BOOST_REQUIRE(!refused);
  BOOST_TEST(refused.error().message().starts_with("the command's update: channel `n`: "));
}

BOOST_AUTO_TEST_CASE(an_update_from_outside_of_the_wrong_type_is_refused_and_nothing_is_stored) {
  runtime rt{{.saver = make_memory_saver()}};
  auto app = rt.load(writes({{"name", "x"}}));
  auto refused = app.try_update_state({.thread_id = "t"}, {{"n", "str"}}, "a");
  BOOST_REQUIRE(!refused);
  BOOST_TEST(refused.error().message()
             == std::string{"update_state as node `a`: channel `n`: "} + wanted_int);
  refused = app.try_update_state({.thread_id = "t"}, {{"n", "str"}}, START);
  BOOST_REQUIRE(!refused);
  BOOST_TEST(app.get_state({.thread_id = "t"}).created_at.empty());
}

BOOST_AUTO_TEST_CASE(a_value_that_the_body_reads_wrongly_names_the_node) {
  auto graph = one_node([](const state_view& s) -> value { return s["name"].as_int(); });
  auto refused = failure_of(graph, {{"name", "x"}});
  BOOST_TEST(refused.message() == std::string{"node `a` of graph `graph`: "} + wanted_int);
  BOOST_TEST(refused.text() == wanted_int);
}

BOOST_AUTO_TEST_CASE(a_write_that_a_channel_refuses_names_its_writers) {
  state_graph<> g{{{"n", sum}, {"x", last_value}}};
  g.add_node("a", [] { return state_update{{"n", "one"}}; });
  g.add_node("b", [] { return state_update{{"n", 1}}; });
  g.add_edge(START, "a");
  g.add_edge(START, "b");
  auto refused = failure_of(g.compile());
  BOOST_TEST(refused.message().starts_with("At key 'n': "));
  BOOST_TEST(refused.message().ends_with(" (written by node `a` and node `b`)"));
  refused = failure_of(g.compile(), {{"n", "one"}});
  BOOST_TEST(refused.message().ends_with(" (written by the input)"));

  runtime rt{{.saver = make_memory_saver()}};
  auto from_outside =
    rt.load(g.compile()).try_update_state({.thread_id = "t"}, {{"n", "one"}}, "a");
  BOOST_REQUIRE(!from_outside);
  BOOST_TEST(from_outside.error().message().ends_with(" (written by update_state as node `a`)"));
}

BOOST_AUTO_TEST_CASE(an_error_that_a_body_threw_names_node_and_graph) {
  for (auto code : {errc::overloaded, errc::invalid_config, errc::node_timeout, errc::node_failed,
                    errc::invalid_value}) {
    auto thrown = [code](const order&) -> value { throw error{code, "the model is busy"}; };
    state_graph<order> g;
    g.add_node("agent", thrown);
    g.add_edge(START, "agent");
    auto helper = g.compile({.name = "helper"});
    state_graph<order> outer;
    outer.add_node("team", helper);
    outer.add_edge(START, "team");
    for (const auto& graph : std::vector<compiled_graph>{helper, outer.compile()}) {
      auto failure = failure_of(graph);
      BOOST_TEST((failure.code() == code));
      BOOST_TEST(failure.message() == "node `agent` of graph `helper`: the model is busy");
      BOOST_TEST(failure.text() == "the model is busy");
    }
  }
}

BOOST_AUTO_TEST_CASE(a_run_without_an_input_reports_what_is_missing) {
  runtime rt{{.saver = make_memory_saver()}};
  auto app = rt.load(writes({{"name", "x"}}));
  auto why = [&app](const run_input& input, const run_config& config) {
    auto how = app.try_invoke(input, config);
    BOOST_TEST_REQUIRE(!how);
    BOOST_TEST((how.error().code() == errc::empty_input));
    return how.error().message();
  };
  BOOST_TEST(why(nullptr, {.thread_id = "t"})
               .starts_with("run without an input: nothing is stored of thread `t`, "));
  BOOST_TEST(why(nullptr, {.thread_id = "t", .checkpoint_id = "c"})
               .starts_with("run without an input: thread `t` has no checkpoint `c`, "));
  BOOST_TEST(why(command{}, {.thread_id = "t"}).starts_with("run a command: "));
}

BOOST_AUTO_TEST_CASE(a_send_that_is_no_state_names_the_node_it_was_sent_to) {
  state_graph<order> g;
  g.add_node("b", [](const order&) {});
  g.add_conditional_edges(START, [](const order&) { return send{"b", {{"n", "x"}}}; });
  auto refused = failure_of(g.compile());
  BOOST_TEST(refused.message()
             == std::string{"node `b` of graph `graph`: read state order: `n`: "} + wanted_int);
}

BOOST_AUTO_TEST_CASE(a_body_that_returns_no_update_is_refused_by_name) {
  auto graph = one_node([](const order&) { return value(1); });
  BOOST_TEST(
    failure_of(graph).message().starts_with("node `a` returned 1: a body returns nothing"));
}

BOOST_AUTO_TEST_CASE(a_graph_without_a_struct_takes_any_value) {
  state_graph<> g{{{"n", sum}, {"name", last_value}}};
  g.add_node("a", [](const state_view&) { return state_update{{"name", 5}}; });
  g.add_edge(START, "a");
  BOOST_TEST((failure_of(g.compile(), {{"name", "x"}}).code() == errc::ok));
}

// ---- keys -----------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(unknown_keys_are_dropped_unless_the_input_is_strict) {
  auto graph = writes({{"name", "x"}});
  BOOST_TEST((failure_of(graph, {{"nn", 1}}).code() == errc::ok));
  auto refused = failure_of(graph, {{"nn", 1}}, {.strict_input = true});
  BOOST_TEST(refused.message()
             == "the input: graph `graph` has no channel `nn` to write; it has `n`, `log`, `name`, "
                "`seen`, `any`");
  BOOST_TEST((refused.code() == errc::invalid_value));
  BOOST_TEST((failure_of(graph, {{"n", 1}}, {.strict_input = true}).code() == errc::ok));
  runtime rt{{.saver = make_memory_saver()}};
  auto app = rt.load(graph);
  BOOST_TEST(app.try_update_state({.thread_id = "t"}, {{"zz", 1}}, "a").has_value());
  BOOST_TEST(!app.try_update_state({.thread_id = "t", .strict_input = true}, {{"zz", 1}}, "a"));
}

// ---- messages in a member that is a value ---------------------------------------------------

struct talk {
  value messages;
  TROUPE_STATE(talk, (messages, add_messages))
};

BOOST_AUTO_TEST_CASE(messages_may_be_a_member_that_is_a_value) {
  state_graph<talk> g;
  g.add_node("answer", [](const talk& s) {
    return set(&talk::messages, ai_message(s.messages[0].payload()["content"]));
  });
  g.add_edge(START, "answer");
  runtime rt;
  auto how = rt.load(g.compile()).try_invoke({{"messages", "hi"}});
  BOOST_REQUIRE(how.has_value());
  BOOST_TEST(how->value()["messages"].size() == 2u);
}

// ---- contexts -------------------------------------------------------------------------------

struct who {
  std::string user_id;
  int limit = 5;
  std::optional<std::string> language;
  TROUPE_STATE(who, user_id, limit, language)
};

BOOST_AUTO_TEST_CASE(a_context_has_every_member_that_is_not_optional_and_no_other) {
  state_graph<order> g;
  g.add_node("a", [](const order&) {});
  g.add_edge(START, "a");
  g.context_schema<who>();
  auto graph = g.compile();
  auto refusal = [&graph](const value& given) {
    auto how = failure_of(graph, {}, {.context = given});
    return how.code() == errc::invalid_config ? how.message() : std::string{to_string(how.code())};
  };
  BOOST_TEST(refusal({{"user_id", "ann"}, {"limit", 1}}) == "ok");
  BOOST_TEST(refusal({{"user_id", "ann"}, {"limit", 1}, {"language", "de"}}) == "ok");
  BOOST_TEST(refusal(nullptr)
             == "context of a run: member `user_id` is missing: give it, or declare it as "
                "std::optional");
  BOOST_TEST(refusal(value{{"user_id", "ann"}}).find("`limit` is missing") != std::string::npos);
  BOOST_TEST(refusal({{"user_id", "ann"}, {"limit", 1}, {"user_idd", "x"}})
             == "context of a run: who has no member `user_idd`");
  BOOST_TEST(refusal({{"user_id", 1}, {"limit", 1}}).find("`user_id`: read a value")
             != std::string::npos);
  BOOST_TEST(refusal("ann").find("a map is expected") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace
} // namespace troupe
