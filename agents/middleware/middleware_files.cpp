// Middleware for files: tools for the files below a folder.
#include "agents/messages/message_lists.hpp"
#include "agents/workspace/folder_search.hpp"

#include <troupe/agents/workspace.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <mutex>

namespace troupe {
namespace {

using text_arg = std::optional<std::string>;

[[noreturn]] void refuse_file(std::string why) {
  throw node_error{"ToolError", std::move(why)};
}

// A folder that several tools share. Thread: several at once.
struct shared_folder {
  confined_folder files;
  std::size_t file_bytes_max;
  std::mutex editing; // held from reading a file to replacing it

  shared_folder(const std::filesystem::path& folder, std::size_t bytes_max,
                std::vector<std::string> hidden = {})
    : files{folder, {.hidden = std::move(hidden)}},
      file_bytes_max{bytes_max} {}

  folder_search search(const tool_runtime& runtime) const {
    return {files, file_bytes_max, [&runtime] { return runtime.info().stop_requested(); }};
  }
};
using folder_ptr = std::shared_ptr<shared_folder>;

// Options with which the errors of a tool are reported to the model.
tool_options telling() {
  tool_options out;
  out.on_error = [](const error& e) -> std::optional<std::string> {
    if (e.type() == "ToolError")
      return "Error: " + e.text();
    return std::nullopt;
  };
  return out;
}

// ---- searching ------------------------------------------------------------------------------

tool glob_tool(folder_ptr folder, const char* name) {
  return {name,
          "Names files that fit a pattern, the newest first. `*` is anything within a name, `**/` "
          "any folders.",
          [folder](arg<"pattern", std::string, "As **/*.py or src/*.{ts,tsx}"> pattern,
                   arg<"path", text_arg, "The folder to search; all folders when left out"> path,
                   tool_runtime& runtime) {
            return glob_files(folder->search(runtime), *pattern, path->value_or(""));
          },
          telling()};
}

tool grep_tool(folder_ptr folder, const char* name) {
  return {name, "Finds files with lines that fit a regular expression.",
          [folder](
            arg<"pattern", std::string, "A regular expression"> pattern,
            arg<"path", text_arg, "The folder to search; all folders when left out"> path,
            arg<"include", text_arg, "Files to look into, as *.py"> include,
            arg<"output_mode", text_arg, "files_with_matches (the default), content or count"> mode,
            tool_runtime& runtime) {
            grep_query query{*pattern, path->value_or(""), include->value_or("")};
            if (*mode == "content")
              query.output = grep_output::lines;
            else if (*mode == "count")
              query.output = grep_output::counts;
            else if (*mode && *mode != "files_with_matches")
              refuse_file("output_mode must be files_with_matches, content or count");
            return grep_files(folder->search(runtime), query);
          },
          telling()};
}

// ---- reading --------------------------------------------------------------------------------

std::string list_folder(const shared_folder& in, const std::string& path) {
  std::string out;
  for (const auto& name : in.files.list(path, true)) {
    auto what = in.files.look(path.empty() ? name : path + '/' + name).what;
    out += (out.empty() ? "" : "\n") + readable_text(name)
           + (what == confined_folder::kind::folder ? "/" : "");
  }
  return out.empty() ? "No files found" : out;
}

std::string shown_line(std::size_t number, std::string_view line) {
  char text[24];
  std::snprintf(text, sizeof text, "%6zu\t", number);
  bool long_one = line.size() > limits::file_line_bytes_max;
  return text + readable_text(line.substr(0, limits::file_line_bytes_max))
         + (long_one ? " […]" : "") + "\n";
}

std::string show_file(const std::string& text, std::size_t offset, std::size_t count) {
  if (text.find('\0') != std::string::npos)
    return "a binary file of " + std::to_string(text.size()) + " bytes";
  auto lines = whole_lines(text);
  if (!lines.empty() && offset >= lines.size())
    refuse_file("Line offset " + std::to_string(offset) + " exceeds the file's length ("
                + std::to_string(lines.size()) + " lines)");
  auto last = std::min(lines.size(), offset + std::min(count, limits::file_lines_shown_max));
  std::string out;
  for (auto i = offset; i < last; ++i)
    out += shown_line(i + 1, lines[i]);
  if (last < lines.size())
    out += "… " + std::to_string(lines.size()) + " lines in all\n";
  return out.empty() ? "The file is empty." : out;
}

std::size_t count_or(const std::optional<std::int64_t>& n, std::size_t otherwise) {
  return n && *n >= 0 ? static_cast<std::size_t>(*n) : otherwise;
}

std::vector<tool> reading_tools(const folder_ptr& folder) {
  return {
    {"ls", "Lists a folder; names of folders end with a slash.",
     [folder](arg<"path", text_arg, "The uppermost folder when left out"> path) {
       return list_folder(*folder, path->value_or(""));
     },
     telling()},
    {"read_file", "Reads a file. Its lines are numbered; long files come in parts.",
     [folder](arg<"file_path", std::string> path,
              arg<"offset", std::optional<std::int64_t>, "Lines to leave out"> offset,
              arg<"limit", std::optional<std::int64_t>, "Lines to show"> count) {
       return show_file(folder->files.read(*path), count_or(*offset, 0),
                        count_or(*count, limits::file_lines_shown_max));
     },
     telling()},
    glob_tool(folder, "glob"),
    grep_tool(folder, "grep"),
  };
}

// ---- writing --------------------------------------------------------------------------------

// False also when folders of the path are missing. A path that leads outside is refused when
// writing.
bool is_there(const shared_folder& in, const std::string& path) {
  try {
    return in.files.look(path).what != confined_folder::kind::none;
  } catch (const node_error&) {
    return false;
  }
}

std::string write_new(shared_folder& in, const std::string& path, const std::string& text) {
  std::lock_guard guard{in.editing};
  if (is_there(in, path))
    refuse_file(
      "Cannot write to " + path
      + " because it already exists. Read and then make an edit, or write to a new path.");
  in.files.write(path, text);
  return "Updated file " + path;
}

std::size_t occurrences(std::string_view text, std::string_view of) {
  std::size_t out = 0;
  for (auto at = text.find(of); at != std::string_view::npos; at = text.find(of, at + of.size()))
    ++out;
  return out;
}

std::string with_replaced(std::string_view text, std::string_view old_text,
                          std::string_view new_text) {
  std::string out;
  for (auto at = text.find(old_text); at != std::string_view::npos; at = text.find(old_text)) {
    out += text.substr(0, at);
    out += new_text;
    text.remove_prefix(at + old_text.size());
  }
  return out += text;
}

struct edit_order {
  const std::string& path;
  const std::string& old_text;
  const std::string& new_text;
  bool everywhere;
};

std::string edit(shared_folder& in, const edit_order& order) {
  std::lock_guard guard{in.editing};
  auto text = in.files.read(order.path);
  auto found = order.old_text.empty() ? 0 : occurrences(text, order.old_text);
  if (found == 0)
    refuse_file("String not found in file " + order.path + "; nothing was changed.");
  if (found > 1 && !order.everywhere)
    refuse_file(
      "The string occurs in " + order.path + ' ' + std::to_string(found)
      + " times. Give more of the text around it, or set replace_all. Nothing was changed.");
  auto size = text.size() + found * order.new_text.size();
  if (size > limits::value_size_bytes_max)
    refuse_file("The file would be too large; nothing was changed.");
  in.files.write(order.path, with_replaced(text, order.old_text, order.new_text));
  return "Successfully replaced " + std::to_string(found) + " instance(s) of the string in "
         + order.path;
}

std::vector<tool> writing_tools(const folder_ptr& folder) {
  return {
    {"write_file", "Writes a new file.",
     [folder](arg<"file_path", std::string> path, arg<"content", std::string> text) {
       return write_new(*folder, *path, *text);
     },
     telling()},
    {"edit_file", "Replaces a text in a file. Read the file before.",
     [folder](
       arg<"file_path", std::string> path,
       arg<"old_string", std::string, "Exactly as in the file"> old_text,
       arg<"new_string", std::string> new_text,
       arg<"replace_all", std::optional<bool>, "Replace every occurrence, not only one"> all) {
       return edit(*folder, {*path, *old_text, *new_text, all->value_or(false)});
     },
     telling()},
  };
}

constexpr const char* reading_prompt =
  "## Files\n\nYou have tools for the files of one folder; its path is `/`. ls lists a folder, "
  "glob and grep find files by their names and by what is in them, read_file shows one.";
constexpr const char* writing_prompt =
  " write_file makes a new file, edit_file changes one: read it first.";

} // namespace

middleware file_search(const std::filesystem::path& folder, file_search_options options) {
  auto in = std::make_shared<shared_folder>(folder, options.file_bytes_max);
  middleware out;
  out.name = "file_search";
  out.tools = {glob_tool(in, "glob_search"), grep_tool(in, "grep_search")};
  return out;
}

middleware filesystem(const std::filesystem::path& folder, filesystem_options options) {
  auto in = std::make_shared<shared_folder>(folder, options.file_bytes_max,
                                            std::move(options.hidden));
  middleware out;
  out.name = "filesystem";
  out.tools = reading_tools(in);
  std::string section = reading_prompt;
  if (!options.read_only) {
    for (auto& t : writing_tools(in))
      out.tools.push_back(std::move(t));
    section += writing_prompt;
  }
  out.wrap_model_call = [section](model_call call, model_executor run) {
    call.system_message = with_section(call.system_message, section);
    return run(std::move(call));
  };
  return out;
}

} // namespace troupe
