// The conversions of std::chrono's durations and time points: ISO 8601 text.
#pragma once

#include <troupe/json_schema.hpp>
#include <troupe/value.hpp>

#include <chrono>
#include <cstdint>
#include <ratio>
#include <string>
#include <type_traits>
#include <utility>

namespace troupe {

namespace detail {

/// A length, or a moment since 1970-01-01 UTC.
/// Units:  `seconds` rounded down; `nanos` from 0 to 999'999'999 on top.
struct exact_time {
  std::int64_t seconds = 0;
  std::int64_t nanos = 0;
};

/// `count` units of num/den seconds, and back. One of num and den is 1; den divides 10^9.
/// Errors: invalid_value when it is out of range, or finer than the unit.
result<exact_time> exact_of(std::int64_t count, std::int64_t num, std::int64_t den);
result<std::int64_t> count_of(exact_time t, std::int64_t num, std::int64_t den);
result<exact_time> exact_of(double seconds);

std::string duration_text(exact_time length);
result<exact_time> read_duration(const value& v);
result<std::string> moment_text(exact_time moment);
result<exact_time> read_moment(const value& v);
result<std::string> date_text(std::int64_t days);
result<std::int64_t> read_date(const value& v);

// Counts of a type are converted in int64, and checked against the type's range.
template <class Rep> result<Rep> narrow_count(result<std::int64_t> count) {
  if (!count)
    return count.error();
  if (!std::in_range<Rep>(*count))
    return error{errc::invalid_value, "read a time: out of the type's range"};
  return static_cast<Rep>(*count);
}

template <class Rep, class Period>
result<exact_time> exact_of(std::chrono::duration<Rep, Period> d) {
  if constexpr (std::is_floating_point_v<Rep>) {
    return exact_of(static_cast<double>(d.count()) * Period::num / Period::den);
  } else {
    static_assert(Period::num == 1 || Period::den == 1, "a unit of n or 1/n seconds");
    static_assert(std::nano::den % Period::den == 0, "a unit that is a number of nanoseconds");
    if (!std::in_range<std::int64_t>(d.count()))
      return error{errc::invalid_value, "store a time: out of range"};
    return exact_of(static_cast<std::int64_t>(d.count()), Period::num, Period::den);
  }
}

template <class D> result<D> duration_of(result<exact_time> t) {
  using rep = typename D::rep;
  using period = typename D::period;
  if (!t)
    return t.error();
  if constexpr (std::is_floating_point_v<rep>) {
    auto seconds = static_cast<double>(t->seconds) + static_cast<double>(t->nanos) / 1e9;
    return D{static_cast<rep>(seconds * period::den / period::num)};
  } else {
    auto count = narrow_count<rep>(count_of(*t, period::num, period::den));
    if (!count)
      return count.error();
    return D{*count};
  }
}

} // namespace detail

/// A duration, as ISO 8601 text: "PT1.5S", "P1DT2H", "-PT0.000000001S"; "PT0S" for none.
/// Shape:  read is [-]PnW or [-]P[nD][T[nH][nM][n[.n]S]], with at least one number. Years and
///         months are refused, because their lengths differ.
/// Units:  nanoseconds at the finest; a count that is a floating-point number is rounded to them.
/// Errors: throws error{invalid_value} for any other text, and for a length that is out of range or
///         not a whole number of the type's units.
/// Source: pydantic's of datetime.timedelta.
template <class Rep, class Period> struct value_traits<std::chrono::duration<Rep, Period>> {
  using type = std::chrono::duration<Rep, Period>;
  static value to(type d) { return detail::duration_text(detail::exact_of(d).value()); }
  static type from(const value& v) {
    return detail::duration_of<type>(detail::read_duration(v)).value();
  }
  static bool fits(const value& v) {
    return detail::duration_of<type>(detail::read_duration(v)).has_value();
  }
};

/// A time point of the system's clock, as ISO 8601 text in UTC: "2026-02-28T23:59:59.500Z". The
/// text is written with 0, 3, 6 or 9 digits of a second.
/// Shape:  read is YYYY-MM-DDThh:mm:ss[.fraction] and a zone, Z or ±hh:mm. A time without a zone is
///         refused. A value of kind timestamp is read, too.
/// Units:  nanoseconds at the finest; years 0000 to 9999, and the range of the type.
/// Errors: throws error{invalid_value} for any other text, for a day that does not exist, and for a
///         time that is out of range or finer than the type's unit.
/// Source: pydantic's of datetime.datetime; RFC 3339.
template <class D> struct value_traits<std::chrono::time_point<std::chrono::system_clock, D>> {
  using type = std::chrono::time_point<std::chrono::system_clock, D>;
  static value to(type t) {
    return detail::moment_text(detail::exact_of(t.time_since_epoch()).value()).value();
  }
  static type from(const value& v) {
    return type{detail::duration_of<D>(detail::read_moment(v)).value()};
  }
  static bool fits(const value& v) {
    return detail::duration_of<D>(detail::read_moment(v)).has_value();
  }
};

/// A day, as ISO 8601 text: "2026-02-28".
/// Units:  years 0000 to 9999.
/// Errors: throws error{invalid_value} for any other text, and for a day that does not exist.
/// Source: pydantic's of datetime.date.
template <> struct value_traits<std::chrono::sys_days> {
  static value to(std::chrono::sys_days day) {
    return detail::date_text(day.time_since_epoch().count()).value();
  }
  static std::chrono::sys_days from(const value& v) { return read(v).value(); }
  static bool fits(const value& v) { return read(v).has_value(); }

private:
  static result<std::chrono::sys_days> read(const value& v) {
    auto days = detail::narrow_count<std::chrono::days::rep>(detail::read_date(v));
    if (!days)
      return days.error();
    return std::chrono::sys_days{std::chrono::days{*days}};
  }
};

template <class Rep, class Period> struct json_schema_traits<std::chrono::duration<Rep, Period>> {
  static value make() { return {{"type", "string"}, {"format", "duration"}}; }
};
template <class D>
struct json_schema_traits<std::chrono::time_point<std::chrono::system_clock, D>> {
  static value make() { return {{"type", "string"}, {"format", "date-time"}}; }
};
template <> struct json_schema_traits<std::chrono::sys_days> {
  static value make() { return {{"type", "string"}, {"format", "date"}}; }
};

} // namespace troupe
