// Filters of a store's search: which are allowed, and what fits them.
//
// A filter is a map from members to conditions. A condition with a key that begins with `$` is a
// set of operators; any other map asks the same of the member's own members, a list asks for one
// of the same length, element by element; everything else must be equal. A missing member is null.
#pragma once

#include <troupe/value.hpp>

namespace troupe {

/// Whether a search can use the filter; null is an empty one.
/// Errors: invalid_value: no map, deeper than limits::value_depth_max, an unknown operator (class
///         ValueError), an order asked against what is no number (class as float() of it raises).
result<void> check_filter(const value& filter);

/// Whether a stored value fits a filter that was checked.
/// Numbers are equal across kinds (1 and 1.0). $gt, $gte, $lt and $lte compare as numbers what
/// float() takes: numbers, booleans, texts of a number; any other member does not fit.
/// Source: langgraph/store/memory, _compare_values and _apply_operator; there a member that is no
///         number fails the search, and true equals 1.
bool fits_filter(const value& stored, const value& filter);

} // namespace troupe
