// Simulated time, processes that freeze and die, and a network that delays and cuts. Knows messages
// as things to be delivered, not what they mean.
#pragma once

#include "cluster/wire/peer_process.hpp"
#include "tests/cluster/sim/plan.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <stdexcept>
#include <string>
#include <vector>

namespace troupe::cluster::sim {

using action = std::function<void()>;

struct violation : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The events of a simulated world, by time.
class timeline {
public:
  nanoseconds now() const noexcept { return now_; }
  void at(nanoseconds when, action what);
  void after(nanoseconds wait, action what) { at(now_ + wait, std::move(what)); }
  bool step(); // false: nothing is left
  std::uint64_t steps() const noexcept { return steps_; }

private:
  struct event {
    nanoseconds when;
    std::uint64_t order;
    action what;
    bool operator<(const event& other) const {
      return when != other.when ? when > other.when : order > other.order;
    }
  };
  nanoseconds now_{0};
  std::uint64_t order_ = 0, steps_ = 0;
  std::priority_queue<event> events_;
};

/// A process: what is done in one of its lives is not done in the next; while it is frozen, it
/// waits.
class process {
public:
  process(timeline& time, dice& d, unsigned drift_percent);

  /// By its own steady clock, which drifts and starts anywhere.
  instant clock() const;
  /// How long the world waits when the process waits so long.
  nanoseconds outside(nanoseconds inside) const;
  void after(nanoseconds wait, action what);
  void soon(action what); // now, or when it thaws
  bool alive() const noexcept { return alive_; }
  bool frozen() const noexcept { return frozen_; }
  std::uint64_t life() const noexcept { return life_; }
  /// The kernel's facts about it; it is started in each life.
  process_facts facts() const;
  /// When the process of that life had ended; none: it has not.
  std::optional<nanoseconds> ended(std::uint64_t life) const;

  void start();
  /// It does nothing more; its process is there for a while.
  void kill(nanoseconds ends_after);
  void freeze();
  void thaw();

  /// When something last went wrong with it, or still does.
  void touch() { touched_ = time_.now(); }
  nanoseconds touched() const { return frozen_ || !alive_ ? time_.now() : touched_; }
  nanoseconds thawed() const { return thawed_; }
  nanoseconds stood_still() const { return stood_still_; } // in all its lives

private:
  void run_in(std::uint64_t life, const action& what);

  timeline& time_;
  instant offset_;
  std::int64_t rate_permille_;
  bool alive_ = false, frozen_ = false;
  std::uint64_t life_ = 0;
  nanoseconds touched_{-1'000'000'000'000}, thawed_{-1'000'000'000'000};
  nanoseconds frozen_at_{0}, stood_still_{0};
  nanoseconds ends_at_{0}; // of the last life that was killed
  std::deque<action> held_;
};

/// One direction of the way between two processes.
struct way {
  bool cut = false;
  nanoseconds touched{-1'000'000'000'000};
};

/// Messages in one direction of a link: in order, none lost; held while they can't pass.
class pipe : public std::enable_shared_from_this<pipe> {
public:
  pipe(timeline& time, dice& d, const plan& p, const way& on)
    : time_{time},
      dice_{d},
      plan_{p},
      way_{on} {}

  void push(action deliver);
  /// The stream below noticed that it is broken, or continues.
  void set_broken(bool is_broken);
  /// Held messages travel on, if they can.
  void release();

private:
  void depart(std::uint64_t number, action deliver);
  void arrive();
  bool blocked() const { return broken_ || way_.cut; }

  timeline& time_;
  dice& dice_;
  const plan& plan_;
  const way& way_;
  bool broken_ = false;
  std::uint64_t pushed_ = 0, arrived_ = 0;
  nanoseconds last_{0};                     // arrival
  std::map<std::uint64_t, action> waiting_; // to go, or to arrive
};

} // namespace troupe::cluster::sim
