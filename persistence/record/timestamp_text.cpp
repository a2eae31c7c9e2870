// timestamp_text: writing and reading the text of a time.
#include "persistence/record/timestamp_text.hpp"

#include <array>
#include <chrono>
#include <concepts>

namespace troupe {

namespace {

constexpr std::string_view pattern = "0000-00-00T00:00:00.000000+00:00";

constexpr auto point = pattern.find('.') + 1;
constexpr std::int64_t micros_a_second = 1'000'000;

bool has_pattern(std::string_view text, std::size_t from) {
  if (text.size() != pattern.size())
    return false;
  constexpr auto zone = pattern.find('+');
  for (std::size_t i = from; i < zone; ++i) {
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

void put_digits(std::string& text, std::size_t at, std::size_t size, std::integral auto n) {
  for (auto i = at + size; i-- > at; n /= 10)
    text[i] = static_cast<char>('0' + n % 10);
}

// The last second of a thread, since times mostly come close together.
struct known_second {
  std::array<char, point> text{}; // up to the point
  std::int64_t seconds = 0;

  std::string_view view() const { return {text.data(), text.size()}; }
  bool is_there() const { return text[0] != '\0'; }
};
thread_local known_second last{};

void note_second(std::string_view text, std::int64_t seconds) {
  text.copy(last.text.data(), point);
  last.seconds = seconds;
}

std::optional<std::int64_t> seconds_of(std::string_view text) {
  using namespace std::chrono;
  year_month_day date{year{digits(text, 0, 4)}, month(digits(text, 5, 2)), day(digits(text, 8, 2))};
  hours hour{digits(text, 11, 2)};
  minutes minute{digits(text, 14, 2)};
  seconds second{digits(text, 17, 2)};
  if (!date.ok() || hour >= days{1} || minute >= hours{1} || second >= minutes{1})
    return std::nullopt; // for example the 31st of June, or a leap second
  return (sys_days{date} + hour + minute + second).time_since_epoch() / seconds{1};
}

std::string text_of(std::int64_t since_1970) {
  using namespace std::chrono;
  sys_seconds at{seconds{since_1970}};
  auto date_at = floor<days>(at);
  year_month_day date{date_at};
  hh_mm_ss time{at - date_at};
  std::string text{pattern.substr(0, point)};
  put_digits(text, 0, 4, static_cast<int>(date.year()));
  put_digits(text, 5, 2, static_cast<unsigned>(date.month()));
  put_digits(text, 8, 2, static_cast<unsigned>(date.day()));
  put_digits(text, 11, 2, time.hours().count());
  put_digits(text, 14, 2, time.minutes().count());
  put_digits(text, 17, 2, time.seconds().count());
  return text;
}

} // namespace

std::optional<std::int64_t> timestamp_micros(std::string_view text) {
  bool is_known = last.is_there() && text.starts_with(last.view());
  if (!has_pattern(text, is_known ? point : 0))
    return std::nullopt;
  if (!is_known) {
    auto read = seconds_of(text);
    if (!read)
      return std::nullopt;
    note_second(text, *read);
  }
  return last.seconds * micros_a_second + digits(text, point, 6);
}

// `out`: a text of the pattern's size.
static void put_time(std::int64_t micros, std::string& out) {
  auto rest = micros % micros_a_second;
  rest += rest < 0 ? micros_a_second : 0;
  auto seconds = (micros - rest) / micros_a_second;
  if (!last.is_there() || last.seconds != seconds)
    note_second(text_of(seconds), seconds);
  last.view().copy(out.data(), point);
  put_digits(out, point, 6, static_cast<std::uint32_t>(rest)); // divided faster
}

std::string timestamp_text(std::int64_t micros) {
  std::string out{pattern};
  put_time(micros, out);
  return out;
}

void timestamp_text(std::int64_t micros, std::string& out) {
  out.assign(pattern);
  put_time(micros, out);
}

} // namespace troupe
