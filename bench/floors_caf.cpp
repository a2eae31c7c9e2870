// floors_caf (section F): the cost of messages between bare CAF actors.

#include "bench/harness.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/exit_reason.hpp>
#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace troupe::bench {

namespace {

/// Lets one thread wait for an actor, or for several. Outlives the actors' system.
class gate {
public:
  explicit gate(std::size_t actors = 1) : actors_{actors} {}
  /// An actor is ready.
  void open() {
    {
      std::lock_guard lock{mutex_};
      if (++ready_ < actors_)
        return;
    }
    opened_.notify_one();
  }
  /// Waits until all actors are ready, and closes the gate.
  void pass() {
    std::unique_lock lock{mutex_};
    opened_.wait(lock, [this] { return ready_ == actors_; });
    ready_ = 0;
  }

private:
  std::mutex mutex_;
  std::condition_variable opened_;
  std::size_t actors_;
  std::size_t ready_ = 0;
};

/// How the scheduler's one thread gets its work. `sharing` sleeps until there is work; `stealing`
/// looks for it repeatedly before it sleeps.
enum class policy { sharing, stealing };

struct scheduler_config : caf::actor_system_config {
  scheduler_config(policy how, std::size_t threads) {
    set("scheduler.max-threads", threads);
    set("scheduler.policy", how == policy::sharing ? caf::atom("sharing") : caf::atom("stealing"));
  }
};

/// Actors and their system, ended at the end of the scope.
class stage {
public:
  explicit stage(policy how, std::size_t threads = 1) : config_{how, threads} {}
  stage(const stage&) = delete;
  stage& operator=(const stage&) = delete;
  caf::actor_system& system() { return system_; }
  caf::actor add(caf::actor actor) {
    actors_.push_back(actor);
    return actor;
  }
  ~stage() {
    for (auto& actor : actors_)
      caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
  }

private:
  scheduler_config config_;
  caf::actor_system system_{config_};
  std::vector<caf::actor> actors_; // destroyed before the system waits for the actors
};

// ---- one hop ------------------------------------------------------------------------------------

struct player_state {
  caf::actor other;
};

/// Sends each number on, reduced by one; 0 opens the gate.
caf::behavior player_behavior(caf::stateful_actor<player_state>* self, gate* done) {
  return {
    [self, done](std::int64_t left) {
      if (left == 0)
        done->open();
      else
        self->send(self->state.other, left - 1);
    },
    [self](const caf::actor& other) { self->state.other = other; },
  };
}

figure hop(const sampler& sample) {
  constexpr std::int64_t hops = 100'000;
  gate done;
  stage scene{policy::sharing};
  auto ping = scene.add(scene.system().spawn(player_behavior, &done));
  auto pong = scene.add(scene.system().spawn(player_behavior, &done));
  caf::anon_send(ping, pong);
  caf::anon_send(pong, ping);
  return sample.each([&] {
    auto us = time_us([&] {
      caf::anon_send(ping, hops);
      done.pass();
    });
    return us / hops;
  });
}

// ---- a step: one message to each worker, one answer from each -----------------------------------

struct driver_state {
  std::vector<caf::actor> workers;
  std::size_t waiting = 0;
  std::uint64_t steps_left = 0;
  std::int64_t answers = 0;
};

caf::behavior worker_behavior() {
  return {[](std::int64_t number) { return number + 1; }};
}

void begin_step(caf::stateful_actor<driver_state>* self) {
  --self->state.steps_left;
  self->state.waiting = self->state.workers.size();
  for (auto& worker : self->state.workers)
    self->send(worker, std::int64_t{0});
}

/// Does the requested number of steps, then opens the gate.
caf::behavior driver_behavior(caf::stateful_actor<driver_state>* self,
                              std::vector<caf::actor> workers, gate* done, std::int64_t* answers) {
  self->state.workers = std::move(workers);
  return {
    [self, done, answers](std::int64_t answer) {
      self->state.answers += answer;
      if (--self->state.waiting > 0)
        return;
      if (self->state.steps_left > 0) {
        begin_step(self);
        return;
      }
      *answers = self->state.answers;
      done->open();
    },
    [self](std::uint64_t steps) {
      self->state.answers = 0;
      self->state.steps_left = steps;
      begin_step(self);
    },
  };
}

/// A driver and its workers; run() does a number of steps.
class steps {
public:
  explicit steps(std::size_t width, policy how = policy::sharing) : width_{width}, scene_{how} {
    std::vector<caf::actor> workers;
    for (std::size_t i = 0; i < width; ++i)
      workers.push_back(scene_.add(scene_.system().spawn(worker_behavior)));
    driver_ =
      scene_.add(scene_.system().spawn(driver_behavior, std::move(workers), &done_, &answers_));
  }

