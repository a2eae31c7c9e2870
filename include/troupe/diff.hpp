// The difference of two states of a thread.
#pragma once

#include <troupe/runtime.hpp>

#include <string>
#include <vector>

namespace troupe {

/// One difference between two values.
/// Shape:  `path`: a JSON pointer to the difference ("" the whole value). A list that only grew has
///         one change for each new element. `before` nullopt: the value is new; `after` nullopt: it
///         is gone.
/// Errors: none.
/// Source: troupe.
struct value_change {
  std::string path;
  std::optional<value> before;
  std::optional<value> after;
};

/// The differences, in the order of their paths; empty for equal values. Extensions compare whole.
/// Errors: none.
/// Source: troupe.
std::vector<value_change> diff_values(const value& before, const value& after);

/// The changes between two checkpoints of a thread.
/// Errors: none.
/// Source: troupe.
struct state_diff {
  std::vector<value_change> values;   ///< of the state channels
  std::vector<std::string> next_gone; ///< nodes that were to run next and now are not
  std::vector<std::string> next_new;
  std::int64_t steps = 0; ///< super-steps from the first to the second; negative: backwards
};
/// The changes from `before` to `after`.
/// Errors: none.
/// Source: troupe.
state_diff diff_states(const state_snapshot& before, const state_snapshot& after);

} // namespace troupe
