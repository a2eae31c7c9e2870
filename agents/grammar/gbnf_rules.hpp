// The rules of a grammar in llama.cpp's GBNF, and the texts they are made of. Pure.
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

/// One way to say something: text of a grammar, the rules that it can't do without, and others that
/// it names.
struct way {
  std::string text;
  std::vector<rule_id> needs = {};
  std::vector<rule_id> may_need = {};
};

/// Rules that every grammar may use; each says something of JSON.
inline constexpr std::string_view any_json = "any";
inline constexpr std::string_view any_text = "string";
inline constexpr std::string_view character = "char"; ///< of a text, as it is written
inline constexpr std::string_view whole_number = "integer";
inline constexpr std::string_view any_number = "number";

/// Behind `,` and `:`.
inline constexpr std::string_view gap = R"( " "? )";

/// Errors: what makes the grammar larger than limits::grammar_bytes_max throws
///         error{invalid_value}.
class rules {
public:
  /// A rule without a way to fulfil it, yet. `at`: the place of the schema it is for.
  rule_id add(std::string at);
  void allow(rule_id rule, way one);
  bool has_way(rule_id rule) const { return !rules_[rule].ways.empty(); }
  static std::string name(rule_id rule) { return "r" + std::to_string(rule); }
  /// The name of a rule that every grammar may use, which this one does.
  std::string use(std::string_view shared);

  /// The grammar: `root ::= ROOT`, and what that leads to.
  /// Errors: throws error{invalid_value} for a rule in it that only endless texts fulfil, or none.
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

/// A text of JSON, or a piece of one, as a literal of a grammar: it has no control characters.
std::string literal(std::string_view json);

/// The JSON of `v`, the only one or, of a list or map, with gaps where there may be some; nothing
/// for what is no JSON.
std::optional<std::string> json_literal(const value& v);

/// How many of something there may be.
struct bounds {
  std::int64_t least = 0;
  std::optional<std::int64_t> most = std::nullopt; ///< without end

  bool allow_some() const { return !most || (*most >= least && *most >= 0); }
};
/// `what`, so many times. Bounds above limits::grammar_repeat_max count as that, or as none.
std::string repeated(std::string_view what, const bounds& times);

/// A text of JSON that is none of `names`, which are UTF-8.
/// Shape:  where one of them goes on with a character that JSON writes with a backslash, the text
///         does not go on with another such one.
way other_name(rules& into, const std::vector<std::string>& names);

} // namespace troupe::gbnf
