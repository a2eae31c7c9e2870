// What readers of a JSON Schema have in common: schema_check.cpp, which checks, and
// gbnf_schema.cpp, which says beforehand.
#pragma once

#include <troupe/value.hpp>

#include <string_view>

namespace troupe {

/// "#/$defs/x": a part of the whole schema `root`; null where there is none.
const value& referred_schema(const value& root, std::string_view ref) noexcept;

/// Whether `v` fits `part`, whose references are into `root`.
bool fits_schema(const value& root, const value& part, const value& v);

} // namespace troupe
