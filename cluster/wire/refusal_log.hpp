// What is refused over and over is said once in a while. Pure.
#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <string>

namespace troupe::cluster {

/// Says each reason once in limits::cluster_refusal_log_interval, and how often it was not said. Of
/// more than limits::cluster_links_max reasons the one that was said first is forgotten.
class refusal_log {
public:
  using time_point = std::chrono::steady_clock::time_point;
  /// Gives what to log: `text`, with how often it was left out; empty: nothing.
  std::string note(const std::string& reason, const std::string& text, time_point now);

private:
  struct entry {
    time_point said{};
    std::size_t unsaid = 0;
  };
  void make_room();

  std::mutex mutex_;
  std::map<std::string, entry> reasons_;
};

} // namespace troupe::cluster
