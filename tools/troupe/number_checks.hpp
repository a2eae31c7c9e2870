// number_checks: checks of the numbers that flags take.
#pragma once

#include "tools/troupe/terminal.hpp"

#include <string>

namespace troupe::cli {

/// Checks the text of a count for CLI11, whose own check shows bounds of 300 digits.
/// Shape:  empty for 1 to 999999999; else what is wrong with the text.
inline std::string positive_number(const std::string& text) {
  bool digits = !text.empty() && text.size() <= 9
                && text.find_first_not_of("0123456789") == std::string::npos;
  return digits && text.find_first_not_of('0') != std::string::npos
           ? ""
           : "a number from 1 to 999999999 is expected: " + one_line(text);
}

} // namespace troupe::cli
