// cron_schedule: reading lines, and walking the calendar.
#include "server/rules/cron_schedule.hpp"

#include <troupe/server/limits.hpp>

#include <absl/time/civil_time.h>
#include <absl/time/time.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <vector>

namespace troupe::server {

namespace {

constexpr std::array<std::string_view, 12> month_names{"jan", "feb", "mar", "apr", "may", "jun",
                                                       "jul", "aug", "sep", "oct", "nov", "dec"};
constexpr std::array<std::string_view, 7> weekday_names{"sun", "mon", "tue", "wed",
                                                        "thu", "fri", "sat"};

struct cron_field {
  std::string_view name;
  int first;
  int last;
  std::span<const std::string_view> names = {};
  int first_name = 0;
};

constexpr std::array<cron_field, 5> fields{{{"minute", 0, 59},
                                            {"hour", 0, 23},
                                            {"day of the month", 1, 31},
                                            {"month", 1, 12, month_names, 1},
                                            {"day of the week", 0, 7, weekday_names, 0}}};

struct nickname {
  std::string_view name;
  std::string_view line;
};

constexpr std::array<nickname, 7> nicknames{{{"@hourly", "0 * * * *"},
                                             {"@daily", "0 0 * * *"},
                                             {"@midnight", "0 0 * * *"},
                                             {"@weekly", "0 0 * * 0"},
                                             {"@monthly", "0 0 1 * *"},
                                             {"@yearly", "0 0 1 1 *"},
                                             {"@annually", "0 0 1 1 *"}}};

error bad_field(const cron_field& field, std::string_view text) {
  return {errc::invalid_value,
          std::string{"cron schedule: "}.append(text).append(" is not a ").append(field.name)};
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> out;
  for (std::size_t from = 0;;) {
    auto end = text.find(at, from);
    out.push_back(text.substr(from, end - from));
    if (end == text.npos)
      return out;
    from = end + 1;
  }
}

std::optional<int> number_in(const cron_field& field, std::string_view text) {
  for (std::size_t i = 0; i < field.names.size(); ++i)
    if (text.size() == 3
        && std::equal(text.begin(), text.end(), field.names[i].begin(), [](char a, char b) {
             return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b;
           }))
      return field.first_name + static_cast<int>(i);
  int n = 0;
  auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (wrong != std::errc{} || end != text.data() + text.size() || n < field.first || n > field.last)
    return std::nullopt;
  return n;
}

// Calls `set` with each number of a field: a list of `*`, N, N-M, each perhaps with /STEP.
template <class F>
result<void> read_field(const cron_field& field, std::string_view text, F&& set) {
  for (auto part : split(text, ',')) {
    auto slash = part.find('/');
    auto range = part.substr(0, slash);
    int step = 1;
    if (slash != part.npos) {
      auto given = part.substr(slash + 1);
      auto [end, wrong] = std::from_chars(given.data(), given.data() + given.size(), step);
      if (wrong != std::errc{} || end != given.data() + given.size() || step < 1
          || step > field.last)
        return bad_field(field, part);
    }
    int from = field.first;
    int to = field.last;
    if (range != "*") {
      auto dash = range.find('-');
      auto low = number_in(field, range.substr(0, dash));
      auto high = dash == range.npos ? low : number_in(field, range.substr(dash + 1));
      if (!low || !high || *low > *high)
        return bad_field(field, part);
      from = *low;
      to = dash == range.npos && slash != part.npos ? field.last : *high;
    }
    for (int n = from; n <= to; n += step)
      set(n);
  }
  return {};
}

// Other texts are names of files, or of zones that are not the system's: "file:…", "libc:…".
bool is_zone_name(std::string_view name) {
  auto fits = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'
           || c == '+' || c == '-' || c == '/';
  };
  return !name.empty() && name.size() <= limits::server_time_zone_bytes_max && name[0] != '/'
         && std::ranges::all_of(name, fits);
}

// absl keeps every name that it is asked for: it is asked for the names of files alone.
bool has_zone_file(const std::string& name) {
  const char* folder = std::getenv("TZDIR");
  std::error_code failed;
  return name == "UTC"
         || std::filesystem::is_regular_file(
           std::filesystem::path{folder ? folder : "/usr/share/zoneinfo"} / name, failed);
}

bool matches_day(const cron_schedule& s, absl::CivilDay day) {
  if (!s.months.test(static_cast<std::size_t>(day.month())))
    return false;
  auto weekday = (static_cast<std::size_t>(absl::GetWeekday(day)) + 1) % 7; // absl: Monday is 0
  bool by_date = s.days.test(static_cast<std::size_t>(day.day()));
  bool by_weekday = s.weekdays.test(weekday);
  if (s.any_day || s.any_weekday)
    return by_date && by_weekday;
  return by_date || by_weekday;
}

absl::Time instant_of(const absl::TimeZone& zone, absl::CivilMinute minute) {
  auto at = zone.At(absl::CivilSecond{minute});
  return at.kind == absl::TimeZone::TimeInfo::SKIPPED ? at.trans : at.pre;
}

} // namespace

