// file_watch: tells when files were written anew, replaced or removed. It watches their folders
// (inotify), so it needs no look at the files, and no CPU while nothing changes.
#pragma once

#include "server/reload/settling_files.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace troupe::server {

/// Thread: one of its own.
/// Order:  a file that exists is reported once at the beginning, so that no change since its user
///         has read it is missed; then once after each series of changes, when no writer has it
///         open and nothing has changed it for the quiet time.
///
/// A folder that is removed, renamed or missing is watched for in the nearest folder above it.
class file_watch {
public:
  using report = std::function<void(const std::filesystem::path& file)>;

  /// Shape:  `files`: absolute paths; a link is followed. `settled` gets one of them, changed or
  ///         missing; it must not throw.
  /// Errors: throws error{storage_failed}: the system has no more watches.
  file_watch(std::vector<std::filesystem::path> files, std::chrono::milliseconds quiet,
             report settled);
  file_watch(const file_watch&) = delete;
  file_watch& operator=(const file_watch&) = delete;
  /// Blocks: on a report in progress.
  ~file_watch();

private:
  using clock = settling_files::clock;

  /// A name in a folder: a file itself, or a folder on the way to it.
  struct awaited_name {
    std::filesystem::path file;  // as given
    std::filesystem::path place; // the file's, or its link's target
    bool is_file = false;
    bool operator==(const awaited_name&) const = default;
  };
  /// A file whose folder is there. Another folder under the same path has another watch.
  struct reached_file {
    std::filesystem::path file; // as given
    int watch = -1;
  };
  using awaited_names = std::multimap<std::string, awaited_name>;

  void run();
  void read_events();
  void take_event(int watch, std::uint32_t mask, const std::string& name);
  void watch_folders();
  std::map<std::filesystem::path, awaited_names> awaited_folders() const;
  int add_watch(const std::filesystem::path& folder) const;

  const std::vector<std::filesystem::path> files_;
  const report settled_;
  settling_files settling_;
  int events_ = -1; // inotify's descriptor
  int stop_ = -1;
  std::map<int, awaited_names> watches_;
  std::map<std::filesystem::path, reached_file> reached_; // by their places
  std::thread thread_;                                    // the last member
};

} // namespace troupe::server
