// The schema check: whether a value fits a JSON Schema, in the part that tools and structured
// answers use.
#pragma once

#include <troupe/value.hpp>

#include <string>
#include <vector>

namespace troupe {

/// A place where a value does not fit, with the reason.
/// Shape:  `path` names members and places from the outermost inwards, with dots: "filter.tags.0";
///         empty for the value itself.
/// Errors: none.
/// Source: JSON Schema 2020-12; the texts are Pydantic's.
struct schema_violation {
  std::string path;
  std::string message;
};

/// The violations of `schema` by `v`, in the order of the schema's members; empty when it fits.
/// Shape:  known keywords: type, enum, const, properties, required, additionalProperties, items,
///         prefixItems, minItems, maxItems, uniqueItems, minLength, maxLength, minimum, maximum,
///         exclusiveMinimum, exclusiveMaximum, multipleOf, anyOf, oneOf, allOf, not, $ref to a part
///         of the same schema. An integer may be written 1.0. Lengths are characters.
/// Errors: none; a malformed schema allows everything. A value that needs more than
///         limits::schema_check_steps_max visits of schema parts does not fit: choices that refer
///         to themselves would take forever.
/// Source: JSON Schema 2020-12; the texts are Pydantic's.
std::vector<schema_violation> check_schema(const value& schema, const value& v);

/// Requires that check_schema knows all of `schema`. Every keyword that check_schema ignores is an
/// error, except descriptive ones (title, description, default, examples, format, $schema, $id,
/// $defs …).
/// Errors: invalid_graph that names the keyword and its place.
/// Source: troupe.
result<void> require_known_schema(const value& schema);

} // namespace troupe
