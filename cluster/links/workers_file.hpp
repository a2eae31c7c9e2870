// workers_file: a file of workers' addresses, read again when it changes.
#pragma once

#include "cluster/links/link_hub.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace troupe::cluster {

/// A file with one HOST:PORT a line; text after `#` is ignored.
class workers_file {
public:
  /// An empty `path` means no file: then read() returns no addresses.
  explicit workers_file(std::filesystem::path path) : path_{std::move(path)} {}

  /// The addresses in the file.
  /// Errors: invalid_config when the file can't be read, is larger than
  ///         limits::workers_file_bytes_max, or has a line that is not an address. The error names
  ///         the line.
  result<std::vector<endpoint>> read();
  /// The same, if the file changed since it was last read; otherwise nullopt.
  std::optional<result<std::vector<endpoint>>> changed();

private:
  std::filesystem::path path_;
  std::filesystem::file_time_type when_{};
};

/// Reads the addresses of a text, one a line.
/// Errors: invalid_config, which names the line.
result<std::vector<endpoint>> parse_workers(const std::string& text);

} // namespace troupe::cluster
