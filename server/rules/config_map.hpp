// config_map: an object of a configuration file, whose members are read by name and kind. Pure.
#pragma once

#include <troupe/error.hpp>
#include <troupe/value.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::server {

/// A map of which each member is known. A member that is null counts as absent.
/// Errors: every function throws error{invalid_config} that names the path of the member, as
///         `http.cors.max_age`.
class config_map {
public:
  /// Shape:  `path` of the map itself; empty for the whole file. `names`: the members it may have.
  /// Errors: not a map; an unknown member, with the nearest known name or a list of them.
  config_map(value given, std::string path, const std::vector<std::string_view>& names);

  bool has(std::string_view name) const noexcept { return !given_[name].is_null(); }
  const value& operator[](std::string_view name) const noexcept { return given_[name]; }
  std::string path_of(std::string_view name) const;

  /// The member as a map of its own; an empty one when absent.
  config_map map(std::string_view name, const std::vector<std::string_view>& names) const;
  std::optional<std::string> text(std::string_view name) const; ///< not empty
  std::optional<bool> flag(std::string_view name) const;
  std::optional<std::int64_t> whole(std::string_view name, std::int64_t at_least,
                                    std::int64_t at_most) const;
  /// Above 0, and at most this.
  std::optional<double> amount(std::string_view name, double at_most) const;
  std::optional<std::vector<std::string>> texts(std::string_view name) const;
  /// Members of a map of texts, in its order.
  std::vector<std::pair<std::string, std::string>> pairs(std::string_view name) const;

  /// The error for a member, as "http.cors.max_age: is not a whole number".
  error wrong(std::string_view name, std::string_view why) const;

private:
  const value given_;
  const std::string path_;
};

} // namespace troupe::server
