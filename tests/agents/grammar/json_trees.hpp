// Random JSON Schemas of what a grammar can hold, JSON that fits them, and JSON that was changed.
#pragma once

#include <troupe/value.hpp>

#include <algorithm>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe::test {

/// JSON whose members have an order.
struct json_tree {
  value leaf = {}; // of what is neither a list nor an object
  enum { plain, list, object } kind = plain;
  std::vector<std::pair<std::string, json_tree>> inside = {}; // names of an object's

  value as_value() const {
    if (kind == plain)
      return leaf;
    std::vector<value> items;
    std::vector<value::map_init> members;
    for (const auto& [name, one] : inside)
      if (kind == list)
        items.push_back(one.as_value());
      else
        members.emplace_back(name, one.as_value());
    return kind == list ? value::list(std::move(items)) : value::map(std::move(members));
  }

  std::string text() const {
    if (kind == plain)
      return to_json(leaf);
    std::string out{kind == list ? '[' : '{'};
    for (const auto& [name, one] : inside)
      out += (out.size() > 1 ? "," : "") + (kind == list ? "" : to_json(value(name)) + ':')
             + one.text();
    return out + (kind == list ? ']' : '}');
  }
};

class json_trees {
public:
  explicit json_trees(unsigned seed) : dice_{seed} {}

  /// A whole schema; some parts of it are in `$defs`.
  value schema() {
    defs_ = value::map({{"y", schema_part(0)}});
    defs_ = defs_.with("x", schema_part(2)); // which may be of y's
    auto whole = chance(2) ? object_schema(3) : schema_part(3);
    return whole.with("$defs", defs_);
  }

  /// JSON with keywords, also where they make no sense, or that is not a schema at all.
  value any_schema(int depth = 4) {
    auto junk = [this] { return value::list({value(1), "a", -3, nullptr, true})[below(5)]; };
    if (chance(12))
      return junk();
    auto one = [&]() -> value { return depth > 0 && !chance(9) ? any_schema(depth - 1) : junk(); };
    auto out = value::map();
    for (auto n = below(4) + 1; n > 0; --n) {
      auto word = std::string{one_of_words(
        {"type",  "enum",        "const",    "properties", "required",  "additionalProperties",
         "items", "prefixItems", "minItems", "maxItems",   "minLength", "maxLength",
         "anyOf", "oneOf",       "allOf",    "$ref",       "type",      "properties",
         "anyOf", "$ref"})};
      value v;
      if (chance(15))
        v = junk();
      else if (word == "type")
        v = one_of_words({"object", "array", "string", "integer", "null"});
      else if (word == "enum" || word == "required")
        v = value::list({"a", one_of_words({"a", "b", "c"})});
      else if (word == "properties")
        v = value{{"a", one()}, {"b", one()}};
      else if (word == "anyOf" || word == "allOf" || word == "prefixItems")
        v = value::list({one(), one()});
      else if (word.starts_with("m"))
        v = static_cast<std::int64_t>(below(4));
      else if (word == "$ref")
        v = one_of_words({"#", "#/properties/a", "#/$defs/x", "#/items"});
      else
        v = one();
      out = out.with(word, v);
    }
    return depth == 4 ? out.with("$defs", value{{"x", any_schema(1)}}) : out;
  }

  /// Errors: none, for what schema() made.
  json_tree fitting(const value& schema) {
    if (const auto& ref = schema["$ref"]; ref.is_string())
      return fitting(defs_[ref.as_string().substr(8)]);
    if (const auto& forms = schema["anyOf"]; forms.is_list())
      return fitting(one_of(forms));
    if (schema["enum"].is_list())
      return tree_of(one_of(schema["enum"]));
    if (schema.contains("const"))
      return tree_of(schema["const"]);
    const auto& type = schema["type"];
    auto name = type.is_list() ? one_of(type) : type;
    if (name == value("object"))
      return fitting_object(schema);
    if (name == value("array"))
      return fitting_list(schema);
    if (schema["minimum"].is_int() || schema["maximum"].is_int())
      return {static_cast<std::int64_t>(between(schema, "minimum", "maximum"))};
    if (name == value("string"))
      return {text(between(schema, "minLength", "maxLength"))};
    return {scalar(name)};
  }

  /// With one thing in it that is another one now, is missing, or is there too.
  json_tree changed(const json_tree& from) {
    auto out = from;
    std::vector<json_tree*> all;
    note(out, all);
    auto& one = *all[below(all.size())];
    if (one.kind == json_tree::plain || chance(3))
      one = {scalar(value(one_of_words({"null", "boolean", "integer", "number", "string"})))};
    else if (one.inside.empty() || chance(2))
      one.inside.emplace_back(chance(2) ? "a" : "new", json_tree{scalar(value("integer"))});
    else
      one.inside.erase(one.inside.begin() + static_cast<std::ptrdiff_t>(below(one.inside.size())));
    return out;
  }

private:
  std::size_t below(std::size_t n) { return dice_() % n; }
  bool chance(unsigned in) { return below(in) == 0; }
  const value& one_of(const value& list) { return list[below(list.size())]; }
  const char* one_of_words(std::initializer_list<const char*> words) {
    return words.begin()[below(words.size())];
  }

