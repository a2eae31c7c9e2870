// Says whether a text matches a grammar in llama.cpp's GBNF: what our grammars use of it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe::test {

/// Follows all ways at once, so that time is bounded by text times grammar.
/// Errors: throws std::runtime_error for a text that is not such a grammar, for a rule that is
/// missing or given twice, and for one that begins with itself (when a text leads to it).
class gbnf_recogniser {
public:
  explicit gbnf_recogniser(std::string_view grammar) {
    while (!grammar.empty()) {
      auto end = std::min(grammar.find('\n'), grammar.size());
      rest_ = grammar.substr(0, end);
      grammar.remove_prefix(std::min(end + 1, grammar.size()));
      read_rule();
    }
    for (const auto& name : named_)
      if (!rules_.contains(name))
        throw std::runtime_error("no such rule: " + name);
    if (!rules_.contains("root"))
      throw std::runtime_error("no root");
  }

  bool accepts(std::string_view text) {
    text_ = code_points(text);
    ends_.clear();
    return ends_of("root", 0).contains(text_.size());
  }

private:
  using positions = std::set<std::size_t>;

  struct node {
    enum { characters, rule, sequence, choice, repeated } what = sequence;
    std::vector<std::pair<char32_t, char32_t>> ranges = {};
    bool negated = false;
    std::string name = {};
    std::vector<node> parts = {};
    std::size_t least = 0;
    std::size_t most = SIZE_MAX;
  };

  // ---- reading --------------------------------------------------------------------------------

  [[noreturn]] void refuse(const std::string& why) const {
    throw std::runtime_error(why + " at: " + std::string{rest_.substr(0, 40)});
  }

  static std::u32string code_points(std::string_view text) {
    std::u32string out;
    while (!text.empty())
      out += next_code_point(text);
    return out;
  }

  static char32_t next_code_point(std::string_view& text) {
    auto first = static_cast<unsigned char>(text[0]);
    std::size_t size = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    if (size > text.size())
      throw std::runtime_error("a text is not UTF-8");
    char32_t out = size == 1 ? first : first & (0xffu >> (size + 1));
    for (std::size_t i = 1; i < size; ++i)
      out = out << 6 | (static_cast<unsigned char>(text[i]) & 0x3fu);
    text.remove_prefix(size);
    return out;
  }

  bool take(std::string_view what) {
    if (!rest_.starts_with(what))
      return false;
    rest_.remove_prefix(what.size());
    return true;
  }
  void skip_spaces() {
    while (take(" ")) {}
  }
  void want(std::string_view what) {
    if (!take(what))
      refuse("expected " + std::string{what});
  }

  std::string read_name() {
    std::string out;
    while (!rest_.empty()
           && (std::isalnum(static_cast<unsigned char>(rest_[0])) != 0 || rest_[0] == '-')) {
      out += rest_[0];
      rest_.remove_prefix(1);
    }
    if (out.empty())
      refuse("expected a name");
    return out;
  }

  std::size_t read_number() {
    std::size_t digits = 0;
    auto out = std::stoul(std::string{rest_.substr(0, 8)}, &digits);
    rest_.remove_prefix(digits);
    return out;
  }

  char32_t read_character() {
    if (rest_.empty())
      refuse("expected a character");
    if (!take("\\"))
      return next_code_point(rest_);
    if (take("x")) {
      auto code = std::stoul(std::string{rest_.substr(0, 2)}, nullptr, 16);
      rest_.remove_prefix(2);
      return static_cast<char32_t>(code);
    }
    if (rest_.empty() || std::string_view{"\"\\[]"}.find(rest_[0]) == std::string_view::npos)
      refuse("no such escape");
    return next_code_point(rest_);
  }

  void read_rule() {
    auto name = read_name();
    want(" ::= ");
    if (!rules_.try_emplace(name, read_choice()).second)
      refuse("a rule twice: " + name);
    if (!rest_.empty())
      refuse("expected the line's end");
  }

  node read_choice() {
    node out{.what = node::choice};
    do
      out.parts.push_back(read_sequence());
    while (take("|"));
    return out;
  }

  node read_sequence() {
    node out{.what = node::sequence};
    for (skip_spaces(); !rest_.empty() && rest_[0] != '|' && rest_[0] != ')'; skip_spaces()) {
      auto one = read_repeated(read_one());
      out.parts.push_back(std::move(one));
    }
    return out;
  }

  node read_one() {
    if (take("(")) {
      auto out = read_choice();
      want(")");
      return out;
    }
    if (take("[")) {
      node out{.what = node::characters, .negated = take("^")};
      while (!take("]")) {
        auto first = read_character();
        bool range = rest_.starts_with("-") && !rest_.starts_with("-]") && take("-");
        out.ranges.emplace_back(first, range ? read_character() : first);
      }
      return out;
    }
    if (take("\"")) {
      node out{.what = node::sequence};
      while (!take("\"")) {
        auto c = read_character();
        out.parts.push_back({.what = node::characters, .ranges = {{c, c}}});
      }
      return out;
    }
    node out{.what = node::rule, .name = read_name()};
    named_.push_back(out.name);
    return out;
  }

  node read_repeated(node one) {
    node out{.what = node::repeated};
    if (take("?")) {
      out.most = 1;
    } else if (take("{")) {
      out.least = out.most = read_number();
      if (take(","))
        out.most = rest_.starts_with("}") ? SIZE_MAX : read_number();
      want("}");
      if (out.least >= 2000 || (out.most >= 2000 && out.most != SIZE_MAX))
        refuse("more repetitions than llama.cpp takes");
    } else if (!take("*")) {
      return one;
    }
    out.parts.push_back(std::move(one));
    return out;
  }

  // ---- matching -------------------------------------------------------------------------------

  const positions& ends_of(const std::string& name, std::size_t from) {
    auto [it, is_new] = ends_.try_emplace({name, from});
    auto& known = it->second;
    if (!is_new && known.first)
      throw std::runtime_error("a rule begins with itself: " + name);
    if (is_new) {
      known.first = true;
      known.second = match(rules_.at(name), {from});
      known.first = false;
    }
    return known.second;
  }

  positions match(const node& how, const positions& from) {
    positions out;
    switch (how.what) {
      case node::characters:
        for (auto p : from)
          if (p < text_.size() && is_one_of(how, text_[p]))
            out.insert(p + 1);
        return out;
      case node::rule:
        for (auto p : from)
          out.merge(positions{ends_of(how.name, p)});
        return out;
      case node::sequence:
        out = from;
        for (const auto& part : how.parts)
          out = match(part, out);
        return out;
      case node::choice:
        for (const auto& part : how.parts)
          out.merge(match(part, from));
        return out;
      case node::repeated: return match_repeated(how, from);
    }
    return out;
  }

  positions match_repeated(const node& how, positions at) {
    positions out;
    for (std::size_t i = 0; !at.empty(); ++i) {
      auto before = out.size();
      if (i >= how.least)
        out.insert(at.begin(), at.end());
      if (i == how.most || (i > how.least && out.size() == before))
        break;
      at = match(how.parts[0], at);
    }
    return out;
  }

  static bool is_one_of(const node& how, char32_t c) {
    bool in = std::ranges::any_of(how.ranges,
                                  [c](auto& r) { return c >= r.first && c <= r.second; });
    return in != how.negated;
  }

  std::string_view rest_;
  std::map<std::string, node> rules_;
  std::vector<std::string> named_;
  std::u32string text_;
  std::map<std::pair<std::string, std::size_t>, std::pair<bool, positions>> ends_;
};

} // namespace troupe::test
