// The conversions of times: ISO 8601 text of lengths, moments and days.
#include <troupe/value_time.hpp>

#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>

namespace troupe::detail {
namespace {

constexpr std::int64_t nanos_per_second = 1'000'000'000;
constexpr std::int64_t seconds_per_day = 86'400;
constexpr int fraction_digits_max = 9;

error unreadable(std::string_view what, std::string_view wanted, const value& v) {
  std::string text = "read a ";
  text.append(what).append(": wanted ").append(wanted).append(": it is ");
  return {errc::invalid_value,
          text.append(v.is_string() ? to_json(v) : std::string{to_string(v.kind())})};
}

error out_of_range(std::string_view what) {
  return {errc::invalid_value, std::string{what} + " a time: out of range"};
}

// Reads a text from its front.
class time_reader {
public:
  explicit time_reader(std::string_view text) : rest_{text} {}

  bool at_end() const { return rest_.empty(); }
  bool skip(char c) {
    if (!rest_.starts_with(c))
      return false;
    rest_.remove_prefix(1);
    return true;
  }
  // A number of exactly `size` digits.
  std::optional<int> fixed(std::size_t size) {
    if (digits() < size)
      return std::nullopt;
    return static_cast<int>(take(size));
  }
  // A number of any size that fits.
  std::optional<std::uint64_t> number() {
    auto size = digits();
    if (size == 0 || size > 19) // 19 digits always fit
      return std::nullopt;
    return take(size);
  }
  // A fraction of a second, after its point.
  std::optional<std::int64_t> fraction() {
    auto size = digits();
    if (size == 0 || size > fraction_digits_max)
      return std::nullopt;
    auto nanos = static_cast<std::int64_t>(take(size));
    for (auto i = size; i < fraction_digits_max; ++i)
      nanos *= 10;
    return nanos;
  }

private:
  std::size_t digits() const {
    auto end = rest_.find_first_not_of("0123456789");
    return end == rest_.npos ? rest_.size() : end;
  }
  std::uint64_t take(std::size_t size) {
    std::uint64_t n = 0;
    for (auto c : rest_.substr(0, size))
      n = n * 10 + static_cast<std::uint64_t>(c - '0');
    rest_.remove_prefix(size);
    return n;
  }

