// memory_files: where the files of a memory are stored, and the memory over them.
#pragma once

#include <troupe/agents/memory_tool.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace troupe {

/// Files below one root.
/// Shape:  a path is names with `/` between them, from the root down; it may begin with a `/`. `.`
///         and empty names are ignored; `..` leads outside.
/// Thread: one at a time.
/// Errors: the members throw node_error of class ToolError, with a text for the model. Reasons are
///         a path that leads outside, does not exist, or is of another kind. Also storage codes.
class memory_files {
public:
  enum class kind : std::uint8_t { none, file, folder, other };
  struct entry {
    kind what = kind::none;
    std::uint64_t size_bytes = 0;
  };

  memory_files() = default;
  memory_files(const memory_files&) = delete;
  memory_files& operator=(const memory_files&) = delete;
  virtual ~memory_files() = default;

  virtual entry look(const std::string& path) = 0;
  virtual std::string read(const std::string& path) = 0;
  /// Replaces the file whole or not at all; makes missing folders of the path.
  virtual void write(const std::string& path, const std::string& text) = 0;
  /// Removes a file, or a folder with everything in it.
  virtual void remove(const std::string& path) = 0;
  virtual void rename(const std::string& from, const std::string& to) = 0;
  /// The names in a folder, without hidden ones. Order: sorted.
  virtual std::vector<std::string> list(const std::string& path) = 0;
};

/// A memory in these files, whose root is "/memories".
std::shared_ptr<memory_backend> memory_in_files(std::unique_ptr<memory_files> files);

} // namespace troupe
