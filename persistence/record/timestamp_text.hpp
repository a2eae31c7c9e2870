// timestamp_text: the text of a checkpoint's time, from a number and back.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace troupe {

/// Microseconds since 1970 for a text that is exactly as timestamp_text writes it, else nullopt.
/// Shape:  `2026-11-21T20:21:07.123456+00:00`.
std::optional<std::int64_t> timestamp_micros(std::string_view text);

inline constexpr std::int64_t timestamp_micros_min = -62'167'219'200'000'000; // year 0
inline constexpr std::int64_t timestamp_micros_max = 253'402'300'799'999'999; // year 9999

/// Shape:  as above.
/// Units:  `micros` between the two bounds.
std::string timestamp_text(std::int64_t micros);
/// The same in a text that is there.
void timestamp_text(std::int64_t micros, std::string& out);

} // namespace troupe
