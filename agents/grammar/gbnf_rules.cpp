// gbnf_rules: rules, literals and repetitions.
#include "agents/grammar/gbnf_rules.hpp"

#include <troupe/error.hpp>
#include <troupe/limits.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

namespace troupe::gbnf {
namespace {

constexpr std::string_view escape = "escape"; // a character that JSON writes with a backslash

struct shared_rule {
  std::string_view name;
  std::string_view body;
  std::array<std::string_view, 2> uses = {};
};

// Numbers are bounded: they have no endless digits, and none exceeds double. Every character is
// written in one way.
constexpr std::array<shared_rule, 6> shared_rules{
  {{escape, R"("\\" (["\\bfnrt] | "u00" ("0" [0-7bef] | "1" [0-9a-f])))"},
   {character, R"([^"\\\x00-\x1F] | escape)", {escape}},
   {any_text, R"("\"" char* "\"")", {character}},
   {whole_number, R"("-"? ("0" | [1-9] [0-9]{0,17}))"},
   {any_number,
    R"("-"? ("0" | [1-9] [0-9]{0,20}) ("." [0-9]{1,20})? )"
    R"(([eE] ("-" [0-9]{1,3} | "+"? ([0-9]{1,2} | "1" [0-9] [0-9] | "2" [0-7] [0-9])))?)"},
   {any_json,
    R"("{" (string ":" " "? any ("," " "? string ":" " "? any)*)? "}" | )"
    R"("[" (any ("," " "? any)*)? "]" | string | number | "true" | "false" | "null")",
    {any_text, any_number}}}};

const shared_rule& shared_rule_of(std::string_view name) {
  return *std::ranges::find(shared_rules, name, &shared_rule::name);
}

error too_large() {
  return {errc::invalid_value, "make a grammar: the grammar would have more than "
                                 + std::to_string(limits::grammar_bytes_max) + " bytes"};
}

// A character within a class, where further characters have a special meaning.
std::string class_character(std::string_view character) {
  constexpr const char* hex_digits = "0123456789ABCDEF";
  auto c = static_cast<unsigned char>(character[0]);
  bool letter = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return letter || c >= 0x80 ? std::string{character}
                             : std::string{'\\', 'x', hex_digits[c >> 4], hex_digits[c & 15]};
}

bool reads_back(const value& v) {
  auto read = from_json(to_json(v), json_form::plain);
  return read && *read == v;
}

// The characters of a text as JSON writes them: `\n` counts as one.
std::vector<std::string> written_characters(std::string_view text) {
  auto json = to_json(value(text));
  std::vector<std::string> out;
  for (std::size_t i = 1; i + 1 < json.size();) {
    std::size_t size = json[i] == '\\' ? (json[i + 1] == 'u' ? 6 : 2) : 1;
    if (size == 1)
      while ((static_cast<unsigned char>(json[i + size]) & 0xc0) == 0x80)
        ++size;
    out.push_back(json.substr(i, size));
    i += size;
  }
  return out;
}

// A tree of the beginnings of names; its first element is the empty beginning.
struct beginning {
  std::map<std::string, std::size_t> next = {};
  bool is_name = false;
};

std::vector<beginning> beginnings_of(const std::vector<std::string>& names) {
  std::vector<beginning> all(1);
  for (const auto& name : names) {
    std::size_t at = 0;
    for (const auto& written : written_characters(name)) {
      auto [it, is_new] = all[at].next.try_emplace(written, all.size());
      at = it->second;
      if (is_new)
        all.emplace_back();
    }
    all[at].is_name = true;
  }
  return all;
}

} // namespace

// ---- rules ----------------------------------------------------------------------------------

rule_id rules::add(std::string at) {
  rules_.push_back({std::move(at), {}});
  return rules_.size() - 1;
}

void rules::allow(rule_id rule, way one) {
  bytes_ += one.text.size() + name(rule).size() + 8; // ` ::= `, ` | `, the line's end
  if (bytes_ > limits::grammar_bytes_max)
    throw too_large();
  rules_[rule].ways.push_back(std::move(one));
}

std::string rules::use(std::string_view shared) {
  if (shared_.insert(shared_rule_of(shared).name).second)
    for (auto used : shared_rule_of(shared).uses)
      if (!used.empty())
        use(used);
  return std::string{shared};
}

std::vector<bool> rules::used_by(const way& root) const {
  std::vector<bool> used(rules_.size(), false);
  std::vector<rule_id> open;
  auto look = [&](const way& one) {
    for (const auto* some : {&one.needs, &one.may_need})
      for (auto r : *some)
        if (!used[r]) {
          used[r] = true;
          open.push_back(r);
        }
  };
  look(root);
  while (!open.empty()) {
    auto rule = open.back();
    open.pop_back();
    std::ranges::for_each(rules_[rule].ways, look);
  }
  return used;
}

