// ids: new ids of threads, runs and crons, and times as text. Ids grow with time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace troupe::server {

/// A UUID version 7 of this time, with random bits from the system.
/// Units:  `micros` since 1970.
/// Errors: throws error{storage_failed} when the system gives no random bytes.
/// Source: RFC 9562, section 5.7.
std::string new_id(std::int64_t micros);

/// `2026-11-21T20:21:07.123456+00:00`.
std::string time_text(std::int64_t micros);
/// The time of such a text; 0 for any other text.
std::int64_t micros_of(const std::string& text);
/// The time of an ISO 8601 text as clients write it: with Z, an offset or neither (UTC), with or
/// without fractions; nullopt for any other text.
std::optional<std::int64_t> parse_time(const std::string& text);

} // namespace troupe::server
