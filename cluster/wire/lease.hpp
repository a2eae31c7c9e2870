// Who is still there. A home counts a worker as lost when it heard nothing of it for the lease; the
// worker stops earlier by itself, so that its tasks are not run twice at a time. Pure.
//
// Invariants:
//  - A worker's own lease counts from when it sent the last heartbeat that the home answered, the
//    home's from when it answered one: so the worker's is over first, whatever the network does.
//  - A home answers a worker that tells it that its answers arrive. To one that hears nothing it
//    sends no more of them: else an answer that is late renews what was given up.
//  - Time in which the home itself stood still speaks against nobody.
//  - Only steady clocks: a wall clock that jumps changes nothing.
#pragma once

#include "cluster/wire/messages.hpp"

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

/// The terms of a side as its options say them. `heartbeat` 0: a fifth of the lease; `lease` 0:
/// none are asked for.
std::optional<lease_terms> asked_terms(nanoseconds heartbeat, nanoseconds lease) noexcept;

/// What holds between a home and a worker that asks for terms of its own: those of the side with
/// the longer lease, which knows of longer silences. Of two equal leases those of the home.
lease_terms agreed(const lease_terms& home, const std::optional<lease_terms>& worker) noexcept;

/// How long a worker goes on without an answer of its home.
nanoseconds own_lease(const lease_terms& terms) noexcept;

/// How often an owner must tell the time.
nanoseconds tick_interval(const lease_terms& terms) noexcept;

/// How long what was sent takes to be answered.
class round_trips {
public:
  void note(nanoseconds took) noexcept;

  std::uint64_t count() const noexcept { return count_; }
  nanoseconds last() const noexcept { return last_; }
  nanoseconds least() const noexcept { return least_; }
  nanoseconds most() const noexcept { return most_; }
  nanoseconds smoothed() const noexcept { return smoothed_; } // an eighth of each new one

private:
  std::uint64_t count_ = 0;
  nanoseconds last_{0}, least_{0}, most_{0}, smoothed_{0};
};

/// The heartbeats one side sent and heard on one link.
class heartbeat_log {
public:
  /// The next one to send.
  heartbeat next(instant now, std::uint32_t foreign);
  /// One of the other side. Gives when the heartbeat that it answers was sent, if that is news.
  std::optional<instant> heard(const heartbeat& what, instant now);

  /// Whether something was sent that the other side has not answered.
  bool is_unanswered() const noexcept { return answered_ < number_; }
  const round_trips& times() const noexcept { return times_; }

private:
  std::array<instant, limits::lease_heartbeats_max> sent_{}; // by number, as long as it counts
  std::uint64_t number_ = 0;
  std::uint64_t answered_ = 0; // the highest one
  std::uint64_t heard_ = 0;
  instant heard_at_{0};
  round_trips times_;
};

/// Time that passes only while this process runs: a tick that comes much too late means that the
/// process stood still, and what others said meanwhile is still to be read.
class waking_time {
public:
  waking_time(const lease_terms& terms, instant now);

  void tick(instant now);
  nanoseconds at(instant now) const noexcept;
  /// Whether silence may be held against anybody, as of the last tick. Not at a late tick and for
  /// one heartbeat after it; of several late ones in a row only the first helps.
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

/// When a worker's lease is over, for threads on which bodies are about to begin. Any thread.
/// Shape: once it was found over it is closed, and never renewed.
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
  /// `asked`: when the hello that was welcomed was sent.
  held_lease(const lease_terms& terms, instant asked);

  bool heartbeat_due(instant now) const noexcept { return now >= due_; }
  heartbeat next_heartbeat(instant now, std::uint32_t foreign);
  /// Whether the next heartbeat should leave at once: this answer was slow, and a home answers only
  /// who tells it that its answers arrive.
  bool heard(const heartbeat& what, instant now);

  bool over(instant now) const noexcept {
    return end_->is_closed() || now - renewed_ >= own_lease(terms_);
  }
  /// The same for others. Shape: never null.
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
