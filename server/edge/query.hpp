// query: the parameters of a request's target. Pure.
#pragma once

#include <troupe/value.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe::server {

/// The parameters of a query, decoded, in order; a name may repeat.
/// Errors: read members throw refusal{422} that names the parameter and its value.
class query_parameters {
public:
  query_parameters() = default;
  /// Shape:  the text after `?`, without it. A `+` is a blank. Text that does not decode is kept
  /// as it is.
  explicit query_parameters(std::string_view encoded);

  /// The last value of the name.
  std::optional<std::string> text(std::string_view name) const;
  /// true, 1, yes, on / false, 0, no, off in any case.
  bool flag(std::string_view name, bool otherwise) const;
  std::int64_t number(std::string_view name, std::int64_t otherwise, std::int64_t at_least,
                      std::int64_t at_most) const;
  /// A list in any of its forms: the name repeated, joined by commas, or a JSON list of texts.
  std::vector<std::string> list(std::string_view name) const;
  bool has(std::string_view name) const;
  /// All parameters as a map: a text each, or a list() of several.
  value members() const;

private:
  std::vector<std::pair<std::string, std::string>> all_;
};

/// Percent-decoding. nullopt when a `%` is not followed by two hex digits.
std::optional<std::string> percent_decoded(std::string_view text);

/// Whether the bytes are UTF-8: without overlong forms, surrogates and numbers beyond U+10FFFF.
bool is_utf8(std::string_view bytes) noexcept;

} // namespace troupe::server
