// The scheduler threads of a runtime: when they start, and an end without them.
#include "actors/lazy_scheduler.hpp"
#include "tests/fixtures/small_graphs.hpp"

#include <troupe/actor.hpp>

#include <boost/test/unit_test.hpp>
#include <caf/actor.hpp>
#include <caf/actor_system.hpp>

namespace troupe {
namespace {

bool has_threads(const app<>& graph) {
  return dynamic_cast<lazy_scheduler&>(graph.handle().home_system().scheduler()).has_threads();
}

} // namespace

BOOST_AUTO_TEST_SUITE(coordinator_late_threads)

BOOST_AUTO_TEST_CASE(a_run_on_the_thread_of_its_caller_starts_no_scheduler_thread) {
  runtime rt;
  auto app = rt.load(three_nodes([](const auto&) {}));
  app.invoke({}, {});
  BOOST_TEST(!has_threads(app));
  app.start({}, {}).get().value();
  BOOST_TEST(has_threads(app));
}

BOOST_AUTO_TEST_CASE(a_runtime_with_a_saver_ends_its_actors_without_threads) {
  auto rt = std::make_unique<runtime>(with_memory());
  auto app = rt->load(three_nodes([](const auto&) {}));
  app.invoke({}, {.thread_id = "t"});
  app.invoke({}, {.thread_id = "u"});
  rt.reset();
  BOOST_TEST((app.try_invoke({}, {.thread_id = "t"}).error().code() == errc::runtime_stopped));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
