// lease: heartbeats, silence, and the end of a lease.
#include "cluster/wire/lease.hpp"

#include <algorithm>
#include <string>

namespace troupe::cluster {

namespace {

constexpr int heartbeats_unasked = 5; // in a lease, when only the lease was asked for
constexpr int late_ticks_factor = 3;  // a tick after more intervals than this is late

std::string milliseconds_of(nanoseconds time) {
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(time).count())
         + " ms";
}

error unfit(const lease_terms& terms, const std::string& why) {
  return {errc::invalid_config, "use a lease of " + milliseconds_of(terms.lease)
                                  + " with a heartbeat each " + milliseconds_of(terms.heartbeat)
                                  + ": " + why};
}

} // namespace

result<void> check_terms(const lease_terms& terms) {
  if (terms.heartbeat < limits::heartbeat_interval_min)
    return unfit(terms, "heartbeats must be at least heartbeat_interval_min ("
                          + milliseconds_of(limits::heartbeat_interval_min) + ") apart");
  if (terms.lease > limits::worker_lease_max)
    return unfit(terms, "the lease is longer than worker_lease_max ("
                          + milliseconds_of(limits::worker_lease_max) + ")");
  // The lease is bounded by now, so its quotient is, too.
  if (terms.lease / terms.heartbeat < limits::lease_heartbeats_min)
    return unfit(terms, "a lease must have at least " + std::to_string(limits::lease_heartbeats_min)
                          + " heartbeats (lease_heartbeats_min)");
  if (terms.lease / terms.heartbeat > limits::lease_heartbeats_max)
    return unfit(terms, "a lease must have at most " + std::to_string(limits::lease_heartbeats_max)
                          + " heartbeats (lease_heartbeats_max)");
  return {};
}

std::optional<lease_terms> asked_terms(nanoseconds heartbeat, nanoseconds lease) noexcept {
  if (lease.count() == 0)
    return std::nullopt;
  return lease_terms{.heartbeat = heartbeat.count() == 0 ? lease / heartbeats_unasked : heartbeat,
                     .lease = lease};
}

lease_terms agreed(const lease_terms& home, const std::optional<lease_terms>& worker) noexcept {
  return worker && worker->lease > home.lease ? *worker : home;
}

nanoseconds own_lease(const lease_terms& terms) noexcept {
  return terms.lease - terms.lease / limits::lease_margin_divisor;
}

nanoseconds tick_interval(const lease_terms& terms) noexcept {
  return terms.heartbeat / 2;
}

void round_trips::note(nanoseconds took) noexcept {
  last_ = took;
  least_ = count_ == 0 ? took : std::min(least_, took);
  most_ = std::max(most_, took);
  smoothed_ = count_ == 0 ? took : smoothed_ + (took - smoothed_) / 8;
  ++count_;
}

heartbeat heartbeat_log::next(instant now, std::uint32_t foreign) {
  ++number_;
  sent_[number_ % sent_.size()] = now;
  auto held = heard_ == 0 ? nanoseconds{0} : now - heard_at_;
  return {.number = number_,
          .answers = heard_,
          .foreign = foreign,
          .held = std::chrono::duration_cast<std::chrono::microseconds>(held)};
}

std::optional<instant> heartbeat_log::heard(const heartbeat& what, instant now) {
  if (what.number > heard_) {
    heard_ = what.number;
    heard_at_ = now;
  }
  bool known = what.answers > answered_ && what.answers <= number_
               && number_ - what.answers < sent_.size();
  if (!known)
    return std::nullopt;
  answered_ = what.answers;
  auto sent = sent_[answered_ % sent_.size()];
  // The peer's `held` counts only where it is possible.
  auto most = std::chrono::duration_cast<std::chrono::microseconds>(now - sent);
  if (what.held.count() >= 0 && what.held <= most)
    times_.note(now - sent - what.held);
  return sent;
}

waking_time::waking_time(const lease_terms& terms, instant now)
  : longest_{late_ticks_factor * tick_interval(terms)},
    chance_{terms.heartbeat},
    last_{now} {}

void waking_time::tick(instant now) {
  bool late = now - last_ > longest_;
  passed_ = at(now);
  last_ = std::max(last_, now);
  if (late && !late_)
    judge_from_ = passed_ + chance_;
  late_ticks_ += late ? 1 : 0;
  late_ = late;
}

nanoseconds waking_time::at(instant now) const noexcept {
  return passed_ + std::clamp(now - last_, nanoseconds{0}, longest_);
}

void lease_end::renew(instant when) noexcept {
  auto known = when_.load();
  while (known != closed && known < when.count()
         && !when_.compare_exchange_weak(known, when.count())) {}
}

bool lease_end::is_over(instant now) noexcept {
  auto known = when_.load();
  while (now.count() >= known)
    if (known == closed || when_.compare_exchange_weak(known, closed))
      return true;
  return false;
}

held_lease::held_lease(const lease_terms& terms, instant asked)
  : terms_{terms},
    renewed_{asked},
    end_{std::make_shared<lease_end>(asked + own_lease(terms))} {}

heartbeat held_lease::next_heartbeat(instant now, std::uint32_t foreign) {
  due_ = now + terms_.heartbeat;
  return log_.next(now, foreign);
}

bool held_lease::heard(const heartbeat& what, instant now) {
  auto sent = log_.heard(what, now);
  if (!sent)
    return false;
  renewed_ = std::max(renewed_, *sent);
  end_->renew(renewed_ + own_lease(terms_));
  return now - *sent >= terms_.heartbeat && due_ - now <= terms_.heartbeat / 2;
}

} // namespace troupe::cluster
