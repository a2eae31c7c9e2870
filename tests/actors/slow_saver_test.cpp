// A whole run over a saver that answers only at the test's request: how far does it run ahead?
#include "tests/fixtures/simulated_system.hpp"
#include "tests/fixtures/small_graphs.hpp"

#include <troupe/actor.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <deque>

namespace troupe {
namespace {

/// Keeps what is submitted until it is let through.
class holding_saver : public forwarding_saver {
public:
  using forwarding_saver::forwarding_saver;

  void submit(save_request request, save_ack when,
              std::function<void(result<void>)> done) override {
    held_.push_back({std::move(request), when, std::move(done)});
  }

  void let_one_through() {
    auto next = std::move(held_.front());
    held_.pop_front();
    checkpoints_ += next.request.put.has_value();
    forwarding_saver::submit(std::move(next.request), next.when, std::move(next.done));
  }
  /// Refuses the newest one, before those that were submitted earlier are answered.
  void refuse_newest() {
    auto newest = std::move(held_.back());
    held_.pop_back();
    newest.done(error{errc::storage_full, "injected"});
  }
  bool holds_something() const { return !held_.empty(); }
  std::size_t requests_held() const { return held_.size(); }
  std::ptrdiff_t checkpoints_held() const {
    return std::ranges::count_if(held_, [](const order& o) { return o.request.put.has_value(); });
  }
  /// Steps of nodes that went through: the first two checkpoints are the input's and START's.
  std::int64_t steps_stored() const { return std::max<std::int64_t>(checkpoints_ - 2, 0); }

private:
  struct order {
    save_request request;
    save_ack when;
    std::function<void(result<void>)> done;
  };
  std::deque<order> held_;
  std::int64_t checkpoints_ = 0;
};

/// A step of two nodes: the one that ends first has a request of its own.
compiled_graph two_at_once() {
  state_graph<> g{{{"n", sum}}};
  for (const char* name : {"a", "b"}) {
    g.add_node(name, [] { return state_update{{"n", 1}}; });
    g.add_edge(START, name);
  }
  return g.compile();
}

compiled_graph counting_to(std::int64_t end, std::int64_t& executed) {
  state_graph<> g{{{"n", sum}}};
  g.add_node("count", [&executed] {
    ++executed;
    return state_update{{"n", 1}};
  });
  g.add_edge(START, "count");
  g.add_conditional_edges("count", [end](const state_view& s) {
    return s["n"].as_int() < end ? "count" : END;
  });
  return g.compile();
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(actors_slow_saver, simulated_system)

// The actors run until none of them has anything to do: who does not wait for the saver is done
// with all steps then.
BOOST_AUTO_TEST_CASE(with_async_one_step_waits_in_the_savers_queue_and_one_behind_it) {
  constexpr std::int64_t steps = 5000;
  std::int64_t executed = 0;
  auto saver = std::make_shared<holding_saver>(make_memory_saver());
  {
    runtime rt{sys, {.saver = saver}};
    auto app = rt.load(counting_to(steps, executed));
    auto run = app.start({{"n", 0}}, {.thread_id = "t", .recursion_limit = 2 * steps});
    std::ptrdiff_t held_max = 0;
    std::int64_t ahead_max = 0;
    for (sched.run(); !run.ready(); sched.run()) {
      BOOST_REQUIRE(saver->holds_something()); // else it waits for nobody
      held_max = std::max(held_max, saver->checkpoints_held());
      ahead_max = std::max(ahead_max, executed - saver->steps_stored());
      saver->let_one_through();
    }
    BOOST_TEST(run.get().value().value()["n"] == value(steps));
    BOOST_TEST(executed == steps);
    BOOST_TEST(saver->steps_stored() == steps);
    BOOST_TEST(held_max == 1);
    BOOST_TEST(ahead_max == 2);
    sched.inline_all_enqueues(); // so that the runtime's end finds somebody who runs its actors
  }
}

// A node's input is the checkpoint that its step begins at: the second one of a run, after that of
// the caller's input.
BOOST_AUTO_TEST_CASE(with_async_a_node_runs_before_its_input_is_stored_and_the_call_returns_after) {
  for (auto how : {durability::async, durability::sync}) {
    std::int64_t executed = 0;
    auto memory = make_memory_saver();
    auto saver = std::make_shared<holding_saver>(memory);
    runtime rt{sys, {.saver = saver}};
    auto app = rt.load(counting_to(2, executed));
    auto run = app.start({{"n", 0}}, {.thread_id = "t", .durability = how});
    sched.run();
    BOOST_TEST(executed == 0);
    saver->let_one_through();
    sched.run();
    auto stored = memory->list({}).value();
    BOOST_REQUIRE(stored.size() == 1u);
    BOOST_TEST(stored[0].metadata["source"] == value("input"));
    BOOST_TEST(executed == (how == durability::async ? 1 : 0));
    BOOST_TEST(!run.ready());
    for (; saver->holds_something(); sched.run()) {
      BOOST_TEST(!run.ready());
      saver->let_one_through();
    }
    BOOST_REQUIRE(run.ready());
    BOOST_TEST(run.get().value().value()["n"] == value(2));
    auto newest = memory->get_tuple({"t", "", ""}).value();
    BOOST_REQUIRE(newest.has_value());
    BOOST_TEST(newest->metadata["step"] == value(2)); // all that the call did
    BOOST_TEST(executed == 2);
    sched.inline_all_enqueues();
  }
}

BOOST_AUTO_TEST_CASE(with_sync_no_step_begins_before_the_one_before_it_is_saved) {
  constexpr std::int64_t steps = 100;
  std::int64_t executed = 0;
  auto saver = std::make_shared<holding_saver>(make_memory_saver());
  {
    runtime rt{sys, {.saver = saver}};
    auto app = rt.load(counting_to(steps, executed));
    auto run = app.start(
      {{"n", 0}}, {.thread_id = "t", .durability = durability::sync, .recursion_limit = 2 * steps});
    sched.run();
    BOOST_REQUIRE(saver->checkpoints_held() == 2); // the input's and START's share a commit
    BOOST_TEST(executed == 0);
    saver->let_one_through();
    for (sched.run(); !run.ready(); sched.run()) {
      BOOST_REQUIRE(saver->checkpoints_held() == 1);
      BOOST_REQUIRE(executed - saver->steps_stored() <= 1);
      saver->let_one_through();
    }
    BOOST_TEST(saver->steps_stored() == steps);
    sched.inline_all_enqueues();
  }
}

// Else the next run would find the first one's late request, and take it for that of an intruder.
BOOST_AUTO_TEST_CASE(a_run_whose_save_fails_ends_when_the_saver_has_answered_all_others) {
  for (auto how : {durability::async, durability::sync}) {
    auto saver = std::make_shared<holding_saver>(make_memory_saver());
    runtime rt{sys, {.saver = saver}};
    auto app = rt.load(two_at_once());
    const run_config config{.thread_id = "t", .durability = how};
    auto run = app.start({{"n", 0}}, config);
    sched.run();
    if (how == durability::async) { // START's checkpoint, and the writes of a node
      saver->let_one_through();
      sched.run();
    }
    BOOST_REQUIRE(saver->requests_held() == 2);
    saver->refuse_newest();
    sched.run();
    BOOST_TEST(!run.ready());
    saver->let_one_through();
    sched.run();
    BOOST_REQUIRE(run.ready());
    BOOST_TEST((run.get().error().code() == errc::storage_full));
    auto next = app.start({{"n", 0}}, config);
    for (sched.run(); saver->holds_something(); sched.run())
      saver->let_one_through();
    BOOST_REQUIRE(next.ready());
    auto answer = next.get();
    BOOST_REQUIRE_MESSAGE(answer.has_value(), answer.error().message());
    sched.inline_all_enqueues();
  }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
