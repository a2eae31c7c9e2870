// checked_body: the members of a request's body, each of its kind, or a refusal that names it.
// Pure.
#pragma once

#include <troupe/value.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe::server {

/// A body whose members are read one by one. A member that is null counts as absent; members that
/// nobody reads are ignored, since clients add some with every version.
/// Errors: each member throws refusal{422} that names the member, its value and what is allowed.
class checked_body {
public:
  /// Shape:  a map, or null for an empty one.
  explicit checked_body(value body);

  const value& operator[](std::string_view name) const noexcept { return body_[name]; }
  bool has(std::string_view name) const noexcept { return !body_[name].is_null(); }
  const value& whole() const noexcept { return body_; }

  std::optional<std::string> text(std::string_view name) const;
  std::string required_text(std::string_view name) const;
  /// An id that must be a UUID, in lower case. `what`: "thread".
  std::optional<std::string> id(std::string_view name, std::string_view what) const;
  /// An empty map when absent.
  value map(std::string_view name) const;
  bool flag(std::string_view name, bool otherwise) const;
  std::int64_t number(std::string_view name, std::int64_t otherwise, std::int64_t at_least,
                      std::int64_t at_most) const;
  std::optional<std::string> one_of(std::string_view name,
                                    std::span<const std::string_view> names) const;
  std::vector<std::string> texts(std::string_view name) const;
  /// As texts(), each one of `names`.
  std::vector<std::string> some_of(std::string_view name,
                                   std::span<const std::string_view> names) const;

private:
  value body_;
};

/// The text of a UUID in lower case, with dashes, in whatever form Python's uuid.UUID reads it.
/// Errors: throws refusal{422} "Invalid WHAT ID: must be a UUID".
std::string checked_id(std::string_view text, std::string_view what);

} // namespace troupe::server
