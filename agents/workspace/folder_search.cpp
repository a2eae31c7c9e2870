// folder_search: walking a folder, and searching its files.
#include "agents/workspace/folder_search.hpp"

#include "agents/workspace/text_pattern.hpp"

#include <troupe/limits.hpp>

#include <algorithm>
#include <optional>
#include <tuple>

namespace troupe {
namespace {

using entry = confined_folder::entry;
constexpr const char* more_hits = "… and more: use a more specific pattern\n";

struct found_file {
  std::string path; // relative to the folder
  entry what;
};

bool leads_out(const std::string& path) {
  return path.find("..") != std::string::npos || path.starts_with('~');
}

std::string path_below(const std::string& folder, const std::string& name) {
  return folder.empty() || folder.ends_with('/') ? folder + name : folder + '/' + name;
}

// The entry at a path; also for one that was removed meanwhile, or is too deep.
entry entry_at(const folder_search& in, const std::string& path) {
  try {
    return in.files.look(path);
  } catch (const node_error&) {
    return {};
  }
}

// Calls `f` with each file below `path`, in order, until it returns false. Result: whether all
// files were visited.
bool each_file(const folder_search& in, const std::string& path, std::size_t& looked_at,
               const std::function<bool(const found_file&)>& f) {
  std::vector<std::string> names;
  try {
    names = in.files.list(path); // without hidden ones
  } catch (const node_error&) {
    return true; // missing, or removed meanwhile
  }
  for (const auto& name : names) {
    if (in.stopped() || ++looked_at > limits::search_files_max)
      return false;
    auto inner = path_below(path, name);
    auto what = entry_at(in, inner);
    if (what.what == confined_folder::kind::folder && !each_file(in, inner, looked_at, f))
      return false;
    if (what.what == confined_folder::kind::file && !f({inner, what}))
      return false;
  }
  return true;
}

// A path as the model sees it: the folder is `/`.
std::string shown_path(const std::string& path) {
  return readable_text(path.starts_with('/') ? path : '/' + path);
}

std::string_view within(std::string_view path, const std::string& folder) {
  path.remove_prefix(std::min(path.size(), folder.size()));
  path.remove_prefix(path.starts_with('/') ? 1 : 0);
  return path;
}

struct grep_run {
  const folder_search& in;
  const text_pattern& pattern;
  grep_output output;
  std::vector<std::string> hits;

  bool full() const { return hits.size() >= limits::search_hits_max; }

  // False when the result is full or the search must stop.
  bool look_into(const found_file& file) {
    if (file.what.size_bytes > in.file_bytes_max)
      return true;
    std::string text;
    try {
      text = in.files.read(file.path);
    } catch (const node_error&) {
      return true; // too large, or removed meanwhile
    }
    if (text.find('\0') != std::string::npos)
      return true;
    std::size_t count = 0;
    std::size_t number = 0;
    for (auto line : whole_lines(text)) {
      ++number;
      if (!pattern.found_in(line.substr(0, looked_into_max)))
        continue;
      ++count;
      if (output == grep_output::paths)
        break;
      if (output == grep_output::lines)
        hits.push_back(shown_path(file.path) + ':' + std::to_string(number) + ':'
                       + readable_text(line.substr(0, limits::file_line_bytes_max)));
      if (full() || in.stopped())
        return false;
    }
    if (count > 0 && output != grep_output::lines)
      hits.push_back(shown_path(file.path)
                     + (output == grep_output::counts ? ':' + std::to_string(count) : ""));
    return !full();
  }

  // bytes of a line that are searched
  static constexpr std::size_t looked_into_max = 64 * limits::file_line_bytes_max;
};

std::string hit_list(const std::vector<std::string>& lines, bool whole, const char* nothing) {
  std::string out;
  for (const auto& line : lines)
    out += (out.empty() ? "" : "\n") + line;
  if (!whole)
    out += (out.empty() ? "" : "\n") + std::string{more_hits};
  return out.empty() ? nothing : out;
}

} // namespace

std::string glob_files(const folder_search& in, const std::string& pattern,
                       const std::string& path) {
  constexpr const char* nothing = "No files found";
  auto glob = text_pattern::glob(pattern.starts_with('/') ? pattern.substr(1) : pattern);
  if (!glob || leads_out(path) || leads_out(pattern))
    return nothing;
  std::vector<found_file> files;
  std::size_t looked_at = 0;
  bool whole = each_file(in, path, looked_at, [&](const found_file& file) {
    if (glob->fits(within(file.path, path)))
      files.push_back(file);
    return true;
  });
  std::ranges::sort(files, [](const found_file& a, const found_file& b) {
    return std::tie(b.what.modified, a.path) < std::tie(a.what.modified, b.path);
  });
  whole &= files.size() <= limits::search_hits_max;
  files.resize(std::min(files.size(), limits::search_hits_max));
  std::vector<std::string> lines;
  for (const auto& file : files)
    lines.push_back(shown_path(file.path));
  return hit_list(lines, whole, nothing);
}

std::string grep_files(const folder_search& in, const grep_query& query) {
  constexpr const char* nothing = "No matches found";
  auto pattern = text_pattern::expression(query.pattern);
  if (!pattern)
    return "Invalid regex pattern: " + pattern.error().message();
  auto include = text_pattern::glob(query.include);
  if (!include)
    return "Invalid include pattern";
  if (leads_out(query.path))
    return nothing;
  grep_run run{in, *pattern, query.output, {}};
  std::size_t looked_at = 0;
  bool whole = each_file(in, query.path, looked_at, [&](const found_file& file) {
    auto path = within(file.path, query.path);
    bool included = query.include.empty() || include->fits(path)
                    || include->fits(path.substr(path.rfind('/') + 1));
    return !included || run.look_into(file);
  });
  return hit_list(run.hits, whole, nothing);
}

std::vector<std::string_view> whole_lines(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    auto end = std::min(text.find('\n'), text.size());
    out.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

} // namespace troupe
