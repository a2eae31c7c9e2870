// value_bytes: how much memory a value keeps alive.
#pragma once

#include <troupe/value.hpp>

#include <cstddef>

namespace troupe {

/// The bytes of a value's nodes. It looks at no more than `looks` values, which it counts down; the
/// rest of a large value does not count. A part that the value has twice counts twice.
/// Units:  bytes, without what the allocator adds.
/// Errors: none.
/// Source: troupe.
std::size_t value_bytes(const value& v, std::size_t& looks);

} // namespace troupe
