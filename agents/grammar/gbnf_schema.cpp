// gbnf_schema: from a JSON Schema to the rules of a grammar. Schemas that must fit at once (allOf,
// siblings of $ref and anyOf) form a conjunction. Equal conjunctions share one rule, so recursion
// ends.
#include "agents/grammar/gbnf_schema.hpp"

#include "agents/grammar/gbnf_forms.hpp"
#include "agents/grammar/gbnf_keywords.hpp"
#include "agents/tools/schema_parts.hpp"

#include <troupe/limits.hpp>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace troupe::gbnf {
namespace {

struct value_hash {
  std::size_t operator()(const value& v) const { return v.hash(); }
};

class schema_grammar {
public:
  schema_grammar(rules& into, const value& root, const std::string& root_at)
    : into_{into},
      root_{root},
      root_at_{root_at} {}

  schema_rule whole(bool only_objects) {
    schema_rule out;
    is_root_ = &out;
    conjunction all{{root_, root_at_}};
    if (only_objects)
      all.push_back({value::map({{"type", "object"}}), root_at_});
    auto rule = rule_of(all, 0);
    if (!rule)
      refuse(root_at_, "no JSON fits the schema");
    out.root = {rules::name(*rule), {*rule}};
    return out;
  }

private:
  void count(const std::string& at) {
    if (++schemas_ > limits::grammar_schemas_max)
      refuse(at, "more than " + std::to_string(limits::grammar_schemas_max) + " schemas");
  }

  void check_depth(const std::string& at, std::size_t depth) const {
    if (depth > limits::grammar_depth_max)
      refuse(at, "nested deeper than " + std::to_string(limits::grammar_depth_max) + " schemas");
  }

  // The rule of a conjunction; nullopt when no JSON fits all of its schemas.
  std::optional<rule_id> rule_of(const conjunction& all, std::size_t depth) {
    const auto& at = all.empty() ? root_at_ : all[0].at;
    count(at);
    check_depth(at, depth);
    auto [it, is_new] = known_.try_emplace(key_of(all));
    if (!is_new)
      return it->second;
    auto rule = into_.add(at);
    auto key = it->first;
    it->second = rule; // for uses of the rule within itself
    auto* of_root = std::exchange(is_root_, nullptr);
    alternatives plain;
    flatten(all, plain, depth);
    for (const auto& one : plain.all)
      allow(rule, one, of_root, depth);
    if (into_.has_way(rule))
      return rule;
    known_[key] = std::nullopt;
    return std::nullopt;
  }

  // Alternatives of `all`. A conjunction that is already being expanded (`open`) contributes
  // nothing, so recursion ends.
  struct alternatives {
    std::vector<conjunction> all;
    std::unordered_set<value, value_hash> known;
    std::vector<value> open;
  };

  // Expands $ref, allOf, anyOf and oneOf.
  void flatten(const conjunction& all, alternatives& out, std::size_t depth) {
    conjunction parts;
    if (!gather(all, parts))
      return;
    auto key = key_of(parts);
    for (const auto& part : parts)
      for (const auto* keyword : {"anyOf", "oneOf"})
        if (part.schema.contains(keyword)) {
          check_depth(part.at, depth + out.open.size());
          if (std::ranges::find(out.open, key) != out.open.end())
            return;
          out.open.push_back(std::move(key));
          for (const auto& choice : list_at(part, keyword).items())
            flatten(chosen(parts, part, keyword, choice), out, depth);
          out.open.pop_back();
          return;
        }
    if (out.known.insert(std::move(key)).second)
      out.all.push_back(std::move(parts));
  }

  static conjunction chosen(const conjunction& parts, const placed& of, const char* keyword,
                            const value& choice) {
    conjunction out;
    for (const auto& part : parts)
      out.push_back(&part == &of ? placed{part.schema.without(keyword), part.at} : part);
    out.push_back(below(of, keyword, choice));
    return out;
  }

  // The schemas that must fit, each once; false when one of them fits nothing.
  bool gather(const conjunction& all, conjunction& out) {
    conjunction open(all.rbegin(), all.rend());
    std::vector<value> seen;
    while (!open.empty()) {
      auto one = std::move(open.back());
      open.pop_back();
      count(one.at);
      if (one.schema == value(false))
        return false;
      if (one.schema == value(true))
        continue;
      if (!one.schema.is_map())
        refuse(one.at, "not a schema");
      one.schema = said_by(one.schema);
      if (one.schema.empty() || std::ranges::find(seen, one.schema) != seen.end())
        continue;
      seen.push_back(one.schema);
      if (one.schema.contains("$ref"))
        open.push_back(referred(one));
      if (one.schema.contains("allOf"))
        for (const auto& part : list_at(one, "allOf").items())
          open.push_back(below(one, "allOf", part));
      one.schema = one.schema.without("$ref").without("allOf");
      if (!one.schema.empty())
        out.push_back(std::move(one));
    }
    return true;
  }

  placed referred(const placed& by) const {
    const auto& ref = by.schema["$ref"];
    auto text = ref.is_string() ? ref.as<std::string>() : std::string{};
    const auto& part = text == "#" || text.starts_with("#/") ? referred_schema(root_, text) : none_;
    if (part.is_null())
      refuse(by.at + "/$ref", "not a part of the schema: " + to_json(ref));
    return {part, root_at_ + text.substr(1)};
  }

  // ---- ways to fit --------------------------------------------------------------------------

