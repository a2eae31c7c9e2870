// From what a pattern says to what is run over a text.
//
// Invariants:
//  - no pattern makes a program of more than `instructions_max`, or is looked at more than
//    `steps_max` times while it is made.
#pragma once

#include "agents/text_pattern.hpp"

#include <string_view>
#include <vector>

namespace troupe {

/// A letter, a digit or `_`.
bool is_word_byte(unsigned char c) noexcept;

/// The program of a regular expression. Errors: as text_pattern::expression.
result<std::vector<text_pattern::instruction>> program_of(std::string_view pattern);

} // namespace troupe
