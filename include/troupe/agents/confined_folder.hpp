// The confined folder: files that a model may use, without a way out of the folder.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// The settings of a folder.
/// Shape:  `shown_as` is a prefix of every path in texts; empty: no prefix. With `private_files`
///         only the owner may read written files; otherwise a replaced file keeps its mode.
///         `hidden`: names in the folder that its user can't see: a path must not begin with one,
///         and lists leave them out.
/// Errors: see confined_folder.
/// Source: troupe.
struct confined_folder_options {
  std::string shown_as = {};
  bool private_files = false;
  std::vector<std::string> hidden = {};
};

/// Files below one folder. Every file is reached from the folder's descriptor, one name at a time,
/// and never through a symbolic link. No change between a check and its use can lead outside.
/// Shape:  a path consists of names with `/` between them, from the folder down; it may begin with
///         `/`.
/// Units:  a file has at most limits::value_size_bytes_max bytes, a path limits::value_depth_max
///         names.
/// Thread: several threads may call its members at once; of two writes to one file the last one
///         counts.
/// Errors: members throw node_error of class ToolError, with a text for the model, for a path that
///         leads outside, does not exist, or is of another kind. Other failures are
///         error{storage_failed}.
/// Source: troupe; anthropic/lib/tools/_beta_builtin_memory_tool.py.
class confined_folder {
public:
  enum class kind : std::uint8_t { none, file, folder, other };
  struct entry {
    kind what = kind::none;
    std::uint64_t size_bytes = 0;
    std::chrono::nanoseconds modified{0}; ///< since 1970
  };

  /// Errors: throws error{storage_failed} when the folder can't be made or opened, and
  ///         invalid_config for a hidden name that is not a single name.
  explicit confined_folder(const std::filesystem::path& folder,
                           confined_folder_options options = {});
  confined_folder(confined_folder&&) noexcept;
  confined_folder& operator=(confined_folder&&) noexcept;
  ~confined_folder();

  /// The kind, size and time of a path; `other`: a symbolic link, a device …
  entry look(const std::string& path) const;
  std::string read(const std::string& path) const;
  /// Replaces the whole file, or nothing; makes missing parent folders.
  void write(const std::string& path, const std::string& text) const;
  /// Removes a file, or a folder with its contents; links in it are removed, not followed.
  void remove(const std::string& path) const;
  void rename(const std::string& from, const std::string& to) const;
  /// The names in a folder.
  /// Order:  sorted.
  /// Shape:  those that begin with `.` only when `hidden`.
  std::vector<std::string> list(const std::string& path, bool hidden = false) const;

  /// The path in the form in which the model sees it.
  std::string shown(const std::string& path) const;
  /// The folder's descriptor, e.g. to start a process there.
  int descriptor() const noexcept;

private:
  struct parts;
  std::unique_ptr<parts> parts_;
};

/// A file, a name or a command's output as text for a model: each byte that is not part of UTF-8
/// becomes U+FFFD.
/// Errors: none.
/// Source: troupe.
std::string readable_text(std::string_view text);

} // namespace troupe
