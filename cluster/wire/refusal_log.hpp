// refusal_log: logs a reason that repeats once in a while. Pure.
#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <string>

namespace troupe::cluster {

/// Logs each reason once in limits::cluster_refusal_log_interval, with the number of repetitions
/// that were left out. Beyond limits::cluster_links_max reasons, the one that was logged longest
/// ago is forgotten.
class refusal_log {
public:
  using time_point = std::chrono::steady_clock::time_point;
  /// Returns `text` with the number of repetitions left out, or an empty text when there is nothing
  /// to log.
  std::string note(const std::string& reason, const std::string& text, time_point now);

private:
  struct entry {
    time_point logged_at{};
    std::size_t unsaid = 0;
  };
  void make_room();

  std::mutex mutex_;
  std::map<std::string, entry> reasons_;
};

} // namespace troupe::cluster
