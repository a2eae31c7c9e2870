// Cron lines: the time that comes next is one that the line names, and the first one. Time zones
// are those of the system and nothing else. Input: a line, a zone and the time, a line each.
#include "tests/fuzz_bytes/target.hpp"

#include "server/rules/cron_schedule.hpp"

#include <absl/time/civil_time.h>
#include <absl/time/time.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string>

namespace troupe::fuzz_bytes {

namespace {

using server::cron_schedule;

// The numbers of a field as a list.
template <std::size_t N> std::string listed(const std::bitset<N>& all) {
  std::string out;
  for (std::size_t i = 0; i < N; ++i)
    if (all.test(i))
      out += (out.empty() ? "" : ",") + std::to_string(i);
  return out;
}

bool names_minute(const cron_schedule& s, absl::CivilMinute at) {
  auto weekday = (static_cast<std::size_t>(absl::GetWeekday(at)) + 1) % 7;
  bool by_date = s.days.test(static_cast<std::size_t>(at.day()));
  bool by_weekday = s.weekdays.test(weekday);
  return s.minutes.test(static_cast<std::size_t>(at.minute()))
         && s.hours.test(static_cast<std::size_t>(at.hour()))
         && s.months.test(static_cast<std::size_t>(at.month()))
         && (s.any_day || s.any_weekday ? by_date && by_weekday : by_date || by_weekday);
}

void try_next(const cron_schedule& s, std::int64_t now) {
  auto next = server::next_time(s, now, "");
  if (!next)
    return;
  require(*next > now, "the next time comes after now");
  auto utc = absl::UTCTimeZone();
  absl::CivilMinute at{utc.At(absl::FromUnixMicros(*next)).cs};
  require(absl::ToUnixMicros(absl::FromCivil(absl::CivilSecond{at}, utc)) == *next,
          "a time is the beginning of a minute");
  require(names_minute(s, at), "the line names the time");
  absl::CivilMinute begin{utc.At(absl::FromUnixMicros(now)).cs};
  for (int minutes = 1; minutes < 300 && begin + minutes < at; ++minutes)
    require(!names_minute(s, begin + minutes), "no time before it is named");
}

void try_zone(const cron_schedule& s, const std::string& zone, std::int64_t now) {
  if (!server::is_time_zone(zone))
    return;
  require(zone.find_first_of(":.\\ ") == zone.npos && zone[0] != '/', "a zone is not a path");
  if (auto next = server::next_time(s, now, zone))
    require(*next > now, "the next time comes after now, in any zone");
}

} // namespace

void try_bytes(std::string_view bytes) {
  std::array<std::string_view, 3> lines;
  for (auto& line : lines) {
    line = bytes.substr(0, bytes.find('\n'));
    bytes.remove_prefix(std::min(bytes.size(), line.size() + 1));
  }
  auto schedule = server::parse_cron(lines[0]);
  if (!schedule) {
    require(schedule.error().code() == errc::invalid_value, "a refusal is an invalid_value");
    require(schedule.error().message().starts_with("cron schedule: "), "a refusal has a reason");
    return;
  }
  auto text = listed(schedule->minutes) + ' ' + listed(schedule->hours) + ' '
              + listed(schedule->days) + ' ' + listed(schedule->months) + ' '
              + listed(schedule->weekdays);
  auto again = server::parse_cron(text);
  require(again && again->minutes == schedule->minutes && again->hours == schedule->hours
            && again->days == schedule->days && again->months == schedule->months
            && again->weekdays == schedule->weekdays,
          "the numbers of a line are the line again");
  std::int64_t now = 1'700'000'000'000'000;
  std::from_chars(lines[2].data(), lines[2].data() + lines[2].size(), now);
  now = std::clamp<std::int64_t>(now, -4'000'000'000'000'000, 250'000'000'000'000'000);
  try_next(*schedule, now);
  try_zone(*schedule, std::string{lines[1]}, now);
}

std::vector<std::string> seeds() {
  return {"* * * * *\nEurope/Berlin\n1711846800000000",
          "*/5 0-6,22 1,15 jan-mar Mon\nAmerica/New_York\n0",
          "0 0 29 feb *\nUTC\n1700000000000001",
          "@weekly\nEurope/Berlin\n1711846800000000",
          "59 23 31 12 7\nPacific/Kiritimati\n-1",
          "0 0 30 2 *\nfile:/etc/passwd\n99",
          "10-50/7 2 * * 0\n../../etc/localtime\n249999999999999999"};
}

} // namespace troupe::fuzz_bytes
