// An actor system on CAF's test scheduler, with one thread: nothing runs but what the test runs, in
// an order drawn from a seed.
#pragma once

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/atom.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/scheduler/test_coordinator.hpp>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

struct simulated_system {
  caf::actor_system_config config;
  caf::actor_system sys;
  caf::scheduler::test_coordinator& sched;

  simulated_system()
    : sys{config.set("scheduler.policy", caf::atom("testing"))},
      sched{dynamic_cast<caf::scheduler::test_coordinator&>(sys.scheduler())} {}

  /// Runs every queued job, in an order drawn from `seed`.
  void run_shuffled(unsigned seed) {
    run_shuffled(seed, [](int) {});
  }
  /// The same; `before` is told how many jobs ran before each.
  template <class F> void run_shuffled(unsigned seed, F before) {
    std::mt19937 rng{seed};
    for (int ran = 0; sched.has_job(); ++ran, sched.run_once()) {
      note_actors();
      before(ran);
      std::uniform_int_distribution<std::size_t> pick{0, sched.jobs.size() - 1};
      std::swap(sched.jobs.front(), sched.jobs[pick(rng)]);
    }
  }

  /// The actors of a kind ("troupe.node" …) that had something to do so far, in that order.
  const std::vector<caf::actor>& seen(const std::string& kind) { return seen_[kind]; }
  void forget_seen() { seen_.clear(); }

private:
  void note_actors() {
    for (auto* job : sched.jobs)
      if (auto* actor = dynamic_cast<caf::event_based_actor*>(job)) {
        auto& known = seen_[actor->name()];
        auto handle = caf::actor_cast<caf::actor>(actor);
        if (std::find(known.begin(), known.end(), handle) == known.end())
          known.push_back(std::move(handle));
      }
  }

  std::map<std::string, std::vector<caf::actor>> seen_;
};

} // namespace troupe