  void run(std::uint64_t count) {
    caf::anon_send(driver_, count);
    done_.pass();
  }
  void expect_answers(std::uint64_t count) const {
    expect(answers_ == static_cast<std::int64_t>(count * width_), "the number of answers");
  }

private:
  std::size_t width_;
  gate done_;
  std::int64_t answers_ = 0;
  stage scene_;
  caf::actor driver_;
};

figure superstep(const sampler& sample, std::size_t width) {
  auto count = std::max<std::uint64_t>(20, 20'000 / width);
  steps scene{width};
  return sample.each([&scene, count] {
    auto us = time_us([&scene, count] { scene.run(count); });
    scene.expect_answers(count);
    return us / static_cast<double>(count);
  });
}

figure blocking_caller(const sampler& sample, policy how) {
  steps scene{1, how};
  return sample.batches([&scene] { scene.run(3); }, [&scene] { scene.expect_answers(3); });
}

// ---- many drivers at once, on all cores ---------------------------------------------------------

/// As invoking a chain of three nodes so many times at once: three steps with one worker each.
figure at_once(const sampler& sample, std::size_t count, policy how) {
  constexpr std::uint64_t three = 3;
  gate done{count};
  std::vector<std::int64_t> answers(count);
  stage scene{how, std::max(1u, std::thread::hardware_concurrency())};
  std::vector<caf::actor> drivers;
  for (auto& answer : answers) {
    std::vector<caf::actor> worker{scene.add(scene.system().spawn(worker_behavior))};
    drivers.push_back(
      scene.add(scene.system().spawn(driver_behavior, std::move(worker), &done, &answer)));
  }
  auto run = [&] {
    for (auto& driver : drivers)
      caf::anon_send(driver, three);
    done.pass();
  };
  return sample.batches(run, [&answers] {
    for (auto answer : answers)
      expect(answer == three, "the number of answers");
  });
}

} // namespace

void add_caf_floors(workloads& all) {
  all.push_back({"floor_caf_message_hop_1w", hop});
  for (std::size_t width : {1, 10, 100, 1000})
    all.push_back({"floor_caf_superstep_" + std::to_string(width) + "_1w",
                   [width](const sampler& sample) { return superstep(sample, width); }});
  all.push_back(
    {"barrier_100", [](const sampler& sample) { return superstep(sample, 100); }, "raw CAF"});
  for (std::size_t count : {64u, 1000u})
    for (auto how : {policy::sharing, policy::stealing})
      all.push_back({"floor_caf_at_once_" + std::to_string(count) + "x3steps",
                     [count, how](const sampler& s) { return at_once(s, count, how); },
                     how == policy::sharing ? "sharing" : "stealing"});
  auto blocking_caller_3steps = "floor_caf_blocking_caller_3steps";
  all.push_back({blocking_caller_3steps,
                 [](const sampler& s) { return blocking_caller(s, policy::sharing); }, "sharing"});
  all.push_back({blocking_caller_3steps,
                 [](const sampler& s) { return blocking_caller(s, policy::stealing); },
                 "stealing"});
}

} // namespace troupe::bench
