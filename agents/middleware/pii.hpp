// pii: personal data in texts: where it stands, and what replaces it.
#pragma once

#include <troupe/agents/middleware.hpp>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe {

/// Places [begin, end) in a text, in order, without overlap.
using pii_places = std::vector<std::pair<std::size_t, std::size_t>>;
using pii_finder = std::function<pii_places(std::string_view)>;

/// The rule of a type. Errors: throws error{invalid_config} for a type without one.
pii_finder pii_finder_of(const std::string& type);

/// A type of personal data, how it is found, and how it is hidden. Pure.
struct pii_guard {
  std::string type;
  pii_options options;
  pii_finder find;

  /// The replacement of a found text.
  std::string hidden(std::string_view found) const;
  /// The text with all found places hidden; nullopt when nothing was found.
  /// Errors: throws node_error of class PIIDetectionError when the data is to be blocked.
  std::optional<std::string> clean(std::string_view text) const;
  /// The same for a message: its text, and the texts in its blocks.
  std::optional<value> clean_message(const value& message) const;
};

} // namespace troupe
