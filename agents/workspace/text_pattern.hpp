// Patterns of texts and paths that others write: the time they take is bounded, whatever they say.
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
  /// Errors: invalid_value that says what is wrong, also for a pattern that is too large
  ///         (limits::search_pattern_bytes_max, or search_pattern_memory_max of what is made of
  ///         it).
  static result<text_pattern> expression(std::string_view pattern);
  /// Of a path: `*` and `?` are no `/`, `**/` is any folders, {a,b} either.
  static result<text_pattern> glob(std::string_view pattern);

  /// Whether it fits some part of the text, or the whole of it.
  bool found_in(std::string_view text) const;
  bool fits(std::string_view text) const;

private:
  explicit text_pattern(std::shared_ptr<const re2::RE2> made) : made_{std::move(made)} {}
  static result<text_pattern> made_of(std::string_view expression);

  std::shared_ptr<const re2::RE2> made_;
};

/// A glob as a regular expression for a whole path.
std::string expression_of_glob(std::string_view glob);

} // namespace troupe
