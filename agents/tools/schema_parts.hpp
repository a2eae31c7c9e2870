// schema_parts: shared by the readers of JSON Schemas: schema_check.cpp, which checks values, and
// gbnf_schema.cpp, which makes grammars.
#pragma once

#include <troupe/value.hpp>

#include <string_view>

namespace troupe {

/// "#/$defs/x": a part of the whole schema `root`; null when it does not exist.
const value& referred_schema(const value& root, std::string_view ref) noexcept;

/// Whether `v` fits `part`, whose references point into `root`.
bool fits_schema(const value& root, const value& part, const value& v);

} // namespace troupe
