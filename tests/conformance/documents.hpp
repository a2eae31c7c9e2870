// The two kinds of JSON documents here.
#pragma once

#include <nlohmann/json.hpp>

namespace troupe::conformance {

/// JSON of a case: object members in the order of the file.
using script_json = nlohmann::ordered_json;

/// A member, or null.
inline const script_json& member(const script_json& object, const char* name) {
  static const script_json nothing;
  auto found = object.find(name);
  return found == object.end() ? nothing : *found;
}

/// JSON of a transcript: object members sorted by key, because labels are given in that order.
using answer_json = nlohmann::json;

} // namespace troupe::conformance
