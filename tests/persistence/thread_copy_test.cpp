// Copies of threads up to a checkpoint, on every saver.
#include "tests/fixtures/small_graphs.hpp"
#include "tests/persistence/saver_kinds.hpp"

namespace troupe {

namespace {

using test::backends;
using test::require_error;

/// Appends to a plain and a delta channel, asks in a graph of its own, and goes round.
compiled_graph rounds() {
  state_graph<> inner{{{"plain", append}, {"seen", append}}};
  inner.add_node("before", [] { return state_update{{"seen", value::list({"before"})}}; });
  inner.add_node("ask", [](context& ctx) {
    return state_update{{"plain", value::list({ctx.interrupt("?")})}};
  });
  inner.add_edge(START, "before");
  inner.add_edge("before", "ask");
  state_graph<> g{{{"plain", append}, {"log", delta(append, 50)}, {"n", sum}}};
  g.add_node("count", [](const state_view& s) {
    auto word = value::list({s["n"]});
    return state_update{{"n", 1}, {"plain", word}, {"log", word}};
  });
  g.add_node("inner", inner.compile({.name = "inner"}));
  g.add_edge(START, "count");
  g.add_conditional_edges("count", [](const state_view& s) {
    return s["n"].as_int() % 4 == 0 ? destinations{"inner"} : destinations{"count"};
  });
  g.add_edge("inner", "count");
  return g.compile({.name = "rounds"});
}

} // namespace

BOOST_AUTO_TEST_SUITE(persistence_thread_copy)

BOOST_AUTO_TEST_CASE_TEMPLATE(a_copy_ends_at_the_checkpoint_and_runs_on_from_there, backend,
                              backends) {
  backend on;
  runtime rt{{.saver = on.saver}};
  auto app = rt.load(rounds());
  const run_config from{.thread_id = "t"};
  app.invoke({{"n", 0}}, from); // asks after 4
  app.try_invoke(answer("one"), from).value();
  BOOST_TEST(app.get_state(from).values["n"] == value(8));
  auto history = app.get_state_history(from);
  auto source = on.saver->list({.thread_id = "t"}).value();
  for (std::size_t i = 0; i < history.size(); ++i) {
    auto at = from;
    at.checkpoint_id = history[i].config.checkpoint_id;
    run_config to{.thread_id = "copy " + std::to_string(i)};
    app.copy_thread(at, to.thread_id);
    auto copied = app.get_state_history(to);
    BOOST_TEST(copied.size() == history.size() - i);
    auto state = app.get_state(to, true);
    auto before = app.get_state(at, true);
    BOOST_TEST(state.values == before.values);
    BOOST_TEST(state.values["log"].size() * 1u <= state.values["plain"].size() * 1u);
    BOOST_TEST(state.next == before.next, boost::test_tools::per_element());
    BOOST_TEST(state.interrupts.size() == before.interrupts.size());
    for (std::size_t task = 0; task < state.tasks.size(); ++task)
      BOOST_TEST((state.tasks[task].state == nullptr) == (before.tasks[task].state == nullptr));
  }
  BOOST_TEST(on.saver->list({.thread_id = "t"}).value().size() == source.size());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_question_at_the_end_of_a_copy_is_answered_there, backend,
                              backends) {
  backend on;
  runtime rt{{.saver = on.saver}};
  auto app = rt.load(rounds());
  const run_config from{.thread_id = "t"}, to{.thread_id = "copy"};
  app.invoke({{"n", 0}}, from);
  auto at = from;
  at.checkpoint_id = app.get_state(from).config.checkpoint_id;
  app.try_invoke(answer("one"), from).value();
  app.copy_thread(at, "copy");
  BOOST_TEST(on.saver->thread_owner("copy").value() == 0u);
  app.try_invoke(answer("other"), to).value();
  auto there = app.get_state(from).values, here = app.get_state(to).values;
  BOOST_TEST(to_json(there["plain"]) == R"([0,1,2,3,"one",4,5,6,7])");
  BOOST_TEST(to_json(here["plain"]) == R"([0,1,2,3,"other",4,5,6,7])");
  BOOST_TEST(here["log"] == there["log"]);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_copy_that_can_not_be_made_leaves_nothing, backend, backends) {
  backend on;
  runtime rt{{.saver = on.saver}};
  auto app = rt.load(rounds());
  run_config at{.thread_id = "t"};
  app.invoke({{"n", 0}}, at);
  at.checkpoint_id = test::checkpoint_id(1);
  require_error(app.try_copy_thread(at, "copy"), errc::checkpoint_missing);
  require_error(app.try_copy_thread({.thread_id = "none", .checkpoint_id = at.checkpoint_id},
                                    "copy"),
                errc::checkpoint_missing);
  at.checkpoint_id = app.get_state({.thread_id = "t"}).config.checkpoint_id;
  require_error(app.try_copy_thread(at, "t"), errc::invalid_config);
  app.copy_thread(at, "copy");
  require_error(app.try_copy_thread(at, "copy"), errc::invalid_config);
  BOOST_TEST(on.saver->threads().value().size() == 2u);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
