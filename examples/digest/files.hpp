// Finding, reading and writing files.
#pragma once

#include "facts.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace digest {

inline constexpr std::size_t file_size_bytes_max = 4u << 20; // larger files are left out

/// What to digest.
/// Shape:  `files` as they were named, or below the folder that was named; `base` makes relative
///         ones absolute. `problems`: what was named and can't be looked into.
/// Order:  by path, byte by byte; each once.
struct file_plan {
  std::vector<std::string> files;
  std::vector<file_facts> problems;
  std::int64_t binary = 0; ///< files left out since they hold a NUL byte
  std::int64_t large = 0;  ///< files left out since they are larger than file_size_bytes_max
};

/// The text files of `sources`, files or folders. Hidden files and folders, build folders,
/// links to folders and the file `out` are left out, unless a source names them.
file_plan find_files(const std::filesystem::path& base, const std::vector<std::string>& sources,
                     const std::filesystem::path& out);

/// What was read, or why nothing was.
struct file_text {
  std::string text;
  std::string problem;
};
file_text read_file(const std::filesystem::path& path);

/// Appends a line in one write, so that lines of several writers do not mix.
/// Errors: throws std::system_error.
void append_line(const std::filesystem::path& path, const std::string& line);

/// Puts `text` into `path`: whoever looks sees the old file or the whole new one, after a power
/// cut too. `tag` names the temporary file beside it; the same tag uses the same one.
/// Errors: throws std::system_error; `path` is as before.
void write_atomically(const std::filesystem::path& path, const std::string& text,
                      const std::string& tag);

} // namespace digest
