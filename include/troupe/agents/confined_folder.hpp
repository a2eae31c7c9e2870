// A folder that a model may work in, and nothing outside of it.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// How a folder is used.
/// Shape:  `shown_as` stands before every path in texts; empty: nothing does. With `private_files`
///         only the owner may read what is written; else a file that is replaced keeps its mode.
///         `hidden`: names in the folder that are none to its user: no path may begin with one, and
///         none is listed.
struct confined_folder_options {
  std::string shown_as = {};
  bool private_files = false;
  std::vector<std::string> hidden = {};
};

/// Files below one folder. Every file is reached from the folder's descriptor, a name at a time,
/// never through a symbolic link: nothing between a check and its use can lead outside.
/// Shape:  a path is names with `/` between them, from the folder down; it may begin with one.
/// Units:  a file has at most limits::value_size_bytes_max bytes, a path limits::value_depth_max
///         names.
/// Thread: its members may be called from several threads at once; of two that write one file the
///         last one counts.
/// Errors: of the members: node_error of class ToolError, with a text for the model, for a path
///         that leads outside, is not there, or is of another kind; error{storage_failed}.
/// Source: troupe; anthropic/lib/tools/_beta_builtin_memory_tool.py.
class confined_folder {
public:
  enum class kind : std::uint8_t { none, file, folder, other };
  struct entry {
    kind what = kind::none;
    std::uint64_t size_bytes = 0;
    std::chrono::nanoseconds modified{0}; ///< when, since 1970
  };

  /// Errors: throws error{storage_failed} when the folder can't be made or opened, and
  ///         invalid_config for a hidden name that is none of one folder.
  explicit confined_folder(const std::filesystem::path& folder,
                           confined_folder_options options = {});
  confined_folder(confined_folder&&) noexcept;
  confined_folder& operator=(confined_folder&&) noexcept;
  ~confined_folder();

  /// What is there; `other`: a symbolic link, a device …
  entry look(const std::string& path) const;
  std::string read(const std::string& path) const;
  /// Replaces the file whole or not at all; makes the folders on the way.
  void write(const std::string& path, const std::string& text) const;
  /// Also a folder with all that is in it; links in it are removed, not followed.
  void remove(const std::string& path) const;
  void rename(const std::string& from, const std::string& to) const;
  /// The names in a folder. Order: sorted. Shape: those that begin with `.` only when `hidden`.
  std::vector<std::string> list(const std::string& path, bool hidden = false) const;

  /// The path as it is shown to the model.
  std::string shown(const std::string& path) const;
  /// The folder's descriptor, e.g. to begin a process there.
  int descriptor() const noexcept;

private:
  struct parts;
  std::unique_ptr<parts> parts_;
};

/// What a file, a name or a command's output says, for a model: with U+FFFD in place of each byte
/// that is no part of UTF-8.
/// Source: troupe.
std::string readable_text(std::string_view text);

} // namespace troupe
