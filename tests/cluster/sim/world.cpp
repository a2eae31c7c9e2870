// Events in order of time, then of their making.
#include "tests/cluster/sim/world.hpp"

#include <algorithm>
#include <utility>

namespace troupe::cluster::sim {

void timeline::at(nanoseconds when, action what) {
  events_.push({std::max(when, now_), ++order_, std::move(what)});
}

bool timeline::step() {
  if (events_.empty())
    return false;
  now_ = events_.top().when;
  auto what = std::move(const_cast<event&>(events_.top()).what); // it is popped next
  events_.pop();
  ++steps_;
  what();
  return true;
}

process::process(timeline& time, dice& d, unsigned drift_percent)
  : time_{time},
    offset_{d.time(nanoseconds{0}, std::chrono::hours{100})},
    rate_permille_{1000 - 10 * static_cast<std::int64_t>(drift_percent)
                   + static_cast<std::int64_t>(d.below(20 * drift_percent + 1))} {}

instant process::clock() const {
  return offset_ + time_.now() * rate_permille_ / 1000;
}

nanoseconds process::outside(nanoseconds inside) const {
  return inside * 1000 / rate_permille_;
}

void process::after(nanoseconds wait, action what) {
  time_.after(outside(wait), [this, life = life_, what = std::move(what)] { run_in(life, what); });
}

void process::soon(action what) {
  run_in(life_, what);
}

void process::run_in(std::uint64_t life, const action& what) {
  if (!alive_ || life != life_)
    return;
  if (frozen_)
    held_.push_back(what);
  else
    what();
}

void process::start() {
  alive_ = true;
  frozen_ = false;
  held_.clear();
  ++life_;
  touch();
}

void process::kill(nanoseconds ends_after) {
  alive_ = frozen_ = false;
  held_.clear();
  ends_at_ = time_.now() + ends_after;
  touch();
}

process_facts process::facts() const {
  if (alive_)
    return {.exists = true, .is_zombie = false, .threads = 4, .started = life_};
  bool ends = time_.now() < ends_at_; // its first thread has ended, another one not yet
  bool is_zombie = life_ % 2 == 1;    // nobody has waited for it
  if (ends || is_zombie)
    return {.exists = true, .is_zombie = true, .threads = ends ? 2U : 1U, .started = life_};
  return {};
}

std::optional<nanoseconds> process::ended(std::uint64_t life) const {
  if (life == life_ && (alive_ || time_.now() < ends_at_))
    return std::nullopt;
  return ends_at_;
}

void process::freeze() {
  frozen_ = true;
  frozen_at_ = time_.now();
}

void process::thaw() {
  if (!frozen_)
    return;
  frozen_ = false;
  thawed_ = time_.now();
  stood_still_ += thawed_ - frozen_at_;
  touch();
  auto life = life_;
  for (auto held = std::exchange(held_, {}); !held.empty(); held.pop_front())
    run_in(life, held.front());
}

void pipe::push(action deliver) {
  auto number = ++pushed_;
  if (blocked())
    waiting_[number] = std::move(deliver);
  else
    depart(number, std::move(deliver));
}

void pipe::depart(std::uint64_t number, action deliver) {
  last_ = std::max(last_, time_.now() + plan_.delay + dice_.time(nanoseconds{0}, plan_.jitter));
  time_.at(last_, [self = shared_from_this(), number, deliver = std::move(deliver)] {
    self->waiting_[number] = deliver;
    self->arrive();
  });
}

/// In order: what was overtaken while the way was blocked goes first.
void pipe::arrive() {
  while (!blocked() && !waiting_.empty() && waiting_.begin()->first == arrived_ + 1) {
    ++arrived_;
    waiting_.extract(waiting_.begin()).mapped()();
  }
}

void pipe::set_broken(bool is_broken) {
  broken_ = is_broken;
  release();
}

void pipe::release() {
  if (blocked())
    return;
  for (auto& [number, deliver] : std::exchange(waiting_, {}))
    depart(number, std::move(deliver));
}

} // namespace troupe::cluster::sim
