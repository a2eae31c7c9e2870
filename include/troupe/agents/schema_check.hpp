// Which values fit a JSON Schema: the part of it that tools and structured answers are made of.
#pragma once

#include <troupe/value.hpp>

#include <string>
#include <vector>

namespace troupe {

/// Where a value does not fit, and why.
/// Shape:  `path` names members and places from the outside in, with dots: "filter.tags.0"; empty
///         for the value itself.
struct schema_violation {
  std::string path;
  std::string message;
};

/// What of `v` does not fit `schema`, in the order of the schema's members; nothing when it fits.
/// Shape:  known keywords: type, enum, const, properties, required, additionalProperties, items,
///         prefixItems, minItems, maxItems, uniqueItems, minLength, maxLength, minimum, maximum,
///         exclusiveMinimum, exclusiveMaximum, multipleOf, anyOf, oneOf, allOf, not, $ref to a part
///         of the same schema. An integer may be written 1.0. Lengths are characters.
/// Errors: none; what is no schema says nothing. A value that takes more than
///         limits::schema_check_steps_max looks at a part of the schema does not fit: choices that
///         refer to themselves would take forever.
/// Source: JSON Schema 2020-12; the texts are Pydantic's.
std::vector<schema_violation> check_schema(const value& schema, const value& v);

/// Whether check_schema knows all of `schema`: a keyword that it would pass over is an error,
/// unless it only describes (title, description, default, examples, format, $schema, $id, $defs …).
/// Errors: invalid_graph that names the keyword and where it stands.
/// Source: troupe.
result<void> require_known_schema(const value& schema);

} // namespace troupe
