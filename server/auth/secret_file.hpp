// secret_file: a secret that a file holds.
#pragma once

#include <troupe/error.hpp>

#include <filesystem>
#include <string>

namespace troupe::server {

/// The text of a file that its owner alone can read, without the line end after it.
/// Units:  at most limits::server_secret_bytes_max bytes.
/// Errors: invalid_config with the file's name and what is wrong with it; never its text.
result<std::string> read_secret_file(const std::filesystem::path& file);

} // namespace troupe::server
