// Tools that work in one folder: files, searches, a shell. Each comes as middleware for
// create_agent.
#pragma once

#include <troupe/agents/agent.hpp>
#include <troupe/limits.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

// ---- searching ------------------------------------------------------------------------------

/// Units:  files with more bytes are passed over by searches.
struct file_search_options {
  std::size_t file_bytes_max = limits::search_file_bytes_default;
};
/// Two tools that look for files below a folder, and change nothing.
/// Shape:  glob_search {pattern, path?}: paths of files, the newest first, one a line; `**` is any
///         folders. grep_search {pattern, path?, include?, output_mode?}: files with a line that a
///         regular expression fits, by path: their paths, or by output_mode `path:line:text`
///         ("content") or `path:count` ("count"). Paths begin with `/`, which is the folder.
///         Expressions are RE2's: those of Perl without back references. Hidden files, symbolic
///         links and files that are no text are passed over.
/// Errors: throws error{storage_failed} when the folder can't be opened. What a model may mend it
///         is told: "No files found", "No matches found", "Invalid regex pattern: …".
/// Source: langchain/agents/middleware/file_search.py.
middleware file_search(const std::filesystem::path& folder, file_search_options options = {});

// ---- files ----------------------------------------------------------------------------------

/// Units:  as file_search_options.
/// Shape:  `hidden`: names in the folder that its tools neither show nor touch.
struct filesystem_options {
  bool read_only = false; ///< without write_file and edit_file
  std::size_t file_bytes_max = limits::search_file_bytes_default;
  std::vector<std::string> hidden = {};
};
/// Tools for the files below a folder, out of which no path leads, and how to use them: ls,
/// read_file, glob, grep, write_file (a new file), edit_file (a text that stands there once, or
/// everywhere).
/// Shape:  ls {path?}; read_file {file_path, offset?, limit?}: lines with their numbers, from
///         `offset` (0 is the first); glob and grep as of file_search; write_file {file_path,
///         content}; edit_file {file_path, old_string, new_string, replace_all?}.
/// Errors: as file_search, and invalid_config for a hidden name that is none of one folder; what a
///         tool refuses is a message to the model, with status error.
/// Source: deepagents/middleware/filesystem.py, FilesystemMiddleware.
middleware filesystem(const std::filesystem::path& folder, filesystem_options options = {});

// ---- shell ----------------------------------------------------------------------------------

/// Whether commands run under bubblewrap: then they can write nothing but their folder, see no home
/// folder, and have a /tmp of their own and no network.
enum class shell_sandbox : std::uint8_t {
  required, ///< no tool without it
  if_there, ///< where it works; else commands have the rights of the process
  none,
};
/// Whether bubblewrap works here. Blocks: the first time, for some milliseconds.
bool has_shell_sandbox();

/// Units:  `timeout` of one command. `lines_max`, `bytes_max`: of what it prints; the rest is left
///         out, and the model is told how much.
/// Shape:  `environment` stands in for that of the process, of which PATH alone is handed on.
///         `hidden`: names in the folder that sandboxed commands find empty.
struct shell_options {
  shell_sandbox sandbox = shell_sandbox::required;
  std::chrono::seconds timeout = limits::shell_timeout_default;
  std::size_t lines_max = limits::shell_lines_default;
  std::size_t bytes_max = limits::shell_bytes_default;
  std::vector<std::pair<std::string, std::string>> environment = {};
  std::vector<std::string> hidden = {};
  std::string name = "shell";
};
/// A tool that runs a command of /bin/sh in a folder, and says what it prints.
/// Shape:  one argument, `command`. Lines of the error output begin with `[stderr] `; nothing
///         printed is `<no output>`. A command that fails or takes too long gives a message with
///         status error. Its artifact: exit_code, timed_out, total_lines, total_bytes,
///         truncated_by_lines, truncated_by_bytes.
/// Order:  each command is a shell of its own: folders and variables are not kept from one to the
///         next (the reference's session would be lost with each question to a person). Its
///         processes end with it; how much memory and disk they take is not bounded.
/// Errors: throws error{invalid_config} for a time-out or a bound of none, and where a sandbox is
///         required and there is none; storage_failed when the folder can't be opened.
/// Source: langchain/agents/middleware/shell_tool.py.
tool shell_tool(const std::filesystem::path& folder, shell_options options = {});
/// The same as middleware.
middleware shell(const std::filesystem::path& folder, shell_options options = {});

} // namespace troupe
