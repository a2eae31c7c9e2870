// facts: measures the words, headings, sections and terms of a text.
#include "facts.hpp"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>
#include <vector>

namespace digest {

namespace {

// Words that say little about a text, sorted.
constexpr auto stop_words = std::to_array<std::string_view>({
  "about",   "above",  "after", "again", "all",     "also",    "and",    "any",  "are",   "because",
  "been",    "before", "being", "below", "between", "both",    "but",    "can",  "could", "did",
  "does",    "each",   "few",   "for",   "from",    "further", "had",    "has",  "have",  "her",
  "here",    "him",    "his",   "how",   "into",    "its",     "itself", "just", "may",   "more",
  "most",    "must",   "nor",   "not",   "now",     "off",     "once",   "one",  "only",  "other",
  "our",     "out",    "over",  "own",   "same",    "she",     "should", "some", "such",  "than",
  "that",    "the",    "their", "them",  "then",    "there",   "these",  "they", "this",  "those",
  "through", "too",    "under", "until", "upon",    "very",    "was",    "were", "what",  "when",
  "where",   "which",  "while", "who",   "whom",    "why",     "will",   "with", "would", "you",
  "your",
});
static_assert(std::ranges::is_sorted(stop_words));

constexpr std::size_t term_letters_min = 3;
constexpr std::size_t term_letters_max = 40; // a longer one is data, not a word
constexpr char32_t no_letter = 0xfffd;

// The code point at `at`, which then moves past it; no_letter for bytes that are not UTF-8.
char32_t next_code_point(std::string_view text, std::size_t& at) {
  auto lead = static_cast<unsigned char>(text[at++]);
  if (lead < 0x80)
    return lead;
  int more = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : lead >= 0xc2 ? 1 : 0;
  if (more == 0 || lead > 0xf4 || at + static_cast<std::size_t>(more) > text.size())
    return no_letter;
  char32_t out = lead & (0x3fu >> more);
  for (auto i = at; i < at + static_cast<std::size_t>(more); ++i) {
    auto c = static_cast<unsigned char>(text[i]);
    if ((c & 0xc0) != 0x80)
      return no_letter;
    out = out << 6 | (c & 0x3fu);
  }
  at += static_cast<std::size_t>(more);
  return out;
}

void append_code_point(std::string& out, char32_t c) {
  auto tail = [&](int shift) { out += static_cast<char>(0x80 | (c >> shift & 0x3f)); };
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xc0 | c >> 6);
    tail(0);
  } else if (c < 0x10000) {
    out += static_cast<char>(0xe0 | c >> 12);
    tail(6), tail(0);
  } else {
    out += static_cast<char>(0xf0 | c >> 18);
    tail(12), tail(6), tail(0);
  }
}

bool is_digit(char32_t c) {
  return c >= '0' && c <= '9';
}

// Letters, digits and `_`; beyond ASCII all but signs and punctuation.
bool is_letter(char32_t c) {
  if (c < 0x80)
    return is_digit(c) || c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return c >= 0xc0 && c != 0xd7 && c != 0xf7 && !(c >= 0x2000 && c < 0x2c00)
         && !(c >= 0x2e00 && c < 0x3040) && !(c >= 0xfe10 && c < 0xff10) && c != no_letter;
}

// Lower case, for Latin, Greek and Cyrillic letters.
char32_t fold(char32_t c) {
  auto within = [c](char32_t first, char32_t last) { return c >= first && c <= last; };
  if (within('A', 'Z') || within(0xc0, 0xde) || within(0x391, 0x3a9) || within(0x410, 0x42f))
    return c + 0x20;
  if (within(0x400, 0x40f))
    return c + 0x50;
  if ((within(0x100, 0x12f) || within(0x14a, 0x177)) && c % 2 == 0)
    return c + 1;
  return c;
}

using counts = std::unordered_map<std::string, std::int64_t>;

// Collects the letters of a term. end() counts the term if it is valid.
class term_collector {
public:
  explicit term_collector(counts& terms) : terms_{terms} {}
  void add(char32_t c) {
    if (letters_ == 0)
      starts_with_digit_ = is_digit(c);
    if (++letters_ <= term_letters_max)
      append_code_point(term_, fold(c));
  }
  void end() {
    if (letters_ >= term_letters_min && letters_ <= term_letters_max && !starts_with_digit_
        && !std::ranges::binary_search(stop_words, std::string_view{term_}))
      ++terms_[term_];
    term_.clear();
    letters_ = 0;
  }

private:
  counts& terms_;
  std::string term_;
  std::size_t letters_ = 0;
  bool starts_with_digit_ = false;
};

