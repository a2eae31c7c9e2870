// See project.hpp.
#include "examples/coder/project.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <cstdio>
#include <functional>

namespace coder {

using troupe::arg;

namespace {

using entry_kind = troupe::confined_folder::kind;

[[noreturn]] void refuse(std::string why) {
  throw troupe::node_error{"ToolError", std::move(why)};
}

// What the folder itself can't know: which of its paths are not for tools.
std::string checked(const std::string& path) {
  if (path.starts_with('/'))
    refuse("Path " + path + " is absolute: name files from the project's folder down");
  for (std::size_t at = 0; at < path.size();) {
    auto end = std::min(path.find('/', at), path.size());
    if (path.substr(at, end - at) == own_folder)
      refuse("Path " + path + " is the coder's own");
    at = end + 1;
  }
  return path;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    auto end = std::min(text.find('\n'), text.size());
    out.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::string shown_line(std::size_t number, std::string_view line) {
  char text[24];
  std::snprintf(text, sizeof text, "%6zu\t", number);
  return text + readable(line.substr(0, line_bytes_max))
         + (line.size() > line_bytes_max ? " […]" : "") + "\n";
}

std::string show(const std::string& text, std::size_t from, std::size_t count) {
  if (text.find('\0') != std::string::npos)
    return "a binary file of " + std::to_string(text.size()) + " bytes";
  auto lines = lines_of(text);
  auto first = std::min(std::max<std::size_t>(from, 1) - 1, lines.size());
  auto last = std::min(lines.size(), first + std::min(count, lines_shown_max));
  std::string out;
  for (auto i = first; i < last; ++i)
    out += shown_line(i + 1, lines[i]);
  if (last < lines.size())
    out += "… " + std::to_string(lines.size()) + " lines in all\n";
  return out.empty() ? "no lines" : out;
}

// Calls `f` with each file below `path`, in order, until it says false.
bool each_file(const project& p, const std::string& path, std::size_t& looked_at,
               const std::function<bool(const std::string&)>& f) {
  for (const auto& name : p.files.list(path)) { // without hidden ones
    auto inner = path.empty() ? name : path + '/' + name;
    auto what = p.files.look(inner).what;
    if (what == entry_kind::folder && !each_file(p, inner, looked_at, f))
      return false;
    if (what == entry_kind::file && (++looked_at > files_looked_at || !f(inner)))
      return false;
  }
  return true;
}

bool fits(const std::string& pattern, const std::string& path) {
  return pattern.empty() || ::fnmatch(pattern.c_str(), path.c_str(), FNM_PERIOD) == 0
         || ::fnmatch(pattern.c_str(), path.substr(path.rfind('/') + 1).c_str(), FNM_PERIOD) == 0;
}

std::string found(const std::vector<std::string>& lines, bool whole) {
  std::string out;
  for (const auto& line : lines)
    out += line + "\n";
  if (!whole)
    out += "… and more: say more closely what you look for\n";
  return out.empty() ? "nothing found" : out;
}

std::string glob(const project& p, const std::string& pattern) {
  std::vector<std::string> out;
  std::size_t looked_at = 0;
  bool whole = each_file(p, "", looked_at, [&](const std::string& path) {
    if (fits(pattern, path))
      out.push_back(readable(path));
    return out.size() < hits_max;
  });
  return found(out, whole);
}

std::string grep(const project& p, const std::string& text, const std::string& pattern) {
  if (text.empty())
    refuse("There is nothing to look for");
  std::vector<std::string> out;
  std::size_t looked_at = 0;
  auto look_into = [&](const std::string& path) {
    auto content = p.files.read(path);
    if (content.find(text) == std::string::npos || content.find('\0') != std::string::npos)
      return true;
    auto lines = lines_of(content);
    for (std::size_t i = 0; i < lines.size() && out.size() < hits_max; ++i)
      if (lines[i].find(text) != std::string_view::npos)
        out.push_back(readable(path) + ":" + std::to_string(i + 1) + ": "
                      + readable(lines[i].substr(0, line_bytes_max)));
    return out.size() < hits_max;
  };
  bool whole = each_file(p, "", looked_at, [&](const std::string& path) {
    try {
      return !fits(pattern, path) || look_into(path);
    } catch (const troupe::node_error&) {
      return true; // too large, or gone meanwhile
    }
  });
  return found(out, whole);
}

std::string edit(project& p, const std::string& path, const std::string& old_text,
                 const std::string& new_text) {
  std::lock_guard guard{p.editing};
  auto text = p.files.read(path);
  auto at = old_text.empty() ? std::string::npos : text.find(old_text);
  if (at == std::string::npos)
    refuse("Nothing was changed: the old text does not stand in " + path + " exactly so");
  if (text.find(old_text, at + 1) != std::string::npos)
    refuse("Nothing was changed: the old text stands in " + path
           + " several times; give more of what is around it");
  text.replace(at, old_text.size(), new_text);
  p.files.write(path, text);
  auto line = static_cast<std::size_t>(
    std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
  auto lines = static_cast<std::size_t>(std::count(new_text.begin(), new_text.end(), '\n'));
  return "Changed " + path + ":\n" + show(text, line > 2 ? line - 1 : 1, lines + 5);
}

std::string write(project& p, const std::string& path, const std::string& text) {
  std::lock_guard guard{p.editing};
  p.files.write(path, text);
  return "Wrote " + path + ", " + std::to_string(text.size()) + " bytes";
}

} // namespace

std::string readable(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    auto lead = static_cast<unsigned char>(text[i]);
    std::size_t size = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    auto is_rest = [&](std::size_t k) {
      auto byte = static_cast<unsigned char>(text[i + k]);
      bool surrogate_or_overlong =
        k == 1
        && ((lead == 0xe0 && byte < 0xa0) || (lead == 0xed && byte > 0x9f)
            || (lead == 0xf0 && byte < 0x90) || (lead == 0xf4 && byte > 0x8f));
      return (byte & 0xc0) == 0x80 && !surrogate_or_overlong;
    };
    bool good = size > 0 && lead < 0xf5 && i + size <= text.size();
    for (std::size_t k = 1; good && k < size; ++k)
      good = is_rest(k);
    out += good ? text.substr(i, size) : "\xef\xbf\xbd";
    i += good ? size : 1;
  }
  return out;
}

std::vector<troupe::tool> reading_tools(project_ptr p) {
  return {
    {"read", "Reads a file of the project; lines are numbered.",
     [p](arg<"path", std::string> path, arg<"from", std::optional<std::int64_t>, "First line"> from,
         arg<"lines", std::optional<std::int64_t>> lines) {
       auto number = [](const std::optional<std::int64_t>& n, std::size_t otherwise) {
         return n && *n > 0 ? static_cast<std::size_t>(*n) : otherwise;
       };
       return show(p->files.read(checked(*path)), number(*from, 1),
                   number(*lines, lines_shown_max));
     }},
    {"glob",
     "Names the files of the project that fit a pattern, as *.cpp or src/*; * is also any /.",
     [p](arg<"pattern", std::string> pattern) { return glob(*p, *pattern); }},
    {"grep", "Finds lines with a text, as it is, in files that fit a pattern.",
     [p](arg<"text", std::string> text, arg<"pattern", std::optional<std::string>> pattern) {
       return grep(*p, *text, pattern->value_or(""));
     }},
  };
}

std::vector<troupe::tool> writing_tools(project_ptr p) {
  return {
    {"edit", "Replaces a text that stands in a file exactly once.",
     [p](arg<"path", std::string> path, arg<"old", std::string> old_text,
         arg<"new", std::string> new_text) {
       return edit(*p, checked(*path), *old_text, *new_text);
     }},
    {"write", "Writes a file, in place of what it was.",
     [p](arg<"path", std::string> path, arg<"text", std::string> text) {
       return write(*p, checked(*path), *text);
     }},
  };
}

} // namespace coder
