// The memory tool: Anthropic's tool with which a model keeps its own files.
#pragma once

#include <troupe/agents/tool.hpp>
#include <troupe/store.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace troupe {

/// The storage of a memory tool's files. Paths are "/memories" or "/memories/…"; the backend must
/// check them. A member returns the text for the model.
/// Thread: as the tools of a node: several calls at once.
/// Errors: members throw node_error of class ToolError, with the text for the model.
/// Source: anthropic/lib/tools/_beta_builtin_memory_tool.py, BetaAbstractMemoryTool.
class memory_backend {
public:
  using line_range = std::pair<std::int64_t, std::int64_t>;

  memory_backend() = default;
  memory_backend(const memory_backend&) = delete;
  memory_backend& operator=(const memory_backend&) = delete;
  virtual ~memory_backend() = default;

  /// A file with line numbers, or a folder's contents. `lines`: first and last; -1: to the end.
  virtual std::string view(const std::string& path, std::optional<line_range> lines) = 0;
  virtual std::string create(const std::string& path, const std::string& text) = 0;
  /// Replaces the only occurrence of `old_text`.
  virtual std::string str_replace(const std::string& path, const std::string& old_text,
                                  const std::string& new_text) = 0;
  /// Inserts after line `line`; 0: at the beginning.
  virtual std::string insert(const std::string& path, std::int64_t line,
                             const std::string& text) = 0;
  virtual std::string remove(const std::string& path) = 0;
  virtual std::string rename(const std::string& old_path, const std::string& new_path) = 0;
};

/// A memory in `folder`/memories, in files that only the owner may read. No path leads out of the
/// folder, and symbolic links are not followed.
/// Units:  a file has at most limits::value_size_bytes_max bytes and 999,999 lines, a path
///         limits::value_depth_max names.
/// Errors: throws error{storage_failed} when the folder can't be made.
/// Source: anthropic/lib/tools/_beta_builtin_memory_tool.py, BetaLocalFilesystemMemoryTool.
std::shared_ptr<memory_backend> make_folder_memory(const std::filesystem::path& folder);

/// A memory in a store, below a namespace that has no other use: an item {text} for each file,
/// under its path. A folder exists while it has a file. Several processes may use one memory; of
/// two concurrent changes to one file, the last one counts.
/// Units:  a file has at most limits::value_size_bytes_max less 64 bytes and 999,999 lines, a path
///         limits::store_key_bytes_max bytes and limits::value_depth_max names.
/// Blocks: as the store; an operation on a folder reads the whole memory.
/// Errors: throws error{invalid_config} without a store. Members also give the store's errors, e.g.
///         invalid_value for an invalid namespace.
/// Source: anthropic/lib/tools/_beta_builtin_memory_tool.py, BetaAbstractMemoryTool.
std::shared_ptr<memory_backend> make_store_memory(std::shared_ptr<store> where,
                                                  store_namespace space);

/// The tool "memory" over a backend.
/// Shape:  one argument `command` (view, create, str_replace, insert, delete, rename) and those of
///         the command. The definition also has Anthropic's type, memory_20250818.
/// Errors: none here; the refusal of a command is a message for the model.
/// Source: anthropic/lib/tools/_beta_builtin_memory_tool.py.
tool memory_tool(std::shared_ptr<memory_backend> backend);

} // namespace troupe
