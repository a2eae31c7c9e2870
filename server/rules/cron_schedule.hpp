// cron_schedule: cron lines of five fields, and when they come next. Pure, but for the time zones
// of the system.
#pragma once

#include <troupe/error.hpp>
#include <troupe/server/limits.hpp>

#include <bitset>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace troupe::server {

/// The minutes that a line matches.
/// Shape:  as crontab(5): minute, hour, day of the month, month, day of the week. Each is `*`,
///         numbers, ranges, lists and steps; months and days also have their English names, 0 and 7
///         are Sunday. When both days are given, either matches. The nicknames @hourly, @daily,
///         @midnight, @weekly, @monthly, @yearly and @annually stand for whole lines.
struct cron_schedule {
  std::bitset<60> minutes;
  std::bitset<24> hours;
  std::bitset<32> days;    ///< from 1
  std::bitset<13> months;  ///< from 1
  std::bitset<7> weekdays; ///< from Sunday
  bool any_day = true;
  bool any_weekday = true;
};

/// Errors: invalid_value that names the field.
result<cron_schedule> parse_cron(std::string_view line);

/// Whether the system has a time zone of this IANA name.
bool is_time_zone(const std::string& name);

/// The first matching minute after `micros`, in the time zone (empty: UTC); nullopt when none comes
/// within limits::server_cron_years_max. A minute that the clock skips comes right after the gap;
/// one that it has twice comes once.
/// Units:  microseconds since 1970.
std::optional<std::int64_t> next_time(const cron_schedule& schedule, std::int64_t micros,
                                      const std::string& zone);

} // namespace troupe::server
