// See text_pattern.hpp.
//
// Invariants:
//  - no text takes more steps than its length times the program's.
#include "agents/text_pattern.hpp"

#include "agents/pattern_program.hpp"

#include <troupe/limits.hpp>

#include <algorithm>

namespace troupe {
namespace {

using instruction = text_pattern::instruction;
using kind = text_pattern::kind;

// ---- running --------------------------------------------------------------------------------

// The places in a program that a part of the text leads to.
class places {
public:
  explicit places(const std::vector<instruction>& program)
    : program_{program},
      seen_(program.size(), 0) {}

  void clear() {
    list_.clear();
    matched_ = false;
    ++round_;
  }
  bool empty() const { return list_.empty(); }
  bool matched() const { return matched_; }
  const std::vector<std::uint32_t>& list() const { return list_; }

  /// Where one can be from `at` on without reading anything, at place `i` of the text.
  void add(std::uint32_t at, std::string_view text, std::size_t i) {
    open_.push_back(at);
    while (!open_.empty()) {
      at = open_.back();
      open_.pop_back();
      if (seen_[at] == round_)
        continue;
      seen_[at] = round_;
      const auto& one = program_[at];
      switch (one.what) {
        case kind::byte: list_.push_back(at); break;
        case kind::match: matched_ = true; break;
        case kind::jump: open_.push_back(one.to); break;
        case kind::fork:
          open_.push_back(one.to);
          open_.push_back(one.other);
          break;
        default:
          if (holds(one.what, text, i))
            open_.push_back(at + 1);
      }
    }
  }

private:
  static bool holds(kind edge, std::string_view text, std::size_t i) {
    auto word = [text](std::size_t k) {
      return k < text.size() && is_word_byte(static_cast<unsigned char>(text[k]));
    };
    switch (edge) {
      case kind::begin: return i == 0;
      case kind::end: return i == text.size();
      case kind::word_edge: return (i > 0 && word(i - 1)) != word(i);
      default: return (i > 0 && word(i - 1)) == word(i);
    }
  }

  const std::vector<instruction>& program_;
  std::vector<std::uint64_t> seen_;
  std::vector<std::uint32_t> list_;
  std::vector<std::uint32_t> open_;
  std::uint64_t round_ = 1;
  bool matched_ = false;
};

// ---- globs ----------------------------------------------------------------------------------

std::string expression_of_glob(std::string_view glob) {
  std::string out;
  std::size_t open = 0;
  for (std::size_t i = 0; i < glob.size(); ++i) {
    auto rest = glob.substr(i);
    char c = glob[i];
    if (rest.starts_with("**/")) {
      out += "(?:.*/)?";
      i += 2;
    } else if (rest.starts_with("**")) {
      out += ".*";
      ++i;
    } else if (c == '*' || c == '?') {
      out += c == '*' ? "[^/]*" : "[^/]";
    } else if (c == '[' && rest.find(']', 2) != std::string_view::npos) {
      auto end = rest.find(']', 2);
      auto inner = std::string{rest.substr(1, end - 1)};
      if (inner.front() == '!')
        inner.front() = '^';
      out += '[' + inner + ']';
      i += end;
    } else if (c == '{' && rest.find('}') != std::string_view::npos) {
      ++open;
      out += "(?:";
    } else if (open > 0 && (c == ',' || c == '}')) {
      open -= c == '}';
      out += c == ',' ? '|' : ')';
    } else {
      bool plain = is_word_byte(static_cast<unsigned char>(c))
                   || static_cast<unsigned char>(c) >= 0x80;
      out += plain ? std::string{c} : std::string{'\\', c};
    }
  }
  return out;
}

} // namespace

text_pattern::text_pattern(std::vector<instruction> program) : program_{std::move(program)} {
  places start{program_};
  start.clear();
  start.add(0, {}, 0);
  for (auto at : start.list())
    first_ |= program_[at].bytes;
  begins_anywhere_ = start.matched() || std::ranges::any_of(program_, [](const instruction& one) {
                       return one.what >= kind::begin && one.what < kind::match;
                     });
}

result<text_pattern> text_pattern::expression(std::string_view pattern) {
  if (pattern.size() > limits::search_pattern_bytes_max)
    return error{errc::invalid_value,
                 "it has more than " + std::to_string(limits::search_pattern_bytes_max) + " bytes"};
  auto program = program_of(pattern);
  if (!program)
    return program.error();
  return text_pattern{std::move(*program)};
}

result<text_pattern> text_pattern::glob(std::string_view pattern) {
  if (pattern.size() > limits::search_pattern_bytes_max)
    return expression(pattern);
  auto program = program_of(expression_of_glob(pattern));
  if (!program)
    return program.error();
  return text_pattern{std::move(*program)};
}

bool text_pattern::run(std::string_view text, bool whole) const {
  places one{program_};
  places other{program_};
  auto* now = &one;
  auto* then = &other;
  now->clear();
  for (std::size_t i = 0;; ++i) {
    if (!whole && now->empty() && !begins_anywhere_)
      while (i < text.size() && !first_[static_cast<unsigned char>(text[i])])
        ++i;
    if (!whole || i == 0)
      now->add(0, text, i);
    if (now->matched() && (!whole || i == text.size()))
      return true;
    if (i == text.size() || (whole && now->empty()))
      return false;
    then->clear();
    for (auto at : now->list())
      if (program_[at].bytes[static_cast<unsigned char>(text[i])])
        then->add(at + 1, text, i + 1);
    std::swap(now, then);
  }
}

} // namespace troupe
