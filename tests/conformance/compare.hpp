// Where two transcripts differ.
#pragma once

#include "tests/conformance/documents.hpp"

#include <optional>
#include <string>

namespace troupe::conformance {

/// Shape:  nullopt: there is nothing at `pointer` in that transcript.
struct difference {
  std::string pointer;
  std::optional<answer_json> expected;
  std::optional<answer_json> got;

  /// "POINTER, expected JSON, got JSON".
  std::string text() const;
};

/// The first difference; members are compared in the order of their keys. Numbers are equal when
/// their values are.
std::optional<difference> first_difference(const answer_json& expected, const answer_json& got);

} // namespace troupe::conformance
