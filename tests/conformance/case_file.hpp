// A case as it stands in its file.
#pragma once

#include "tests/conformance/documents.hpp"

#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>

namespace troupe::conformance {

/// All that answers are made from.
struct script {
  std::string name;
  script_json models; ///< an object, empty when the case has none
  script_json graphs;
  script_json calls;

  /// The JSON text of all of it.
  std::string text() const;
};

struct case_file {
  conformance::script script;
  std::optional<answer_json> expect;
};

/// A file that holds no case.
struct unreadable_case : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Errors: throws unreadable_case that names the file.
case_file read_case(const std::filesystem::path& path);

} // namespace troupe::conformance
