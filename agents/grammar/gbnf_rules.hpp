// gbnf_rules: the rules of a grammar in llama.cpp's GBNF, and the texts that they consist of. Pure.
#pragma once

#include <troupe/value.hpp>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::gbnf {

using rule_id = std::size_t;

/// One alternative of a rule: its text, the rules that it requires, and other rules that it names.
struct way {
  std::string text;
  std::vector<rule_id> needs = {};
  std::vector<rule_id> may_need = {};
};

/// Rules that every grammar may use; each is about a part of JSON.
inline constexpr std::string_view any_json = "any";
inline constexpr std::string_view any_text = "string";
inline constexpr std::string_view character = "char"; ///< of a JSON string, as it is written
inline constexpr std::string_view whole_number = "integer";
inline constexpr std::string_view any_number = "number";

/// Optional space after `,` and `:`.
inline constexpr std::string_view gap = R"( " "? )";

/// Errors: throws error{invalid_value} when the grammar gets larger than limits::grammar_bytes_max.
class rules {
public:
  /// Adds a rule without alternatives; allow() adds them. `at`: the place of its schema.
  rule_id add(std::string at);
  void allow(rule_id rule, way one);
  bool has_way(rule_id rule) const { return !rules_[rule].ways.empty(); }
  static std::string name(rule_id rule) { return "r" + std::to_string(rule); }
  /// The name of a shared rule; marks the rule as used by this grammar.
  std::string use(std::string_view shared);

  /// The grammar: `root ::= ROOT`, and all rules that it leads to.
  /// Errors: throws error{invalid_value} for a rule that only endless texts fulfil, or no text at
  ///         all.
  std::string text(const way& root) const;

private:
  struct rule {
    std::string at;
    std::vector<way> ways;
  };
  std::vector<bool> used_by(const way& root) const;
  std::vector<bool> ending() const;

  std::vector<rule> rules_;
  std::set<std::string_view> shared_;
  std::size_t bytes_ = 0;
};

/// JSON text, or a piece of it, as a literal of a grammar; it has no control characters.
std::string literal(std::string_view json);

/// The JSON of `v`: its only text or, for a list or map, one with optional gaps. nullopt for a
/// value that is not JSON.
std::optional<std::string> json_literal(const value& v);

/// How often something may be repeated.
struct bounds {
  std::int64_t least = 0;
  std::optional<std::int64_t> most = std::nullopt; ///< nullopt: without limit

  bool allow_some() const { return !most || (*most >= least && *most >= 0); }
};
/// `what`, repeated so many times. A lower bound above limits::grammar_repeat_max counts as that
/// limit, an upper one as no bound.
std::string repeated(std::string_view what, const bounds& times);

/// A JSON string that differs from all of `names`, which are UTF-8.
/// Shape:  where one of them continues with a character that JSON writes with a backslash, the
///         string does not continue with another such character.
way other_name(rules& into, const std::vector<std::string>& names);

} // namespace troupe::gbnf
