// file_memory: a memory in files of any kind: the texts for the model, and the edits.
#include "agents/workspace/memory_files.hpp"

#include <troupe/error.hpp>

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <string_view>
#include <vector>

namespace troupe {
namespace {

constexpr std::string_view root = "/memories";
constexpr std::size_t lines_max = 999'999;

[[noreturn]] void refuse(std::string text) {
  throw node_error{"ToolError", std::move(text)};
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> out;
  while (true) {
    auto end = text.find('\n');
    out.push_back(text.substr(0, end));
    if (end == std::string_view::npos)
      return out;
    text.remove_prefix(end + 1);
  }
}

std::string numbered(const std::vector<std::string_view>& lines, std::size_t first,
                     std::size_t last) {
  std::string out;
  for (auto i = first; i < last; ++i) {
    char number[24];
    std::snprintf(number, sizeof number, "%6zu\t", i + 1);
    out += (i == first ? "" : "\n") + std::string{number} + std::string{lines[i]};
  }
  return out;
}

std::string size_text(std::uint64_t bytes) {
  constexpr const char* units[] = {"B", "K", "M", "G", "T"};
  auto size = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; size >= 1024 && unit + 1 < std::size(units); ++unit)
    size /= 1024;
  char text[32];
  bool whole = size == static_cast<double>(static_cast<std::uint64_t>(size));
  std::snprintf(text, sizeof text, whole ? "%.0f%s" : "%.1f%s", size, units[unit]);
  return text;
}

// The path below the root, which is the memory's own.
std::string below(const std::string& path) {
  if (path != root && !path.starts_with(std::string{root} + '/'))
    refuse("Path must start with /memories, got: " + path);
  return path.substr(root.size());
}

class file_memory final : public memory_backend {
public:
  explicit file_memory(std::unique_ptr<memory_files> files) : files_{std::move(files)} {}

  std::string view(const std::string& path, std::optional<line_range> lines) override {
    std::lock_guard guard{mutex_};
    auto what = files_->look(below(path));
    if (what.what == memory_files::kind::folder)
      return view_folder(path, what);
    auto text = files_->read(below(path));
    auto all = lines_of(text);
    if (all.size() > lines_max)
      refuse("File " + path + " exceeds maximum line limit of 999,999 lines.");
    std::size_t first = 0;
    auto last = all.size();
    if (lines) {
      first = static_cast<std::size_t>(std::max<std::int64_t>(1, lines->first)) - 1;
      if (lines->second != -1)
        last = std::min(last, static_cast<std::size_t>(std::max<std::int64_t>(0, lines->second)));
    }
    return "Here's the content of " + path + " with line numbers:\n"
           + numbered(all, std::min(first, last), last);
  }

  std::string create(const std::string& path, const std::string& text) override {
    std::lock_guard guard{mutex_};
    if (is_there(path))
      refuse("File " + path + " already exists");
    files_->write(below(path), text);
    return "File created successfully at: " + path;
  }

  std::string str_replace(const std::string& path, const std::string& old_text,
                          const std::string& new_text) override {
    std::lock_guard guard{mutex_};
    auto text = files_->read(below(path));
    auto place = text.find(old_text);
    if (place == std::string::npos || (old_text.empty() && !text.empty()))
      refuse("No replacement was performed, old_str `" + old_text + "` did not appear verbatim in "
             + path + ".");
    if (!old_text.empty() && text.find(old_text, place + 1) != std::string::npos)
      refuse("No replacement was performed. Multiple occurrences of old_str `" + old_text
             + "` in lines: " + lines_with(text, old_text) + ". Please ensure it is unique");
    text.replace(place, old_text.size(), new_text);
    files_->write(below(path), text);
    return "The memory file has been edited. Here is the snippet showing the change (with line "
           "numbers):\n"
           + snippet(text, place, new_text);
  }

  std::string insert(const std::string& path, std::int64_t line, const std::string& text) override {
    std::lock_guard guard{mutex_};
    auto old = files_->read(below(path));
    if (old.ends_with('\n'))
      old.pop_back();
    auto lines = old.empty() ? std::vector<std::string_view>{} : lines_of(old);
    if (line < 0 || line > static_cast<std::int64_t>(lines.size()))
      refuse("Invalid `insert_line` parameter: " + std::to_string(line)
             + ". It should be within the range [0, " + std::to_string(lines.size()) + "].");
    std::string_view added{text};
    while (added.ends_with('\n'))
      added.remove_suffix(1);
    lines.insert(lines.begin() + line, added);
    std::string out;
    for (auto one : lines)
      out += std::string{one} + '\n';
    files_->write(below(path), out);
    return "The file " + path + " has been edited.";
  }

  std::string remove(const std::string& path) override {
    std::lock_guard guard{mutex_};
    files_->remove(below(path));
    return "Successfully deleted " + path;
  }

  std::string rename(const std::string& old_path, const std::string& new_path) override {
    std::lock_guard guard{mutex_};
    files_->rename(below(old_path), below(new_path));
    return "Successfully renamed " + old_path + " to " + new_path;
  }

private:
  // False also when folders of the path are missing.
  bool is_there(const std::string& path) const {
    try {
      return files_->look(below(path)).what != memory_files::kind::none;
    } catch (const node_error&) {
      return false; // writing reports the error
    }
  }

  std::string view_folder(const std::string& path, const memory_files::entry& what) const {
    auto shown = path;
    while (shown.size() > root.size() && shown.ends_with('/'))
      shown.pop_back();
    auto out = "Here're the files and directories up to 2 levels deep in " + shown
               + ", excluding hidden items:\n" + size_text(what.size_bytes) + '\t' + shown;
    list_into(out, shown, 2);
    return out;
  }

  void list_into(std::string& out, const std::string& path, int levels) const {
    for (const auto& name : files_->list(below(path))) {
      auto inner = path + '/' + name;
      auto what = files_->look(below(inner));
      bool folder = what.what == memory_files::kind::folder;
      if (what.what == memory_files::kind::none)
        continue; // removed meanwhile
      out += '\n' + size_text(what.size_bytes) + '\t' + inner + (folder ? "/" : "");
      if (folder && levels > 1)
        list_into(out, inner, levels - 1);
    }
  }

  static std::string lines_with(const std::string& text, const std::string& wanted) {
    std::string out;
    for (auto at = text.find(wanted); at != std::string::npos; at = text.find(wanted, at + 1)) {
      auto line = 1
                  + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
      out += (out.empty() ? "" : ", ") + std::to_string(line);
    }
    return out;
  }

  // The change with two lines before and after it.
  static std::string snippet(const std::string& text, std::size_t place,
                             const std::string& changed) {
    constexpr std::size_t around = 2;
    auto line_at = [&text](std::size_t at) {
      return static_cast<std::size_t>(
        std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
    };
    auto lines = lines_of(text);
    auto first = line_at(place);
    auto last = line_at(place + changed.size()) + 1 + around;
    return numbered(lines, first > around ? first - around : 0, std::min(last, lines.size()));
  }

  std::unique_ptr<memory_files> files_;
  std::mutex mutex_;
};

} // namespace

std::shared_ptr<memory_backend> memory_in_files(std::unique_ptr<memory_files> files) {
  return std::make_shared<file_memory>(std::move(files));
}

} // namespace troupe
