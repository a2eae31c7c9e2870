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
  auto last = app.get_state(from).values;
  BOOST_TEST(last["n"] == value(8));
  auto source = on.saver->list({.thread_id = "t", .checkpoint_ns = ""}).value();
  for (std::size_t i = 0; i < source.size(); ++i) {
    run_config at{.thread_id = "t", .checkpoint_id = source[i].ref.checkpoint_id};
    run_config to{.thread_id = "copy " + std::to_string(i)};
    app.copy_thread(at, to.thread_id);
    auto copied = on.saver->list({.thread_id = to.thread_id, .checkpoint_ns = ""}).value();
    BOOST_REQUIRE(copied.size() == source.size() - i);
    for (std::size_t n = 0; n < copied.size(); ++n) {
      BOOST_TEST((copied[n].checkpoint == source[i + n].checkpoint));
      BOOST_TEST((copied[n].pending_writes == source[i + n].pending_writes));
    }
    auto here = to;
    here.checkpoint_id = at.checkpoint_id;
    BOOST_TEST(app.get_state(here).values == app.get_state(at).values); // delta channels, too
    for (const auto& tuple : on.saver->list({.thread_id = to.thread_id}).value())
      if (!tuple.ref.checkpoint_ns.empty())
        BOOST_TEST(tuple.metadata["parents"][""].as_string() <= at.checkpoint_id);
    app.try_invoke(nullptr, to).value();
    if (app.get_state(to).values["n"] == value(4)) // it asks
      app.try_invoke(answer("one"), to).value();
    BOOST_TEST(app.get_state(to).values == last);
  }
  BOOST_TEST(on.saver->list({.thread_id = "t", .checkpoint_ns = ""}).value().size()
             == source.size());
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
  app.copy_thread(at, "copy");
  BOOST_TEST(on.saver->thread_owner("copy").value() == 0u);
  app.try_invoke(answer("one"), from).value();
  app.try_invoke(answer("other"), to).value();
  auto there = app.get_state(from).values, here = app.get_state(to).values;
  BOOST_TEST(to_json(there["plain"]) == R"([0,1,2,3,0,1,2,3,"one",4,5,6,7])");
  BOOST_TEST(to_json(here["plain"]) == R"([0,1,2,3,0,1,2,3,"other",4,5,6,7])");
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
