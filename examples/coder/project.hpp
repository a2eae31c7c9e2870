// The folder a coder works in, and its tools for files.
#pragma once

#include <troupe/troupe.hpp>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace coder {

/// What the coder keeps beside the project: its threads and its memory. Closed to its tools.
inline constexpr const char* own_folder = ".coder";

inline constexpr std::size_t lines_shown_max = 2000;   // of a file, in one call
inline constexpr std::size_t line_bytes_max = 1000;    // of each of them
inline constexpr std::size_t hits_max = 200;           // of a search
inline constexpr std::size_t files_looked_at = 20'000; // by a search

/// A folder that no path leads out of. Thread: several tools at once.
struct project {
  explicit project(const std::filesystem::path& folder)
    : folder{std::filesystem::canonical(folder)},
      files{this->folder} {}

  std::filesystem::path folder;
  troupe::confined_folder files;
  std::mutex editing; // from reading a file to its replacement
};
using project_ptr = std::shared_ptr<project>;

/// `text` with U+FFFD in place of what is no UTF-8: models are told nothing else.
std::string readable(std::string_view text);

/// read, glob and grep: they change nothing.
std::vector<troupe::tool> reading_tools(project_ptr p);
/// edit and write.
std::vector<troupe::tool> writing_tools(project_ptr p);

} // namespace coder
