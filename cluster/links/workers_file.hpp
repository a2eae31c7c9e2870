// A file of workers' addresses, read again when it changes.
#pragma once

#include "cluster/links/link_hub.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace troupe::cluster {

class workers_file {
public:
  /// Empty: there is none, and it never changes.
  explicit workers_file(std::filesystem::path path) : path_{std::move(path)} {}

  /// What it holds.
  /// Errors: invalid_config: it can't be read, is larger than limits::workers_file_bytes_max, or a
  ///         line is no address: it names the line.
  result<std::vector<endpoint>> read();
  /// The same, if it changed since it was read last.
  std::optional<result<std::vector<endpoint>>> changed();

private:
  std::filesystem::path path_;
  std::filesystem::file_time_type when_{};
};

/// Errors: invalid_config that names the line.
result<std::vector<endpoint>> parse_workers(const std::string& text);

} // namespace troupe::cluster
