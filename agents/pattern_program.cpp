// See pattern_program.hpp.
#include "agents/pattern_program.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace troupe {
namespace {

using byte_set = text_pattern::byte_set;
using instruction = text_pattern::instruction;
using kind = text_pattern::kind;

constexpr std::size_t instructions_max = 4096;
constexpr std::size_t steps_max = 16 * instructions_max;
constexpr std::uint32_t repeats_max = 1000;

error no_pattern(const std::string& why) {
  return {errc::invalid_value, why};
}

template <class In> byte_set bytes_that(In is_in) {
  byte_set out;
  for (unsigned c = 0; c < out.size(); ++c)
    out[c] = is_in(static_cast<unsigned char>(c));
  return out;
}

const byte_set& continuations() {
  static const auto set = bytes_that([](unsigned char c) { return (c & 0xc0) == 0x80; });
  return set;
}

// The class that a letter behind a backslash stands for.
std::optional<byte_set> escape_class(char letter) {
  auto set = [letter]() -> std::optional<byte_set> {
    switch (letter | 0x20) {
      case 'd': return bytes_that([](unsigned char c) { return c >= '0' && c <= '9'; });
      case 'w': return bytes_that(is_word_byte);
      case 's':
        return bytes_that([](unsigned char c) { return c == ' ' || (c >= '\t' && c <= '\r'); });
      default: return std::nullopt;
    }
  }();
  if (set && letter < 'a')
    set->flip();
  return set;
}

// ---- what a pattern says --------------------------------------------------------------------

struct node {
  enum class type : std::uint8_t { bytes, edge, sequence, choice, repeat };
  type what = type::sequence;
  byte_set bytes = {};
  bool character = false; // the bytes are the first of a character; the others follow
  kind edge = kind::begin;
  std::uint32_t least = 0;
  std::optional<std::uint32_t> most = std::nullopt;
  std::vector<node> parts = {};
};

class reader {
public:
  explicit reader(std::string_view text) : rest_{text} {
    if (rest_.starts_with("(?i)")) {
      any_case_ = true;
      rest_.remove_prefix(4);
    }
  }

  node all() {
    auto out = choice();
    if (!rest_.empty())
      throw no_pattern("unbalanced parenthesis");
    return out;
  }

private:
  bool take(char c) {
    if (!rest_.starts_with(c))
      return false;
    rest_.remove_prefix(1);
    return true;
  }
  char next() {
    char c = rest_.front();
    rest_.remove_prefix(1);
    return c;
  }

  node choice() {
    node out{.what = node::type::choice};
    do
      out.parts.push_back(sequence());
    while (take('|'));
    return out.parts.size() == 1 ? std::move(out.parts.front()) : out;
  }

  node sequence() {
    node out{.what = node::type::sequence};
    while (!rest_.empty() && rest_.front() != '|' && rest_.front() != ')')
      out.parts.push_back(repeated(atom()));
    return out;
  }

  node repeated(node of) {
    while (auto bounds = repetition()) {
      (void)take('?'); // lazy: it makes no difference to whether it fits
      node out{.what = node::type::repeat, .least = bounds->first, .most = bounds->second};
      out.parts.push_back(std::move(of));
      of = std::move(out);
    }
    return of;
  }

  using bounds = std::pair<std::uint32_t, std::optional<std::uint32_t>>;
  std::optional<bounds> repetition() {
    if (take('*'))
      return bounds{0, std::nullopt};
    if (take('+'))
      return bounds{1, std::nullopt};
    if (take('?'))
      return bounds{0, 1};
    auto before = rest_;
    if (!take('{'))
      return std::nullopt;
    auto least = number();
    std::optional<std::uint32_t> most = least;
    if (least && take(','))
      most = number();
    if (least && take('}')) {
      if (*least > repeats_max || (most && (*most > repeats_max || *most < *least)))
        throw no_pattern("bad repeat interval");
      return bounds{*least, most};
    }
    rest_ = before; // a brace like any other character
    return std::nullopt;
  }

