// Groups of actors: orders to stop meet the run they are for, whenever they arrive.
#include "coordinator/run_group.hpp"

#include "actors/tell.hpp"
#include "coordinator/run_actor.hpp"
#include "tests/fixtures/small_graphs.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/send.hpp>

#include <boost/test/unit_test.hpp>

#include <future>

namespace troupe {
namespace {

class noted_end : public run_completion {
public:
  void finish(nested_end how) override { ended.set_value(std::move(how)); }
  void stopping() override { ++asked; }
  std::promise<nested_end> ended;
  int asked = 0;
};

card_ptr card_of_a_group() {
  auto card = std::make_shared<actor_card>();
  card->group = std::make_shared<group_card>();
  return card;
}

} // namespace

BOOST_AUTO_TEST_SUITE(coordinator_run_group)

BOOST_AUTO_TEST_CASE(an_order_to_stop_reaches_its_run_alone) {
  caf::actor_system_config config;
  caf::actor_system system{config};
  std::promise<std::uint64_t> stopped;
  auto coordinator = system.spawn([&stopped](caf::event_based_actor*) -> caf::behavior {
    return {[&stopped](stop_run& order) { stopped.set_value(order.run); }};
  });
  run_group group{coordinator, card_of_a_group(), nullptr};
  noted_end end;
  auto first = group.enter(end, "t");
  group.leave();
  auto second = group.enter(end, "t");
  group.stop(first, {errc::cancelled, "too late"});
  BOOST_TEST(end.asked == 0);
  group.stop(second, {errc::cancelled, "in time"});
  BOOST_TEST(end.asked == 1);
  BOOST_TEST(stopped.get_future().get() == second);
  group.leave();
  group.stop({errc::cancelled, "no run is on"});
  BOOST_TEST(end.asked == 1);
  group.wait_until_left();
  caf::anon_send_exit(coordinator, caf::exit_reason::user_shutdown);
}

BOOST_AUTO_TEST_CASE(an_order_to_stop_that_overtakes_the_begin_of_its_run_ends_it) {
  bool ran = false;
  state_graph<> g{{{"x", last_value}}};
  g.add_node("n", [&ran](const state_view&) { ran = true; });
  g.add_edge(START, "n");
  auto graph = g.compile();
  services shared{1};
  caf::actor_system_config config;
  caf::actor_system system{config};
  auto context = std::make_shared<group_context>();
  context->plan = graph.plan();
  context->shared = &shared;
  context->times = std::make_shared<node_times>(graph.plan()->nodes.size());
  auto card = card_of_a_group();
  auto coordinator = system.spawn<run_actor>(std::shared_ptr<const group_context>{context}, card);
  auto request = std::make_shared<run_request>();
  request->shared = std::make_shared<run_shared>();
  request->shared->plan = graph.plan();
  request->input = value::map();
  auto end = std::make_shared<noted_end>();
  tell(coordinator, *card, nullptr, stop_run{1, {errc::cancelled, "stopped early"}});
  tell(coordinator, *card, nullptr, begin_run{request, end, 1});
  auto how = end->ended.get_future().get().how;
  BOOST_TEST(how.error().message() == "stopped early");
  BOOST_TEST(!ran);
  caf::anon_send_exit(coordinator, caf::exit_reason::user_shutdown);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
