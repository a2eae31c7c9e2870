// JSON documents: values to and from nlohmann::json. Not part of troupe.hpp.
#pragma once

#include <troupe/value.hpp>

#include <nlohmann/json.hpp>

namespace troupe {

/// The output of to_json as a document: kinds that JSON lacks are `$` objects.
/// Errors: throws error{invalid_value} when deeper than limits::value_depth_max.
/// Source: troupe.
nlohmann::json to_nlohmann(const value& v);

/// The value of a document, by the rules of from_json; its binary becomes bytes.
/// Units:  at most limits::value_depth_max levels.
/// Errors: invalid_value when deeper, or for a discarded document.
/// Source: troupe.
result<value> from_nlohmann(const nlohmann::json& document);

} // namespace troupe
