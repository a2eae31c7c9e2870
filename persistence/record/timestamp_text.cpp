// timestamp_text: writing and reading the text of a time.
#include "persistence/record/timestamp_text.hpp"

#include <chrono>

namespace troupe {

namespace {

constexpr std::string_view pattern = "0000-00-00T00:00:00.000000+00:00";

bool has_pattern(std::string_view text) {
  if (text.size() != pattern.size())
    return false;
  constexpr auto zone = pattern.find('+');
  for (std::size_t i = 0; i < zone; ++i) {
    auto is_digit = text[i] >= '0' && text[i] <= '9';
    if (pattern[i] == '0' ? !is_digit : text[i] != pattern[i])
      return false;
  }
  return text.substr(zone) == pattern.substr(zone);
}

int digits(std::string_view text, std::size_t at, std::size_t size) {
  int n = 0;
  for (auto c : text.substr(at, size))
    n = n * 10 + (c - '0');
  return n;
}

void put_digits(std::string& text, std::size_t at, std::size_t size, std::int64_t n) {
  for (auto i = at + size; i-- > at; n /= 10)
    text[i] = static_cast<char>('0' + n % 10);
}

} // namespace

std::optional<std::int64_t> timestamp_micros(std::string_view text) {
  using namespace std::chrono;
  if (!has_pattern(text))
    return std::nullopt;
  year_month_day date{year{digits(text, 0, 4)}, month(digits(text, 5, 2)), day(digits(text, 8, 2))};
  hours hour{digits(text, 11, 2)};
  minutes minute{digits(text, 14, 2)};
  seconds second{digits(text, 17, 2)};
  if (!date.ok() || hour >= days{1} || minute >= hours{1} || second >= minutes{1})
    return std::nullopt; // for example the 31st of June, or a leap second
  auto time = hour + minute + second + microseconds{digits(text, 20, 6)};
  return (sys_days{date} + time).time_since_epoch() / microseconds{1};
}

std::string timestamp_text(std::int64_t micros) {
  using namespace std::chrono;
  sys_time<microseconds> at{microseconds{micros}};
  auto date_at = floor<days>(at);
  year_month_day date{date_at};
  hh_mm_ss time{at - date_at};
  std::string text{pattern};
  put_digits(text, 0, 4, static_cast<int>(date.year()));
  put_digits(text, 5, 2, static_cast<unsigned>(date.month()));
  put_digits(text, 8, 2, static_cast<unsigned>(date.day()));
  put_digits(text, 11, 2, time.hours().count());
  put_digits(text, 14, 2, time.minutes().count());
  put_digits(text, 17, 2, time.seconds().count());
  put_digits(text, 20, 6, time.subseconds().count());
  return text;
}

} // namespace troupe
