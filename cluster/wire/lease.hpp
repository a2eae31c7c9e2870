// lease: how long a worker may hold tasks without an answer of its home. Pure.
// A home counts a worker as lost when it has heard nothing from the worker for the lease. The
// worker stops earlier by itself, so that no task runs twice at a time.
//
// Invariants:
//  - A worker's lease counts from the sending of the last heartbeat that the home answered. The
//    home's lease counts from its answer. So the worker's lease ends first, whatever the network
//    does.
//  - A home answers only a worker that shows that answers arrive. Otherwise a late answer could
//    renew a lease that the home had given up.
//  - Time in which the home itself stood still does not count as silence of a worker.
//  - Clocks are steady: a wall clock that jumps changes nothing.
#pragma once

#include "cluster/wire/protocol.hpp"

#include <troupe/limits.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

namespace troupe::cluster {

using std::chrono::nanoseconds;
using instant = nanoseconds; // of a steady clock of this process

struct lease_terms {
  nanoseconds heartbeat = limits::heartbeat_interval_default;
  nanoseconds lease = limits::worker_lease_default;

  friend bool operator==(const lease_terms&, const lease_terms&) = default;
};

/// Errors: invalid_config for a heartbeat below limits::heartbeat_interval_min, a lease past
///         limits::worker_lease_max, or one of fewer heartbeats than limits::lease_heartbeats_min
///         or more than limits::lease_heartbeats_max.
result<void> check_terms(const lease_terms& terms);

/// The terms that a side's options ask for; nullopt without a lease.
/// Units:  `lease` 0: no terms. `heartbeat` 0: a fifth of the lease.
std::optional<lease_terms> asked_terms(nanoseconds heartbeat, nanoseconds lease) noexcept;

/// The terms of a session between a home and a worker that may ask for its own. The longer lease
/// wins, since that side expects longer silences; the home's terms win a tie.
lease_terms agreed(const lease_terms& home, const std::optional<lease_terms>& worker) noexcept;

/// The time for which a worker works without an answer of its home.
nanoseconds own_lease(const lease_terms& terms) noexcept;

/// The longest time between two ticks of an owner.
nanoseconds tick_interval(const lease_terms& terms) noexcept;

/// Round trips: the times from a heartbeat to its answer.
class round_trips {
public:
  void note(nanoseconds took) noexcept;

  std::uint64_t count() const noexcept { return count_; }
  nanoseconds last() const noexcept { return last_; }
  nanoseconds least() const noexcept { return least_; }
  nanoseconds most() const noexcept { return most_; }
  nanoseconds smoothed() const noexcept { return smoothed_; } // a new one counts an eighth

private:
  std::uint64_t count_ = 0;
  nanoseconds last_{0}, least_{0}, most_{0}, smoothed_{0};
};

/// The heartbeats that one side sent and heard on one link.
class heartbeat_log {
public:
  /// The next one to send.
  heartbeat next(instant now, std::uint32_t foreign);
  /// Takes a heartbeat of the other side. Returns the time at which the heartbeat that it answers
  /// was sent; nullopt when that answer is not new.
  std::optional<instant> heard(const heartbeat& what, instant now);

  /// Whether the other side has not answered the latest heartbeat.
  bool is_unanswered() const noexcept { return answered_ < number_; }
  const round_trips& times() const noexcept { return times_; }

private:
  std::array<instant, limits::lease_heartbeats_max> sent_{}; // by number, in a ring
  std::uint64_t number_ = 0;
  std::uint64_t answered_ = 0; // the highest one
  std::uint64_t heard_ = 0;
  instant heard_at_{0};
  round_trips times_;
};

/// Time that passes only while this process runs. A tick that comes much too late shows that the
/// process stood still. Messages of that time are still to be read.
class waking_time {
public:
  waking_time(const lease_terms& terms, instant now);

  void tick(instant now);
  nanoseconds at(instant now) const noexcept;
  /// Whether silence counts against a peer, as of the last tick. False at a late tick and for one
  /// heartbeat after it. Only the first of several late ticks in a row has this effect.
  bool may_judge() const noexcept { return passed_ >= judge_from_; }
  std::uint64_t late_ticks() const noexcept { return late_ticks_; }

private:
  nanoseconds longest_; // between two ticks, while this process runs
  nanoseconds chance_;
  instant last_;
  nanoseconds passed_{0};
  nanoseconds judge_from_{0};
  bool late_ = false;
  std::uint64_t late_ticks_ = 0;
};

/// The end of a worker's lease, for threads on which bodies are about to begin.
/// Shape:  a lease that was found over is closed, and never renewed.
/// Thread: any.
class lease_end {
public:
  explicit lease_end(instant when) : when_{when.count()} {}

  void renew(instant when) noexcept;
  bool is_over(instant now) noexcept;
  void close() noexcept { when_ = closed; }
  bool is_closed() const noexcept { return when_ == closed; }

private:
  static constexpr instant::rep closed = instant::min().count();
  std::atomic<instant::rep> when_;
};

/// The worker's side of a lease.
class held_lease {
public:
  /// `asked`: the time at which the hello that was welcomed was sent.
  held_lease(const lease_terms& terms, instant asked);

  bool heartbeat_due(instant now) const noexcept { return now >= due_; }
  heartbeat next_heartbeat(instant now, std::uint32_t foreign);
  /// Takes the home's answer. True: the next heartbeat should leave at once, since this answer was
  /// slow. A home answers only a worker that shows that answers arrive.
  bool heard(const heartbeat& what, instant now);

  bool over(instant now) const noexcept {
    return end_->is_closed() || now - renewed_ >= own_lease(terms_);
  }
  /// The end of the lease, for other threads. Shape: never null.
  const std::shared_ptr<lease_end>& end() const noexcept { return end_; }
  nanoseconds left(instant now) const noexcept { return own_lease(terms_) - (now - renewed_); }
  const lease_terms& terms() const noexcept { return terms_; }
  const round_trips& times() const noexcept { return log_.times(); }

private:
  lease_terms terms_;
  instant renewed_;
  std::shared_ptr<lease_end> end_;
  instant due_ = instant::min();
  heartbeat_log log_;
};

} // namespace troupe::cluster
