// files: finds, reads and writes files.
#pragma once

#include "facts.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace digest {

inline constexpr std::size_t file_size_bytes_max = 4u << 20; // larger files are left out

/// The files to digest.
/// Shape:  `files` as they were named, or below the folder that was named; `base` makes relative
///         ones absolute. `problems`: named sources that can't be read.
/// Order:  by path, byte by byte, without duplicates.
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

/// The content of a file, or the reason why it can't be read.
struct file_text {
  std::string text;
  std::string problem;
};
file_text read_file(const std::filesystem::path& path);

/// Appends a line in one write, so that lines of several writers do not mix.
/// Errors: throws std::system_error.
void append_line(const std::filesystem::path& path, const std::string& line);

/// Replaces the content of `path`: a reader sees the old file or the whole new one, even after a
/// power cut. `tag` names the temporary file in the same folder; an equal tag reuses it.
/// Errors: throws std::system_error; `path` is unchanged.
void write_atomically(const std::filesystem::path& path, const std::string& text,
                      const std::string& tag);

} // namespace digest