// A rule ends when one of its alternatives requires only rules that end.
std::vector<bool> rules::ending() const {
  std::vector<bool> ends(rules_.size(), false);
  auto all_end = [&ends](const way& one) {
    return std::ranges::all_of(one.needs, [&ends](rule_id r) { return ends[r]; });
  };
  for (bool more = true; std::exchange(more, false);)
    for (std::size_t i = rules_.size(); i-- > 0;) // most rules stand before those that they
                                                  // require
      if (!ends[i] && std::ranges::any_of(rules_[i].ways, all_end))
        more = ends[i] = true;
  return ends;
}

std::string rules::text(const way& root) const {
  auto out = "root ::= " + root.text + '\n';
  auto used = used_by(root);
  auto ends = ending();
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    if (!used[i])
      continue;
    if (!ends[i])
      throw error{errc::invalid_value,
                  "make a grammar: no finite JSON fits the schema at `" + rules_[i].at + '`'};
    out += name(i) + " ::= ";
    for (const auto& one : rules_[i].ways)
      out += (&one == rules_[i].ways.data() ? "" : " | ") + one.text;
    out += '\n';
  }
  for (const auto& one : shared_rules)
    if (shared_.contains(one.name))
      out += std::string{one.name} + " ::= " + std::string{one.body} + '\n';
  return out;
}

// ---- texts ----------------------------------------------------------------------------------

std::string literal(std::string_view json) {
  std::string out{'"'};
  for (char c : json) {
    if (c == '"' || c == '\\')
      out += '\\';
    out += c;
  }
  return out + '"';
}

std::optional<std::string> json_literal(const value& v) {
  if (!v.is_list() && !v.is_map()) {
    if (v.kind() >= value_kind::bytes || !reads_back(v))
      return std::nullopt;
    return literal(to_json(v));
  }
  std::string out = v.is_list() ? R"("[")" : R"("{")";
  auto add = [&out, first = true](std::string_view name, const value& item) mutable {
    auto text = json_literal(item);
    if (!text)
      return false;
    if (!std::exchange(first, false))
      out += R"( ",")" + std::string{gap};
    out += ' ' + std::string{name} + *text;
    return true;
  };
  for (const auto& item : v.items())
    if (!add("", item))
      return std::nullopt;
  for (const auto& e : v.entries()) {
    auto name = json_literal(e.key_value);
    if (!name || !add(*name + R"( ":")" + std::string{gap}, e.val))
      return std::nullopt;
  }
  return out + (v.is_list() ? R"( "]")" : R"( "}")");
}

std::string repeated(std::string_view what, const bounds& times) {
  auto least = std::to_string(std::min(times.least, limits::grammar_repeat_max));
  std::string out{what};
  if (!times.most || *times.most > limits::grammar_repeat_max)
    return out + (times.least == 0 ? "*" : '{' + least + ",}");
  return *times.most == 0 ? "" : out + '{' + least + ',' + std::to_string(*times.most) + '}';
}

way other_name(rules& into, const std::vector<std::string>& names) {
  if (names.empty())
    return {into.use(any_text)};
  constexpr std::size_t character_bytes_min = 32; // of the rule after a character
  std::size_t size = 0;
  for (const auto& name : names)
    size += name.size();
  if (size > limits::grammar_bytes_max / character_bytes_min)
    throw too_large();
  const auto all = beginnings_of(names);
  const auto any_rest = into.use(character) + '*';
  std::vector<rule_id> rule_of(all.size());
  std::ranges::generate(rule_of, [&into] { return into.add(""); });
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::string taken;
    bool escapes = false;
    for (const auto& [written, next] : all[i].next) {
      auto rest = rule_of[next];
      into.allow(rule_of[i], {literal(written) + ' ' + rules::name(rest), {rest}});
      if (written[0] == '\\')
        escapes = true;
      else
        taken += class_character(written);
    }
    into.allow(rule_of[i], {R"([^"\\\x00-\x1F)" + taken + "] " + any_rest});
    if (!escapes)
      into.allow(rule_of[i], {into.use(escape) + ' ' + any_rest});
    if (!all[i].is_name)
      into.allow(rule_of[i], {R"("")"});
  }
  return {R"("\"" )" + rules::name(rule_of[0]) + R"( "\"")", {rule_of[0]}};
}

} // namespace troupe::gbnf
