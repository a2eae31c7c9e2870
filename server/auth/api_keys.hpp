// api_keys: callers that are known by a key. The server has hashes of keys alone.
//
// A file of keys has a line for each: the hash, the identity of its holder, and permissions.
//
//     # the web site
//     sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae site threads:read
//
// A hash protects a random key; a word that people think of can be found by trying.
#pragma once

#include <troupe/error.hpp>
#include <troupe/server/access.hpp>
#include <troupe/server/limits.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::server {

using sha256_hash = std::array<std::uint8_t, 32>;
sha256_hash sha256_of(std::string_view bytes);

struct api_key {
  sha256_hash hash;
  caller who;
};

/// Shape:  as the file above; empty lines and those that begin with `#` are ignored. Without an
///         identity, it is "api-key".
/// Errors: invalid_config that names the line; the line's text is left out.
result<std::vector<api_key>> read_api_keys(std::string_view text);

/// A new key and its line for a file. The key is in no other place.
struct new_api_key {
  std::string key;
  std::string line;
};
/// Shape:  `identity`: visible characters without blanks.
/// Errors: throws error: invalid_config for another identity, storage_failed when the system gives
///         no random bytes.
new_api_key make_api_key(std::string_view identity);

/// The holder of a key. Takes the same time for each key, known or not.
std::optional<caller> holder_of(const std::vector<api_key>& keys, std::string_view key);

/// The key of a request: that of the header `x-api-key`, else of `Authorization: Bearer`. Empty
/// without one.
std::string_view presented_key(std::string_view x_api_key, std::string_view authorization);

/// The keys of a file. A changed file counts from the next question on; while it does not fit, the
/// keys before stay. A file that is missing has no keys, so a removed file locks everybody out.
/// Thread: any.
class api_key_file {
public:
  using clock = std::chrono::steady_clock;

  /// `report` gets a line when a changed file does not fit.
  /// Errors: throws error{invalid_config} when the file is missing or does not fit.
  api_key_file(std::filesystem::path file, std::function<void(const std::string&)> report);

  /// The holder of a key. The file is looked at when `now` is limits::server_key_file_check after
  /// the last look. Blocks: a read of the disk.
  std::optional<caller> holder(std::string_view key, clock::time_point now);

private:
  void look();

  const std::filesystem::path file_;
  const std::function<void(const std::string&)> report_;
  std::mutex mutex_;
  std::vector<api_key> keys_; // under the mutex, as the next
  std::pair<std::filesystem::file_time_type, std::uintmax_t> stamp_{};
  clock::time_point looked_{};
};

} // namespace troupe::server
