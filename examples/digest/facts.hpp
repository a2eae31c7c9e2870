// What a digest says about one file.
#pragma once

#include <troupe/state.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace digest {

inline constexpr std::size_t terms_per_file_max = 64; // terms a file contributes

/// Shape:  `problem` is empty, or says why the file could not be read; then the rest is empty.
///         `section` is the heading of the longest section, or its lines where there are no
///         headings. `terms`: the most frequent ones, in lower case, with how often they stand.
struct file_facts {
  std::string file;
  std::string problem;
  std::int64_t words = 0;
  std::int64_t headings = 0;
  std::string section;
  std::int64_t section_words = 0;
  std::map<std::string, std::int64_t> terms;
  TROUPE_STATE(file_facts, file, problem, words, headings, section, section_words, terms)
};

/// Everything of `text` but its name. Headings are Markdown's; other files have none, and their
/// sections are the blocks between empty lines.
/// Shape:  any bytes; what is no UTF-8 separates words.
file_facts measure(std::string_view text, bool markdown);

/// The `count_max` most frequent terms. Order: by count, the greatest first; ties by term.
std::vector<std::pair<std::string, std::int64_t>>
most_frequent(const std::map<std::string, std::int64_t>& terms, std::size_t count_max);

} // namespace digest
