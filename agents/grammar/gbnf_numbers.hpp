// gbnf_numbers: whole numbers within bounds, digit by digit. Pure.
#pragma once

#include <cstdint>
#include <string>

namespace troupe::gbnf {

/// Units:  at most 18 digits, so that every number is an int64.
inline constexpr std::int64_t whole_number_max = 999'999'999'999'999'999;
struct whole_numbers {
  std::int64_t least = -whole_number_max;
  std::int64_t most = whole_number_max;
  friend bool operator==(const whole_numbers&, const whole_numbers&) = default;
};

/// The text of a grammar for these numbers, without leading zeros; empty when the range is empty.
std::string between(const whole_numbers& range);

} // namespace troupe::gbnf
