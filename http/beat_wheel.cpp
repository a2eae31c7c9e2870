// beat_wheel: rounding, waiting and calling.
#include "http/beat_wheel.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

namespace {

constexpr std::chrono::milliseconds beat_grain_min{1};
constexpr std::chrono::milliseconds beat_grain_max{100};

} // namespace

std::chrono::steady_clock::time_point next_beat(std::chrono::steady_clock::time_point from,
                                                std::chrono::milliseconds every) {
  auto grain = std::clamp(every / 10, beat_grain_min, beat_grain_max);
  auto due = from + every;
  auto past = due.time_since_epoch() % grain;
  return past.count() == 0 ? due : due - past + grain;
}

beat_wheel::place beat_wheel::add(clock::time_point when, std::function<void()> beat) {
  auto out = beats_.emplace(when, std::move(beat));
  arm();
  return out;
}

// A time that was removed costs at most one wake-up.
void beat_wheel::arm() {
  if (beats_.empty() || (armed_ && *armed_ <= beats_.begin()->first))
    return;
  armed_ = beats_.begin()->first;
  timer_.expires_at(*armed_);
  timer_.async_wait([this](boost::system::error_code stopped) {
    if (!stopped)
      turn();
  });
}

// A beat may add and remove others.
void beat_wheel::turn() {
  auto now = clock::now();
  while (!beats_.empty() && beats_.begin()->first <= now) {
    auto beat = std::move(beats_.begin()->second);
    beats_.erase(beats_.begin());
    beat();
  }
  armed_.reset();
  arm();
}

} // namespace troupe
