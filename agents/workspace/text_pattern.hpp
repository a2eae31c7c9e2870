// text_pattern: patterns for texts and paths. Others write them, so their time is bounded for every
// pattern.
#pragma once

#include <troupe/error.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace re2 {
class RE2;
}

namespace troupe {

/// A regular expression of RE2's syntax, which has no back references.
/// Cost: of a search: the length of the text.
class text_pattern {
public:
  /// Errors: invalid_value with the mistake, also for a pattern above
  ///         limits::search_pattern_bytes_max, or whose compiled form exceeds
  ///         search_pattern_memory_max.
  static result<text_pattern> expression(std::string_view pattern);
  /// A pattern of a path: `*` and `?` do not match `/`, `**/` matches any folders, {a,b} either
  /// text.
  static result<text_pattern> glob(std::string_view pattern);

  /// found_in(): whether it fits some part of the text. fits(): whether it fits the whole text.
  bool found_in(std::string_view text) const;
  bool fits(std::string_view text) const;

private:
  explicit text_pattern(std::shared_ptr<const re2::RE2> made) : made_{std::move(made)} {}
  static result<text_pattern> made_of(std::string_view expression);

  std::shared_ptr<const re2::RE2> made_;
};

/// The regular expression of a glob for a whole path.
std::string expression_of_glob(std::string_view glob);

} // namespace troupe