  std::string_view rest_;
};

std::string padded(std::int64_t n, std::size_t size) {
  auto text = std::to_string(n);
  return std::string(size - std::min(size, text.size()), '0') + text;
}

// ---- lengths --------------------------------------------------------------------------------

// A length without its sign.
struct magnitude {
  std::uint64_t seconds = 0;
  std::int64_t nanos = 0;
};

// Adds `n` units. Result: whether the sum fits.
bool add(magnitude& to, std::uint64_t n, std::uint64_t unit_seconds) {
  std::uint64_t seconds = 0;
  return !__builtin_mul_overflow(n, unit_seconds, &seconds)
         && !__builtin_add_overflow(to.seconds, seconds, &to.seconds);
}

struct length_unit {
  char letter;
  std::uint64_t seconds;
};

// Reads numbers with these letters, in this order. Result: how many, nullopt for a wrong text.
std::optional<int> read_units(time_reader& in, std::span<const length_unit> units, bool fractions,
                              char until, magnitude& to) {
  int count = 0;
  std::size_t next = 0;
  while (!in.at_end()) {
    if (until != '\0' && in.skip(until))
      return -count - 1; // the rest is up to the caller
    auto n = in.number();
    if (!n)
      return std::nullopt;
    bool fraction = fractions && in.skip('.');
    if (fraction) {
      auto nanos = in.fraction();
      if (!nanos)
        return std::nullopt;
      to.nanos = *nanos;
    }
    while (next < units.size() && !in.skip(units[next].letter))
      ++next;
    if (next == units.size() || !add(to, *n, units[next].seconds)
        || (fraction && units[next].letter != 'S'))
      return std::nullopt;
    ++next;
    ++count;
  }
  return count;
}

std::optional<magnitude> read_magnitude(time_reader in) {
  constexpr std::array week{length_unit{'W', 7 * seconds_per_day}};
  constexpr std::array days{length_unit{'D', seconds_per_day}};
  constexpr std::array times{length_unit{'H', 3600}, length_unit{'M', 60}, length_unit{'S', 1}};
  magnitude out;
  auto alone = in;
  if (read_units(alone, week, false, '\0', out) == 1)
    return out;
  out = {};
  auto dates = read_units(in, days, false, 'T', out);
  if (!dates)
    return std::nullopt;
  if (*dates >= 0) // without a T
    return *dates > 0 ? std::optional{out} : std::nullopt;
  auto clock = read_units(in, times, true, '\0', out);
  return clock && *clock > 0 ? std::optional{out} : std::nullopt;
}

// The length with its sign; nullopt when it does not fit.
std::optional<exact_time> signed_length(const magnitude& m, bool negative) {
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (!negative)
    return m.seconds <= most
             ? std::optional{exact_time{static_cast<std::int64_t>(m.seconds), m.nanos}}
             : std::nullopt;
  auto up = m.nanos == 0 ? m.seconds : m.seconds + 1; // rounded down, below zero
  if (m.seconds > most || up > most + 1)
    return up == most + 1 && m.nanos == 0
             ? std::optional{exact_time{std::numeric_limits<std::int64_t>::min(), 0}}
             : std::nullopt;
  return exact_time{-static_cast<std::int64_t>(up - 1) - 1,
                    m.nanos == 0 ? 0 : nanos_per_second - m.nanos};
}

magnitude magnitude_of(exact_time t) {
  if (t.seconds >= 0)
    return {static_cast<std::uint64_t>(t.seconds), t.nanos};
  auto up = static_cast<std::uint64_t>(-(t.seconds + 1)) + 1;
  return t.nanos == 0 ? magnitude{up, 0} : magnitude{up - 1, nanos_per_second - t.nanos};
}

std::string fraction_text(std::int64_t nanos) {
  if (nanos == 0)
    return {};
  auto digits = padded(nanos, fraction_digits_max);
  return "." + digits.substr(0, digits.find_last_not_of('0') + 1);
}

// ---- moments --------------------------------------------------------------------------------

constexpr std::string_view moment_form = "a time as 2026-02-28T23:59:59.5Z";
constexpr std::string_view date_form = "a day as 2026-02-28";

std::optional<std::int64_t> read_day(time_reader& in) {
  using namespace std::chrono;
  auto y = in.fixed(4);
  bool first = in.skip('-');
  auto m = in.fixed(2);
  bool second = in.skip('-');
  auto d = in.fixed(2);
  if (!y || !m || !d || !first || !second)
    return std::nullopt;
  year_month_day date{year{*y}, month(static_cast<unsigned>(*m)), day(static_cast<unsigned>(*d))};
  if (!date.ok())
    return std::nullopt;
  return sys_days{date}.time_since_epoch().count();
}

// Hours and minutes, in seconds.
std::optional<std::int64_t> read_minutes(time_reader& in) {
  auto h = in.fixed(2);
  bool colon = in.skip(':');
  auto m = in.fixed(2);
  if (!h || !m || !colon || *h > 23 || *m > 59)
    return std::nullopt;
  return *h * 3600 + *m * 60;
}

// The distance of a zone from UTC, in seconds.
std::optional<std::int64_t> read_zone(time_reader& in) {
  if (in.skip('Z'))
    return 0;
  if (in.skip('+'))
    return read_minutes(in);
  if (!in.skip('-'))
    return std::nullopt;
  auto west = read_minutes(in);
  return west ? std::optional{-*west} : std::nullopt;
}

std::optional<exact_time> read_moment_text(std::string_view text) {
  time_reader in{text};
  auto day = read_day(in);
  if (!day || !in.skip('T'))
    return std::nullopt;
  auto minutes = read_minutes(in);
  bool colon = in.skip(':');
  auto seconds = in.fixed(2);
  auto nanos = in.skip('.') ? in.fraction() : std::optional<std::int64_t>{0};
  auto zone = read_zone(in);
  if (!minutes || !colon || !seconds || *seconds > 59 || !nanos || !zone || !in.at_end())
    return std::nullopt;
  return exact_time{*day * seconds_per_day + *minutes + *seconds - *zone, *nanos};
}

std::int64_t floor_of(std::int64_t a, std::int64_t b) {
  return a / b - (a % b < 0 ? 1 : 0);
}

} // namespace

// ---- counts ---------------------------------------------------------------------------------

result<exact_time> exact_of(std::int64_t count, std::int64_t num, std::int64_t den) {
  if (den == 1) {
    exact_time out;
    if (__builtin_mul_overflow(count, num, &out.seconds))
      return out_of_range("store");
    return out;
  }
  auto seconds = floor_of(count, den);
  auto rest = count % den < 0 ? count % den + den : count % den;
  return exact_time{seconds, rest * (nanos_per_second / den)};
}

result<std::int64_t> count_of(exact_time t, std::int64_t num, std::int64_t den) {
  auto nanos_per_unit = den == 1 ? nanos_per_second : nanos_per_second / den;
  if (t.nanos % nanos_per_unit != 0 || t.seconds % num != 0)
    return error{errc::invalid_value, "read a time: it is not a whole number of the type's units"};
  if (den == 1)
    return t.seconds / num;
  // Below zero, towards the number: the rounded one may not fit.
  std::int64_t below = t.seconds < 0 ? 1 : 0;
  std::int64_t out = 0;
  if (__builtin_mul_overflow(t.seconds + below, den, &out)
      || __builtin_add_overflow(out, t.nanos / nanos_per_unit - below * den, &out))
    return out_of_range("read");
  return out;
}

result<exact_time> exact_of(double seconds) {
  constexpr double most = 9e18;
  if (!(std::abs(seconds) < most))
    return out_of_range("store");
  auto whole = std::floor(seconds);
  auto nanos = std::llround((seconds - whole) * 1e9);
  return exact_time{static_cast<std::int64_t>(whole) + nanos / nanos_per_second,
                    nanos % nanos_per_second};
}

// ---- texts ----------------------------------------------------------------------------------

std::string duration_text(exact_time length) {
  auto m = magnitude_of(length);
  auto days = m.seconds / seconds_per_day;
  auto rest = m.seconds % seconds_per_day;
  std::string out = length.seconds < 0 ? "-P" : "P";
  auto put = [&out](std::uint64_t n, char unit) {
    if (n != 0)
      out.append(std::to_string(n)).push_back(unit);
  };
  put(days, 'D');
  if (rest == 0 && m.nanos == 0)
    return days != 0 ? out : "PT0S";
  out += 'T';
  put(rest / 3600, 'H');
  put(rest / 60 % 60, 'M');
  if (rest % 60 != 0 || m.nanos != 0)
    out.append(std::to_string(rest % 60)).append(fraction_text(m.nanos)).push_back('S');
  return out;
}

result<exact_time> read_duration(const value& v) {
  if (v.is_string()) {
    auto text = v.as_string();
    time_reader in{text};
    bool negative = in.skip('-');
    if (in.skip('P'))
      if (auto size = read_magnitude(in))
        if (auto length = signed_length(*size, negative))
          return *length;
  }
  return unreadable("duration", "an ISO 8601 duration as P1DT2H3M4.5S", v);
}

result<std::string> date_text(std::int64_t days) {
  using namespace std::chrono;
  constexpr std::int64_t first = -719'528, last = 2'932'896; // years 0000 and 9999
  if (days < first || days > last)
    return error{errc::invalid_value, "store a time: the year is not one of 0000 to 9999"};
  year_month_day date{sys_days{std::chrono::days{static_cast<std::chrono::days::rep>(days)}}};
  return padded(static_cast<int>(date.year()), 4) + "-"
         + padded(static_cast<unsigned>(date.month()), 2) + "-"
         + padded(static_cast<unsigned>(date.day()), 2);
}

result<std::int64_t> read_date(const value& v) {
  if (v.is_string()) {
    auto text = v.as_string();
    time_reader in{text};
    if (auto day = read_day(in); day && in.at_end())
      return *day;
  }
  return unreadable("day", date_form, v);
}

result<std::string> moment_text(exact_time moment) {
  auto days = floor_of(moment.seconds, seconds_per_day);
  auto date = date_text(days);
  if (!date)
    return date;
  auto rest = moment.seconds - days * seconds_per_day;
  auto out = *date + "T" + padded(rest / 3600, 2) + ":" + padded(rest / 60 % 60, 2) + ":"
             + padded(rest % 60, 2);
  if (moment.nanos != 0) {
    auto digits = padded(moment.nanos, fraction_digits_max);
    auto used = digits.find_last_not_of('0') + 1;
    out += "." + digits.substr(0, (used + 2) / 3 * 3); // 3, 6 or 9
  }
  return out + "Z";
}

result<exact_time> read_moment(const value& v) {
  if (v.is(value_kind::timestamp))
    return exact_of(v.payload().as_int(), 1, 1'000'000);
  if (v.is_string())
    if (auto moment = read_moment_text(v.as_string()))
      return *moment;
  return unreadable("time", moment_form, v);
}

} // namespace troupe::detail