  void allow(rule_id rule, const conjunction& all, schema_rule* of_root, std::size_t depth) {
    for (const auto& part : all)
      for (const auto* keyword : {"enum", "const"})
        if (part.schema.contains(keyword))
          return allow_choices(rule, all, part, of_root);
    auto kinds = kinds_of(all);
    if (of_root && (kinds & list_kind) != 0)
      of_root->may_be_list = true;
    if (all.empty())
      return into_.allow(rule, {into_.use(any_json)});
    if ((kinds & null_kind) != 0)
      into_.allow(rule, {R"("null")"});
    if ((kinds & boolean_kind) != 0)
      into_.allow(rule, {R"("true" | "false")"});
    if ((kinds & fraction_kind) != 0)
      into_.allow(rule, {into_.use(any_number)});
    else if ((kinds & integer_kind) != 0)
      allow_whole_number(rule, all);
    if ((kinds & text_kind) != 0)
      allow_text(rule, all);
    if ((kinds & list_kind) != 0)
      allow_list(rule, all, depth);
    if ((kinds & object_kind) != 0)
      allow_object(rule, all, depth);
  }

  // Schemas of values within a choice are left to check_schema(): for schemas that refer to
  // themselves, its time has no bound.
  void allow_choices(rule_id rule, const conjunction& all, const placed& by, schema_rule* of_root) {
    auto choices = by.schema.contains("enum") ? list_at(by, "enum")
                                              : value::list({by.schema["const"]});
    for (const auto& choice : choices.items()) {
      count(by.at);
      auto fits = [&](const placed& one) { return fits_schema(root_, flat(one.schema), choice); };
      if (!std::ranges::all_of(all, fits))
        continue;
      auto text = json_literal(choice);
      if (!text)
        continue;
      if (of_root && choice.is_list())
        of_root->may_be_list = true;
      into_.allow(rule, {*text});
    }
  }

  void allow_whole_number(rule_id rule, const conjunction& all) {
    auto range = whole_numbers_of(all);
    auto text = range == whole_numbers{} ? into_.use(whole_number) : between(range);
    if (!text.empty())
      into_.allow(rule, {std::move(text)});
  }

  void allow_text(rule_id rule, const conjunction& all) {
    auto size = bounds_of(all, "minLength", "maxLength");
    if (size.allow_some())
      into_.allow(rule, {R"("\"" )" + repeated(into_.use(character), size) + R"( "\"")"});
  }

  // ---- lists ----------------------------------------------------------------------------------

  void allow_list(rule_id rule, const conjunction& all, std::size_t depth) {
    auto size = bounds_of(all, "minItems", "maxItems");
    auto first = first_items_of(all);
    std::vector<rule_id> items;
    std::optional<rule_id> rest;
    while (items.size() < first && (!size.most || std::ssize(items) < *size.most)) {
      if (auto item = rule_of(item_at(all, items.size()), depth + 1))
        items.push_back(*item);
      else
        size.most = std::ssize(items);
    }
    if (!size.most || std::ssize(items) < *size.most)
      rest = rule_of(item_at(all, first), depth + 1);
    if (!rest && (!size.most || *size.most > std::ssize(items)))
      size.most = std::ssize(items);
    if (size.allow_some())
      into_.allow(rule, list_of(into_, items, rest, size));
  }

  // ---- objects --------------------------------------------------------------------------------

  void allow_object(rule_id rule, const conjunction& all, std::size_t depth) {
    auto required = required_of(all);
    std::vector<member> first;
    for (const auto& name : required) {
      count(all[0].at);
      auto one = member_of(all, name, depth);
      if (!one)
        return; // no object can have this required member
      first.push_back(*one);
    }
    std::vector<std::string> names = required;
    std::vector<member> others;
    for (const auto& name : properties_of(all))
      if (std::ranges::find(names, name) == names.end()) {
        names.push_back(name);
        if (auto one = member_of(all, name, depth))
          others.push_back(*one);
      }
    into_.allow(rule, object_of(into_, first, others, further_of(all, names, depth)));
  }

  std::optional<member> member_of(const conjunction& all, const std::string& name,
                                  std::size_t depth) {
    auto written = json_literal(value(name));
    auto rule = rule_of(member_at(all, name), depth + 1);
    if (!written || !rule)
      return std::nullopt;
    return member{*written + R"( ":" " "? )" + rules::name(*rule), *rule};
  }

  // Any member of another name; nullopt when these are not allowed.
  std::optional<member> further_of(const conjunction& all, const std::vector<std::string>& names,
                                   std::size_t depth) {
    auto what = further_members_of(all);
    if (!what)
      return std::nullopt;
    auto rule = rule_of(*what, depth + 1);
    if (!rule)
      return std::nullopt;
    auto name = other_name(into_, names);
    auto further = into_.add("");
    auto needs = name.needs;
    needs.push_back(*rule);
    into_.allow(further, {name.text + R"( ":" " "? )" + rules::name(*rule), std::move(needs)});
    return member{rules::name(further), further};
  }

  rules& into_;
  const value& root_;
  const std::string& root_at_;
  const value none_;
  schema_rule* is_root_ = nullptr;
  std::unordered_map<value, std::optional<rule_id>, value_hash> known_;
  std::size_t schemas_ = 0;
};

} // namespace

schema_rule rules_of_schema(rules& into, const value& schema, const std::string& at,
                            bool only_objects) {
  return schema_grammar{into, schema, at}.whole(only_objects);
}

} // namespace troupe::gbnf