result<cron_schedule> parse_cron(std::string_view line) {
  if (line.starts_with('@')) {
    auto known = std::ranges::find(nicknames, line, &nickname::name);
    if (known == nicknames.end())
      return error{errc::invalid_value, "cron schedule: " + std::string{line}
                                          + " is not one of @hourly, @daily, @midnight, @weekly, "
                                            "@monthly, @yearly, @annually"};
    line = known->line;
  }
  std::vector<std::string_view> parts;
  for (auto part : split(line, ' '))
    if (!part.empty())
      parts.push_back(part);
  if (parts.size() != fields.size())
    return error{errc::invalid_value,
                 "cron schedule: it has not five fields: minute, hour, day of the "
                 "month, month, day of the week"};
  cron_schedule out;
  std::array<result<void>, 5> read{
    read_field(fields[0], parts[0], [&](int n) { out.minutes.set(static_cast<std::size_t>(n)); }),
    read_field(fields[1], parts[1], [&](int n) { out.hours.set(static_cast<std::size_t>(n)); }),
    read_field(fields[2], parts[2], [&](int n) { out.days.set(static_cast<std::size_t>(n)); }),
    read_field(fields[3], parts[3], [&](int n) { out.months.set(static_cast<std::size_t>(n)); }),
    read_field(fields[4], parts[4],
               [&](int n) { out.weekdays.set(static_cast<std::size_t>(n % 7)); })};
  for (const auto& one : read)
    if (!one)
      return one.error();
  out.any_day = parts[2].starts_with('*');
  out.any_weekday = parts[4].starts_with('*');
  return out;
}

bool is_time_zone(const std::string& name) {
  absl::TimeZone zone;
  return is_zone_name(name) && has_zone_file(name) && absl::LoadTimeZone(name, &zone);
}

std::optional<std::int64_t> next_time(const cron_schedule& s, std::int64_t micros,
                                      const std::string& zone_name) {
  auto zone = absl::UTCTimeZone();
  if (!zone_name.empty() && !absl::LoadTimeZone(zone_name, &zone))
    return std::nullopt;
  auto after = absl::FromUnixMicros(micros);
  absl::CivilMinute from{zone.At(after).cs};
  absl::CivilDay first{from};
  auto last = first + limits::server_cron_years_max * 366;
  for (auto day = first; day < last; ++day) {
    if (!matches_day(s, day))
      continue;
    for (int hour = 0; hour < 24; ++hour) {
      if (!s.hours.test(static_cast<std::size_t>(hour)))
        continue;
      for (int minute = 0; minute < 60; ++minute) {
        absl::CivilMinute at{day.year(), day.month(), day.day(), hour, minute};
        if (at < from || !s.minutes.test(static_cast<std::size_t>(minute)))
          continue;
        if (auto instant = instant_of(zone, at); instant > after)
          return absl::ToUnixMicros(instant);
      }
    }
  }
  return std::nullopt;
}

} // namespace troupe::server