// Counts the words of a line (parts between blanks with a letter) and its terms.
std::int64_t scan_line(std::string_view line, counts& terms) {
  std::int64_t words = 0;
  bool has_letter = false;
  term_collector term{terms};
  for (std::size_t at = 0; at < line.size();) {
    auto c = next_code_point(line, at);
    if (is_letter(c)) {
      words += has_letter ? 0 : 1;
      has_letter = true;
      term.add(c);
    } else {
      term.end();
      if (c == ' ' || c == '\t' || c == '\v' || c == '\f' || c == 0xa0)
        has_letter = false;
    }
  }
  term.end();
  return words;
}

std::string_view trim(std::string_view text, std::string_view what) {
  auto first = text.find_first_not_of(what);
  if (first == std::string_view::npos)
    return {};
  return text.substr(first, text.find_last_not_of(what) - first + 1);
}

// The text of a Markdown heading. Null data when the line is not a heading.
std::string_view heading_of(std::string_view line) {
  auto indent = std::min(line.find_first_not_of(' '), line.size());
  auto marks = std::min(line.find_first_not_of('#', indent), line.size()) - indent;
  auto rest = line.substr(indent + marks);
  if (indent > 3 || marks < 1 || marks > 6 || !(rest.empty() || rest[0] == ' ' || rest[0] == '\t'))
    return {};
  auto title = trim(rest, " \t");
  auto last = title.find_last_not_of('#');
  if (last == std::string_view::npos)
    return line.substr(indent, 0);
  return title[last] == ' ' ? trim(title.substr(0, last), " \t") : title;
}

bool is_fence(std::string_view line) {
  auto text = trim(line, " \t");
  return text.starts_with("```") || text.starts_with("~~~");
}

// Follows the sections of a text, and keeps the longest one, or the first of equal ones.
class section_finder {
public:
  section_finder(bool markdown, file_facts& out) : markdown_{markdown}, out_{out} {}

  void line(std::string_view text, std::int64_t number, std::int64_t words) {
    if (markdown_)
      markdown_line(text);
    else if (trim(text, " \t").empty())
      end();
    else if (words_ == 0 && first_ == 0)
      first_ = number;
    last_ = number;
    words_ += words;
  }

  void end() {
    if (words_ > out_.section_words) {
      out_.section_words = words_;
      out_.section = name();
    }
    words_ = first_ = 0;
  }

private:
  void markdown_line(std::string_view text) {
    auto title = fenced_ ? std::string_view{} : heading_of(text);
    if (title.data()) {
      end();
      title_ = title;
      ++out_.headings;
    }
    fenced_ ^= is_fence(text);
  }

  std::string name() const {
    if (markdown_)
      return title_.empty() ? "(no heading)" : title_;
    return first_ == last_ ? "line " + std::to_string(first_)
                           : "lines " + std::to_string(first_) + "-" + std::to_string(last_);
  }

  bool markdown_;
  file_facts& out_;
  std::string title_;
  bool fenced_ = false;
  std::int64_t first_ = 0, last_ = 0, words_ = 0;
};

} // namespace

std::vector<std::pair<std::string, std::int64_t>>
most_frequent(const std::map<std::string, std::int64_t>& terms, std::size_t count_max) {
  std::vector<std::pair<std::string, std::int64_t>> out(terms.begin(), terms.end());
  auto before = [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  };
  auto kept = std::min(count_max, out.size());
  std::partial_sort(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(kept), out.end(),
                    before);
  out.resize(kept);
  return out;
}

file_facts measure(std::string_view text, bool markdown) {
  file_facts out;
  counts terms;
  section_finder sections{markdown, out};
  std::int64_t number = 1;
  while (!text.empty()) {
    auto end = std::min(text.find('\n'), text.size());
    auto line = text.substr(0, end);
    if (line.ends_with('\r'))
      line.remove_suffix(1);
    auto words = scan_line(line, terms);
    sections.line(line, number++, words);
    out.words += words;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  sections.line({}, number, 0);
  sections.end();
  auto kept = most_frequent({terms.begin(), terms.end()}, terms_per_file_max);
  out.terms = {kept.begin(), kept.end()};
  return out;
}

} // namespace digest
