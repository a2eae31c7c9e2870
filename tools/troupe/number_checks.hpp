// number_checks: checks of the numbers that flags take.
#pragma once

#include "tools/troupe/terminal.hpp"

#include <charconv>
#include <string>
#include <system_error>

namespace troupe::cli {

inline constexpr int days_max = 36'500; // a hundred years

/// Checks the text of a count for CLI11, whose own check shows bounds of 300 digits.
/// Shape:  empty for 1 to 999999999; else what is wrong with the text.
inline std::string positive_number(const std::string& text) {
  bool digits = !text.empty() && text.size() <= 9
                && text.find_first_not_of("0123456789") == std::string::npos;
  return digits && text.find_first_not_of('0') != std::string::npos
           ? ""
           : "a number from 1 to 999999999 is expected: " + one_line(text);
}

/// As that, for a time in days, which may have a fraction.
/// Shape:  empty for 0 to days_max.
inline std::string number_of_days(const std::string& text) {
  double days = -1;
  auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), days);
  bool fits = failed == std::errc{} && end == text.data() + text.size() && days >= 0
              && days <= days_max;
  return fits ? ""
              : "a number of days from 0 to " + std::to_string(days_max)
                  + " is expected: " + one_line(text);
}

} // namespace troupe::cli
