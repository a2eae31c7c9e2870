// beat_wheel: the beats of all streams of a listener, by one timer.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <functional>
#include <map>
#include <optional>

namespace troupe {

/// The time of a beat after this one. Beats that are due within a tenth of `every`, at most within
/// 100 ms, get the same time, the last one of them.
std::chrono::steady_clock::time_point next_beat(std::chrono::steady_clock::time_point from,
                                                std::chrono::milliseconds every);

/// Calls functions at their times. The timer wakes up once for all that are due at the same time.
/// Thread: the io_context's. It must run as long as the wheel is used.
class beat_wheel {
public:
  using clock = std::chrono::steady_clock;
  using beats = std::multimap<clock::time_point, std::function<void()>>;
  using place = beats::iterator;

  explicit beat_wheel(boost::asio::io_context& io) : timer_{io} {}

  /// Calls `beat` once, unless it is removed first. The place ends before the call.
  place add(clock::time_point when, std::function<void()> beat);
  void remove(place one) { beats_.erase(one); }
  std::size_t size() const noexcept { return beats_.size(); }

private:
  void arm();
  void turn();

  boost::asio::steady_timer timer_;
  std::optional<clock::time_point> armed_; // the time that the timer waits for
  beats beats_;
};

} // namespace troupe
