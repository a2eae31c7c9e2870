// facts: the measured properties of one file.
#pragma once

#include <troupe/state.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace digest {

inline constexpr std::size_t terms_per_file_max = 64; // terms of one file

/// Shape:  `problem` is empty, or the reason why the file could not be read; then the other members
///         are empty. `section` is the heading of the longest section, or its lines in a file
///         without headings. `terms`: the most frequent ones, in lower case, with their counts.
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

/// All facts of `text`, except its name. A Markdown text has headings; other texts have sections
/// between empty lines.
/// Shape:  any bytes; bytes that are not UTF-8 separate words.
file_facts measure(std::string_view text, bool markdown);

/// The `count_max` most frequent terms. Order: by count, the greatest first; ties by term.
std::vector<std::pair<std::string, std::int64_t>>
most_frequent(const std::map<std::string, std::int64_t>& terms, std::size_t count_max);

} // namespace digest
