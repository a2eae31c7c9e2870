// query: a request's target, and the parameters in it. Pure.
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

/// A target in absolute form (`http://host:80/ok?x=1`), as clients send it to a proxy, in its
/// parts.
struct absolute_target {
  std::string host; ///< with its port; it counts instead of the header
  std::string path; ///< with its query; `/` when it is missing
};

/// Reads a target in absolute form; nullopt for one in another form.
/// Source: RFC 9112, 3.2.2.
std::optional<absolute_target> read_absolute(std::string_view target);

/// Percent-decoding. nullopt when a `%` is not followed by two hex digits.
std::optional<std::string> percent_decoded(std::string_view text);

/// Whether the bytes are UTF-8: without overlong forms, surrogates and numbers beyond U+10FFFF.
bool is_utf8(std::string_view bytes) noexcept;

} // namespace troupe::server