  static void note(json_tree& at, std::vector<json_tree*>& all) {
    all.push_back(&at);
    for (auto& [name, one] : at.inside)
      note(one, all);
  }

  static json_tree tree_of(const value& v) {
    json_tree out{v};
    if (v.is_list())
      out.kind = json_tree::list;
    else if (v.is_map())
      out.kind = json_tree::object;
    for (const auto& item : v.items())
      out.inside.emplace_back("", tree_of(item));
    for (const auto& e : v.entries())
      out.inside.emplace_back(e.key(), tree_of(e.val));
    return out;
  }

  // ---- schemas ----------------------------------------------------------------------------------

  value schema_part(int depth) {
    switch (below(depth > 0 ? 11 : 6)) {
      case 0: return {{"type", one_of_words({"null", "boolean", "integer", "number"})}};
      case 1: return with_bounds({{"type", "string"}}, "minLength", "maxLength");
      case 2: return {{"enum", value::list({"a", 1, nullptr, 2.5, "\"\\\n", value::list({1})})}};
      case 3: return {{"const", value::map({{"k", one_of_words({"ä", "z"})}})}};
      case 4: return {{"type", value::list({"string", "null", "integer"})}};
      case 5: return with_bounds({{"type", "integer"}}, "minimum", "maximum");
      case 6: return {{"$ref", std::string{"#/$defs/"} + (depth > 2 ? "x" : "y")}};
      case 7: {
        auto forms = value::list({schema_part(depth - 1), schema_part(depth - 1)});
        return {{"anyOf", forms}, {"title", "t"}};
      }
      case 8: return list_schema(depth);
      default: return object_schema(depth);
    }
  }

  value with_bounds(value schema, const char* least, const char* most) {
    auto from = static_cast<std::int64_t>(below(3));
    if (chance(2))
      schema = schema.with(least, from);
    if (chance(2))
      schema = schema.with(most, from + static_cast<std::int64_t>(below(3)));
    return schema;
  }

  value list_schema(int depth) {
    auto out = value{{"type", "array"}, {"items", schema_part(depth - 1)}};
    if (chance(3))
      out = out.with("prefixItems", value::list({schema_part(0), schema_part(0)}));
    return with_bounds(out, "minItems", "maxItems");
  }

  value object_schema(int depth) {
    auto properties = value::map();
    auto required = value::list();
    for (const auto* name : {"a", "ab", "b\"", "ß"}) {
      if (chance(3))
        continue;
      properties = properties.with(name, schema_part(depth - 1));
      if (chance(2))
        required = chance(2) ? required.append(name)
                             : value::list({value(name)}).append_all(required.items());
    }
    auto out = value{{"type", "object"}, {"properties", properties}, {"required", required}};
    switch (below(3)) {
      case 0: return out.with("additionalProperties", schema_part(0));
      case 1: return out.with("additionalProperties", false);
      default: return out;
    }
  }

  // ---- what fits --------------------------------------------------------------------------------

  std::size_t between(const value& schema, const char* least, const char* most) {
    auto from = schema[least].is_int() ? schema[least].as_int() : 0;
    auto to = schema[most].is_int() ? schema[most].as_int() : from + 2;
    return static_cast<std::size_t>(from) + below(static_cast<std::size_t>(to - from + 1));
  }

  std::string text(std::size_t characters) {
    std::string out;
    for (; characters > 0; --characters)
      out += one_of_words({"a", "Z", "ä", "😀", "\"", "\\", "\n", "\x01", "\x7f", " ", "]", "{"});
    return out;
  }

  value scalar(const value& type) {
    if (type == value("null"))
      return {};
    if (type == value("boolean"))
      return chance(2);
    if (type == value("string"))
      return text(below(4));
    auto whole = static_cast<std::int64_t>(dice_()) >> below(32);
    if (type == value("integer"))
      return chance(2) ? whole : -whole;
    return static_cast<double>(whole) / (chance(2) ? 1e5 : 3e-9);
  }

  json_tree fitting_list(const value& schema) {
    json_tree out{.kind = json_tree::list};
    const auto& first = schema["prefixItems"];
    for (auto n = between(schema, "minItems", "maxItems"); n > 0; --n) {
      auto i = out.inside.size();
      out.inside.emplace_back("", fitting(i < first.size() ? first[i] : schema["items"]));
    }
    return out;
  }

  json_tree fitting_object(const value& schema) {
    json_tree out{.kind = json_tree::object};
    const auto& properties = schema["properties"];
    auto required = schema["required"].items();
    for (const auto& name : required)
      out.inside.emplace_back(name.as_string(), fitting(properties[name.as_string()]));
    for (const auto& e : properties.entries())
      if (std::ranges::find(required, e.key_value) == required.end() && chance(2))
        out.inside.emplace_back(e.key(), fitting(e.val));
    const auto& others = schema["additionalProperties"];
    for (const auto* name : {"aß", "", "b"})
      if (others.is_map() && chance(2))
        out.inside.emplace_back(name, fitting(others));
    return out;
  }

  std::mt19937 dice_;
  value defs_;
};

} // namespace troupe::test
