// folder_search: searching files below a folder, for models.
#pragma once

#include <troupe/agents/confined_folder.hpp>

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// The place and the limits of a search. `stopped` is called from time to time.
struct folder_search {
  const confined_folder& files;
  std::size_t file_bytes_max;
  std::function<bool()> stopped;
};

/// The paths of files that fit a glob, from `path` down, as a text for a model. One path a line,
/// the newest first; or a note that nothing was found.
std::string glob_files(const folder_search& in, const std::string& pattern,
                       const std::string& path);

/// The output for files with fitting lines.
enum class grep_output { paths, lines, counts };
struct grep_query {
  std::string pattern; ///< a regular expression (RE2)
  std::string path = {};
  std::string include = {}; ///< a glob of names; empty: all files
  grep_output output = grep_output::paths;
};
std::string grep_files(const folder_search& in, const grep_query& query);

std::vector<std::string_view> whole_lines(std::string_view text);

} // namespace troupe
