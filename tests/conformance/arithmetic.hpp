// The operators of a case on values.
#pragma once

#include <troupe/value.hpp>

namespace troupe::conformance {

/// Equality of JSON values: 1 equals 1.0, true does not equal 1.
bool same(const value& a, const value& b);
/// Order of two numbers or two strings.
bool less(const value& a, const value& b);

value add(const value& a, const value& b); ///< + for numbers, strings and lists
value subtract(const value& a, const value& b);
value multiply_numbers(const value& a, const value& b);
/// Shape:  has the sign of `b`.
value modulo(const value& a, const value& b);

/// Characters of a string, elements of a list, members of a map; null: 0.
/// Units:  characters are code points.
std::int64_t length(const value& v);
/// The element or member, null if it is missing. Shape: a negative index counts from the end; a
/// message has the members that a transcript shows.
value at(const value& container, const value& key);

} // namespace troupe::conformance
