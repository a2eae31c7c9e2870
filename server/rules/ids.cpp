// ids: UUIDs of version 7.
#include "server/rules/ids.hpp"

#include "persistence/record/timestamp_text.hpp"

#include <troupe/error.hpp>
#include <troupe/uuid.hpp>

#include <absl/time/time.h>

#include <array>
#include <cstddef>

#include <sys/random.h>

namespace troupe::server {

std::string new_id(std::int64_t micros) {
  uuid id;
  if (::getrandom(id.bytes.data(), id.bytes.size(), 0) != static_cast<ssize_t>(id.bytes.size()))
    throw error{errc::storage_failed, "make an id: the system gives no random bytes"};
  auto milliseconds = static_cast<std::uint64_t>(micros) / 1000;
  for (std::size_t i = 0; i < 6; ++i)
    id.bytes[i] = static_cast<std::byte>(milliseconds >> (40 - 8 * i));
  id.bytes[6] = (id.bytes[6] & std::byte{0x0f}) | std::byte{0x70};
  id.bytes[8] = (id.bytes[8] & std::byte{0x3f}) | std::byte{0x80};
  return to_string(id);
}

std::string time_text(std::int64_t micros) {
  return timestamp_text(micros);
}

std::int64_t micros_of(const std::string& text) {
  return timestamp_micros(text).value_or(0);
}

std::optional<std::int64_t> parse_time(const std::string& text) {
  absl::Time out;
  std::string wrong;
  for (const char* form : {"%Y-%m-%d%ET%H:%M:%E*S%Ez", "%Y-%m-%d%ET%H:%M:%E*S", "%Y-%m-%d"})
    if (absl::ParseTime(form, text, &out, &wrong))
      return absl::ToUnixMicros(out);
  return std::nullopt;
}

} // namespace troupe::server
