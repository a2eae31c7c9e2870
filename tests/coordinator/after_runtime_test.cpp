// Apps whose runtime is gone.
#include "tests/fixtures/small_graphs.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe {
namespace {

app<> orphan(runtime_options options = {}) {
  runtime rt{std::move(options)};
  auto out = rt.load(three_nodes([](const auto&) {}));
  (void)out.try_invoke(value::map(), {.thread_id = "t"});
  return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(coordinator_after_runtime)

BOOST_AUTO_TEST_CASE(runs_of_an_app_whose_runtime_is_gone_are_refused) {
  for (bool stored : {false, true}) {
    auto app = orphan(stored ? with_memory() : runtime_options{});
    const run_config config{.thread_id = "t"};
    BOOST_TEST((code_of(app.try_invoke(value::map(), config)) == errc::runtime_stopped));
    BOOST_TEST((code_of(app.start(value::map(), config).get()) == errc::runtime_stopped));
    BOOST_TEST(
      (code_of(app.start(value::map(), config, stream_options{}).get()) == errc::runtime_stopped));
    auto parts = app.stream(value::map(), config);
    auto first = parts.try_next();
    BOOST_REQUIRE(!first);
    BOOST_TEST((first.error().code() == errc::runtime_stopped));
    auto kept = app.follow("t");
    auto part = kept.try_next();
    BOOST_REQUIRE(!part);
    BOOST_TEST((part.error().code() == errc::runtime_stopped));
  }
}

BOOST_AUTO_TEST_CASE(threads_of_an_app_whose_runtime_is_gone_are_out_of_reach) {
  auto app = orphan(with_memory());
  const run_config config{.thread_id = "t"};
  BOOST_TEST((app.try_get_state(config).error().code() == errc::runtime_stopped));
  BOOST_TEST((app.try_get_state_history(config).error().code() == errc::runtime_stopped));
  BOOST_TEST((app.try_update_state(config, log("x"), "a").error().code() == errc::runtime_stopped));
  BOOST_TEST((app.try_unfinished().error().code() == errc::runtime_stopped));
  BOOST_TEST((app.try_resume_unfinished().error().code() == errc::runtime_stopped));
  BOOST_TEST((app.clear_cache().error().code() == errc::runtime_stopped));
  BOOST_TEST(!app.saver());
  BOOST_TEST(app.graph().name() == "three");
}

BOOST_AUTO_TEST_CASE(an_app_with_a_saver_of_its_own_may_outlive_its_runtime) {
  auto own = make_memory_saver();
  state_graph<> g{log_only};
  g.add_node("a", [](const state_view&) { return log("a"); });
  g.add_edge(START, "a");
  std::optional<app<>> app;
  {
    runtime rt;
    app = rt.load(g.compile({.name = "own", .checkpointer = own}));
    app->invoke(value::map(), {.thread_id = "t"});
  }
  BOOST_TEST((code_of(app->try_invoke(nullptr, {.thread_id = "t"})) == errc::runtime_stopped));
  BOOST_TEST((app->saver() == own.get()));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
