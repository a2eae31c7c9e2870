// store_filter: the filters of a store's search, which of them are allowed, and which values fit.
//
// A filter is a map from members to conditions. A condition with a key that begins with `$` is a
// set of operators. Any other map asks the same of the member's own members. A list asks for a list
// of the same length, element by element. Every other condition must be equal. A missing member is
// null.
#pragma once

#include <troupe/value.hpp>

namespace troupe {

/// Whether a search can use the filter; null is an empty one.
/// Errors: invalid_value for
///         - a filter that is not a map, or deeper than limits::value_depth_max
///         - an unknown operator (class ValueError)
///         - an order against a value that is not a number (the class that float() of it raises)
result<void> check_filter(const value& filter);

/// Whether a stored value fits a filter that was checked.
/// Numbers are equal across kinds (1 and 1.0). $gt, $gte, $lt and $lte compare as numbers whatever
/// float() accepts: numbers, booleans, texts of a number. Any other member does not fit.
/// Source: langgraph/store/memory, _compare_values and _apply_operator. There a member that is not
///         a number fails the search, and true equals 1.
bool fits_filter(const value& stored, const value& filter);

} // namespace troupe