  std::optional<std::uint32_t> number() {
    std::optional<std::uint32_t> out;
    while (!rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9')
      out = std::min(out.value_or(0) * 10 + static_cast<std::uint32_t>(next() - '0'),
                     repeats_max + 1);
    return out;
  }

  node atom() {
    char c = next();
    switch (c) {
      case '(': return group();
      case '[': return byte_class();
      case '.': return one_of(~byte_set{}.set('\n'));
      case '^': return edge(kind::begin);
      case '$': return edge(kind::end);
      case '\\': return escape();
      case '*':
      case '+':
      case '?': throw no_pattern("nothing to repeat");
      default: return character(c);
    }
  }

  node group() {
    if (take('?') && !take(':'))
      throw no_pattern("this kind of group is not known");
    auto out = choice();
    if (!take(')'))
      throw no_pattern("missing ), unterminated subpattern");
    return out;
  }

  node edge(kind of) { return {.what = node::type::edge, .edge = of}; }

  // One character out of a set of first bytes.
  node one_of(byte_set bytes) {
    bytes &= ~continuations();
    if (any_case_)
      for (unsigned char c = 'a'; c <= 'z'; ++c)
        if (bytes[c] || bytes[c - 32U])
          bytes.set(c).set(c - 32U);
    return {.what = node::type::bytes, .bytes = bytes, .character = true};
  }

  // This character, all its bytes.
  node character(char first) {
    if (static_cast<unsigned char>(first) < 0x80)
      return one_of(byte_set{}.set(static_cast<unsigned char>(first)));
    node out{.what = node::type::sequence};
    auto add = [&out](char c) {
      out.parts.push_back(
        {.what = node::type::bytes, .bytes = byte_set{}.set(static_cast<unsigned char>(c))});
    };
    add(first);
    while (!rest_.empty() && continuations()[static_cast<unsigned char>(rest_.front())])
      add(next());
    return out;
  }

  char plain_escape(char c) {
    switch (c) {
      case 't': return '\t';
      case 'n': return '\n';
      case 'r': return '\r';
      case 'f': return '\f';
      case 'v': return '\v';
      default: break;
    }
    if (is_word_byte(static_cast<unsigned char>(c)) && c != '_')
      throw no_pattern(std::string{"bad escape \\"} + c);
    return c;
  }

  char escaped() {
    if (rest_.empty())
      throw no_pattern("bad escape (end of pattern)");
    return next();
  }

  node escape() {
    char c = escaped();
    if (auto set = escape_class(c))
      return one_of(*set);
    if (c == 'b' || c == 'B')
      return edge(c == 'b' ? kind::word_edge : kind::no_word_edge);
    return character(plain_escape(c));
  }

  // A member of a class, or nothing for a class within it.
  std::optional<char> member(byte_set& into) {
    char c = next();
    if (c == '\\') {
      c = escaped();
      if (auto set = escape_class(c)) {
        into |= *set;
        return std::nullopt;
      }
      c = plain_escape(c);
    }
    if (static_cast<unsigned char>(c) >= 0x80)
      throw no_pattern("a class has a character beyond ASCII");
    return c;
  }

  node byte_class() {
    bool others = take('^');
    byte_set set;
    bool first = true;
    while (!rest_.empty() && (first || rest_.front() != ']')) {
      first = false;
      auto from = member(set);
      if (!from)
        continue;
      auto to = from;
      if (rest_.size() > 1 && rest_[0] == '-' && rest_[1] != ']') {
        (void)next();
        to = member(set);
        if (!to || *to < *from)
          throw no_pattern("bad character range");
      }
      for (char c = *from; c < *to; ++c)
        set.set(static_cast<unsigned char>(c));
      set.set(static_cast<unsigned char>(*to));
    }
    if (!take(']'))
      throw no_pattern("unterminated character set");
    return one_of(others ? set.flip() : set);
  }

  std::string_view rest_;
  bool any_case_ = false;
};

// ---- programs -------------------------------------------------------------------------------

class writer {
public:
  std::vector<instruction> program(const node& of) {
    write(of);
    add({.what = kind::match});
    return std::move(out_);
  }

private:
  std::uint32_t here() const { return static_cast<std::uint32_t>(out_.size()); }
  std::uint32_t add(const instruction& one) {
    if (out_.size() == instructions_max)
      throw no_pattern("it is too large");
    out_.push_back(one);
    return here() - 1;
  }

  void write(const node& n) {
    if (++steps_ > steps_max)
      throw no_pattern("it repeats too much");
    switch (n.what) {
      case node::type::bytes: return bytes(n);
      case node::type::edge: add({.what = n.edge}); return;
      case node::type::sequence:
        for (const auto& part : n.parts)
          write(part);
        return;
      case node::type::choice: return choice(n);
      case node::type::repeat: return repeat(n);
    }
  }

  void bytes(const node& n) {
    add({.what = kind::byte, .bytes = n.bytes});
    bool longer = n.character && (n.bytes >> 0x80).any();
    if (longer)
      loop([this] { add({.what = kind::byte, .bytes = continuations()}); });
  }

  // Any number of times.
  template <class Body> void loop(Body body) {
    auto fork = add({.what = kind::fork});
    out_[fork].to = here();
    body();
    add({.what = kind::jump, .to = fork});
    out_[fork].other = here();
  }

  void choice(const node& n) {
    std::vector<std::uint32_t> ends;
    for (std::size_t i = 0; i < n.parts.size(); ++i) {
      bool last = i + 1 == n.parts.size();
      auto fork = last ? 0 : add({.what = kind::fork});
      if (!last)
        out_[fork].to = here();
      write(n.parts[i]);
      if (last)
        break;
      ends.push_back(add({.what = kind::jump}));
      out_[fork].other = here();
    }
    for (auto at : ends)
      out_[at].to = here();
  }

  void repeat(const node& n) {
    const auto& part = n.parts.front();
    for (std::uint32_t i = 0; i < n.least; ++i)
      write(part);
    if (!n.most)
      return loop([&] { write(part); });
    std::vector<std::uint32_t> forks;
    for (auto i = n.least; i < *n.most; ++i) {
      forks.push_back(add({.what = kind::fork}));
      out_[forks.back()].to = here();
      write(part);
    }
    for (auto at : forks)
      out_[at].other = here();
  }

  std::vector<instruction> out_;
  std::size_t steps_ = 0;
};

} // namespace

bool is_word_byte(unsigned char c) noexcept {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

result<std::vector<instruction>> program_of(std::string_view pattern) {
  try {
    return writer{}.program(reader{pattern}.all());
  } catch (const error& why) {
    return why;
  }
}

} // namespace troupe
