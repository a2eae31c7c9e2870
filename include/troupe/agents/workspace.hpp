// The workspace: tools that work in one folder (files, searches, a shell), each also as middleware
// for create_agent.
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

/// The settings of file_search.
/// Units:  searches skip files with more bytes.
/// Errors: see file_search.
/// Source: langchain/agents/middleware/file_search.py, FilesystemFileSearchMiddleware.
struct file_search_options {
  std::size_t file_bytes_max = limits::search_file_bytes_default;
};
/// Two tools that search files below a folder, and change nothing.
/// Shape:  glob_search {pattern, path?} gives paths of files, the newest first, one a line. In its
///         pattern `**` matches any folders. grep_search {pattern, path?, include?, output_mode?}
///         gives files with a line that a regular expression matches, by path. The result lists
///         their paths, or by output_mode `path:line:text` ("content") or `path:count` ("count").
///         Paths begin with
///         `/`, which is the folder. Expressions are RE2's: those of Perl without back references.
///         Hidden files, symbolic links and files that are not text are skipped.
/// Errors: throws error{storage_failed} when the folder can't be opened. The model gets messages
///         about what it can correct: "No files found", "No matches found", "Invalid regex pattern:
///         …".
/// Source: langchain/agents/middleware/file_search.py.
middleware file_search(const std::filesystem::path& folder, file_search_options options = {});

// ---- files ----------------------------------------------------------------------------------

/// The settings of filesystem.
/// Units:  as file_search_options.
/// Shape:  `hidden`: names in the folder that its tools neither show nor touch.
/// Errors: see filesystem.
/// Source: deepagents/middleware/filesystem.py, FilesystemMiddleware.
struct filesystem_options {
  bool read_only = false; ///< without write_file and edit_file
  std::size_t file_bytes_max = limits::search_file_bytes_default;
  std::vector<std::string> hidden = {};
};
/// Tools for the files below a folder, which no path leaves, and instructions for their use.
/// `write_file` makes a new file. `edit_file` replaces a text that occurs once, or all its
/// occurrences.
/// Shape:  the tools and their arguments:
///         - ls {path?}
///         - read_file {file_path, offset?, limit?}: lines with their numbers, from `offset` (0 is
///           the first)
///         - glob and grep as of file_search
///         - write_file {file_path, content}
///         - edit_file {file_path, old_string, new_string, replace_all?}
/// Errors: as file_search, and invalid_config for a hidden name that is not a single name. A tool's
///         refusal is a message to the model, with status error.
/// Source: deepagents/middleware/filesystem.py, FilesystemMiddleware.
middleware filesystem(const std::filesystem::path& folder, filesystem_options options = {});

// ---- shell ----------------------------------------------------------------------------------

/// Whether commands run under bubblewrap. Then they can write only to their folder, see no home
/// folder, and have their own /tmp and no network.
/// Errors: none.
/// Source: langchain/agents/middleware/_execution.py, BaseExecutionPolicy.
enum class shell_sandbox : std::uint8_t {
  required, ///< the tool is missing where bubblewrap is missing
  if_there, ///< where bubblewrap works; else commands have the rights of the process
  none,
};
/// Whether bubblewrap works here.
/// Blocks: the first time, for some milliseconds.
/// Errors: none.
/// Source: troupe.
bool has_shell_sandbox();

/// The settings of shell_tool.
/// Units:  `timeout` of one command. `lines_max`, `bytes_max`: of its output; the rest is left out,
///         and the model gets its size.
/// Shape:  `environment` replaces that of the process, from which only PATH is inherited. `hidden`:
///         names in the folder that sandboxed commands find empty.
/// Errors: see shell_tool.
/// Source: langchain/agents/middleware/shell_tool.py, ShellToolMiddleware.
struct shell_options {
  shell_sandbox sandbox = shell_sandbox::required;
  std::chrono::seconds timeout = limits::shell_timeout_default;
  std::size_t lines_max = limits::shell_lines_default;
  std::size_t bytes_max = limits::shell_bytes_default;
  std::vector<std::pair<std::string, std::string>> environment = {};
  std::vector<std::string> hidden = {};
  std::string name = "shell";
};
/// A tool that runs a command of /bin/sh in a folder, and returns its output.
/// Shape:  one argument, `command`. Lines of the error output begin with `[stderr] `; an empty
///         output is `<no output>`. A command that fails or takes too long gives a message with
///         status error. The artifact has exit_code, timed_out, total_lines, total_bytes,
///         truncated_by_lines, truncated_by_bytes.
/// Order:  each command has a new shell, so the working directory and variables do not persist.
///         (The reference's session would be lost with each question to a person.) Its processes
///         end with it; their memory and disk use is not bounded.
/// Errors: throws error{invalid_config} for a time-out or a bound of 0, and when a required sandbox
///         is missing; storage_failed when the folder can't be opened.
/// Source: langchain/agents/middleware/shell_tool.py.
tool shell_tool(const std::filesystem::path& folder, shell_options options = {});
/// The same tool as middleware.
/// Errors: as shell_tool.
/// Source: langchain/agents/middleware/shell_tool.py.
middleware shell(const std::filesystem::path& folder, shell_options options = {});

} // namespace troupe
