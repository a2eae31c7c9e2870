// settling_files: files that change, until they are at rest. Pure: time is an argument.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <vector>

namespace troupe::server {

/// Invariants: a file settles once after its last change, when that change left it whole.
class settling_files {
public:
  using clock = std::chrono::steady_clock;

  /// Units:  `quiet`: the time without a change after which a file is at rest.
  explicit settling_files(std::chrono::milliseconds quiet) : quiet_{quiet} {}

  /// `is_whole`: false while a writer has the file open.
  void change(const std::filesystem::path& file, bool is_whole, clock::time_point now);
  /// The files that are at rest by now, each once. Order: by path.
  std::vector<std::filesystem::path> settle(clock::time_point now);
  /// The time until the next file may be at rest; nullopt when no file is on its way.
  std::optional<std::chrono::milliseconds> wait(clock::time_point now) const;

private:
  struct last_change {
    bool is_whole = false;
    clock::time_point at;
  };

  std::chrono::milliseconds quiet_;
  std::map<std::filesystem::path, last_change> changes_;
};

} // namespace troupe::server
