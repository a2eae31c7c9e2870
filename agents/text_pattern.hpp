// Patterns of texts and paths that others write: the time they take is bounded, whatever they say.
#pragma once

#include <troupe/error.hpp>

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// A regular expression without back references, looked for by a set of places in it at once.
/// Shape:  . [a-z] [^a-z] () (?:) | * + ? {n} {n,} {n,m} ^ $ \d \D \w \W \s \S \b \B, \t \n \r, a
///         backslash before what is no letter or digit, and (?i) at the beginning. Texts are UTF-8,
///         members of a class ASCII.
/// Cost:   of a search: the length of the text times that of the pattern.
class text_pattern {
public:
  /// Errors: invalid_value that says what is wrong, also for a pattern that is too large
  ///         (limits::search_pattern_bytes_max, or repeated too often).
  static result<text_pattern> expression(std::string_view pattern);
  /// Of a path: `*` and `?` are no `/`, `**/` is any folders, {a,b} either.
  static result<text_pattern> glob(std::string_view pattern);

  /// Whether it fits some part of the text, or the whole of it.
  bool found_in(std::string_view text) const { return run(text, false); }
  bool fits(std::string_view text) const { return run(text, true); }

  enum class kind : std::uint8_t { byte, fork, jump, begin, end, word_edge, no_word_edge, match };
  using byte_set = std::bitset<256>;
  /// `to` of a jump and a fork, whose other way is `other`.
  struct instruction {
    kind what = kind::match;
    std::uint32_t to = 0;
    std::uint32_t other = 0;
    byte_set bytes = {};
  };

private:
  explicit text_pattern(std::vector<instruction> program);
  bool run(std::string_view text, bool whole) const;

  std::vector<instruction> program_;
  byte_set first_;              // bytes a fitting part can begin with
  bool begins_anywhere_ = true; // or with none of them
};

} // namespace troupe
