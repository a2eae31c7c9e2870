// gbnf_keywords: reading the keywords of JSON Schemas.
#include "agents/grammar/gbnf_keywords.hpp"

#include <troupe/error.hpp>

#include <algorithm>
#include <cmath>
#include <set>

namespace troupe::gbnf {
namespace {

constexpr std::array<std::pair<std::string_view, unsigned>, 7> type_names{
  {{"null", null_kind},
   {"boolean", boolean_kind},
   {"integer", integer_kind},
   {"number", integer_kind | fraction_kind},
   {"string", text_kind},
   {"array", list_kind},
   {"object", object_kind}}};

// The kind of value that each keyword is about, for schemas without a type.
constexpr std::array<std::pair<std::string_view, unsigned>, 13> meant_by{
  {{"properties", object_kind},
   {"required", object_kind},
   {"additionalProperties", object_kind},
   {"items", list_kind},
   {"prefixItems", list_kind},
   {"minItems", list_kind},
   {"maxItems", list_kind},
   {"minLength", text_kind},
   {"maxLength", text_kind},
   {"minimum", integer_kind | fraction_kind},
   {"maximum", integer_kind | fraction_kind},
   {"exclusiveMinimum", integer_kind | fraction_kind},
   {"exclusiveMaximum", integer_kind | fraction_kind}}};

constexpr std::array<std::string_view, 7> other_keywords{"type",  "enum",  "const", "anyOf",
                                                         "oneOf", "allOf", "$ref"};

unsigned kinds_of_type(const value& type, const std::string& at) {
  if (type.is_list()) {
    unsigned any = 0;
    for (const auto& one : type.items())
      any |= kinds_of_type(one.is_string() ? one : value{}, at);
    return any;
  }
  for (auto [name, kinds] : type_names)
    if (type == value(name))
      return kinds;
  refuse(at + "/type", "unknown type: " + to_json(type));
}

} // namespace

void refuse(const std::string& at, const std::string& why) {
  throw error{errc::invalid_value, "make a grammar: `" + at + "`: " + why};
}

unsigned kinds_of(const conjunction& all) {
  unsigned typed = all_kinds;
  unsigned meant = 0;
  bool has_type = false;
  for (const auto& [schema, at] : all) {
    if (schema.contains("type")) {
      typed &= kinds_of_type(schema["type"], at);
      has_type = true;
    }
    for (auto [name, kinds] : meant_by)
      if (schema.contains(name))
        meant |= kinds;
  }
  return has_type || meant == 0 ? typed : meant;
}

value said_by(const value& schema) {
  std::vector<value::map_init> out;
  for (const auto& e : schema.entries())
    if (std::ranges::find(other_keywords, e.key()) != other_keywords.end()
        || std::ranges::any_of(meant_by, [&e](auto& one) { return one.first == e.key(); }))
      out.emplace_back(std::string{e.key()}, e.val);
  return value::map(std::move(out));
}

value flat(const value& schema) {
  return schema.without("properties")
    .without("additionalProperties")
    .without("items")
    .without("prefixItems");
}

const value& list_at(const placed& in, std::string_view keyword) {
  const auto& list = in.schema[keyword];
  if (!list.is_list())
    refuse(in.at + '/' + std::string{keyword}, "not a list");
  return list;
}

placed below(const placed& in, std::string_view keyword, const value& part) {
  return {part, in.at + '/' + std::string{keyword}};
}

bounds bounds_of(const conjunction& all, std::string_view least, std::string_view most) {
  bounds out;
  auto count = [](const placed& in, std::string_view keyword) {
    const auto& n = in.schema[keyword];
    if (!n.is_int())
      refuse(in.at + '/' + std::string{keyword}, "not an integer");
    return n.as_int();
  };
  for (const auto& one : all) {
    if (one.schema.contains(least))
      out.least = std::max(out.least, count(one, least));
    if (one.schema.contains(most))
      out.most = std::min(out.most.value_or(INT64_MAX), count(one, most));
  }
  return out;
}

value key_of(const conjunction& all) {
  std::vector<value> schemas;
  for (const auto& one : all)
    schemas.push_back(one.schema);
  return value::list(std::move(schemas));
}

whole_numbers whole_numbers_of(const conjunction& all) {
  whole_numbers out;
  auto clamped = [](double number) {
    constexpr auto beyond = whole_number_max + 1;
    constexpr auto most = static_cast<double>(beyond);
    return number >= most ? beyond : number <= -most ? -beyond : static_cast<std::int64_t>(number);
  };
  for (const auto& [schema, at] : all) {
    auto at_least = [&, &from = schema](const char* keyword, bool beyond) {
      const auto& n = from[keyword];
      if (n.is_number() && !std::isnan(n.as_double()))
        out.least = std::max(out.least, clamped(beyond ? std::floor(n.as_double()) + 1
                                                       : std::ceil(n.as_double())));
    };
    auto at_most = [&, &from = schema](const char* keyword, bool beyond) {
      const auto& n = from[keyword];
      if (n.is_number() && !std::isnan(n.as_double()))
        out.most = std::min(out.most, clamped(beyond ? std::ceil(n.as_double()) - 1
                                                     : std::floor(n.as_double())));
    };
    at_least("minimum", false);
    at_least("exclusiveMinimum", true);
    at_most("maximum", false);
    at_most("exclusiveMaximum", true);
  }
  return out;
}

std::size_t first_items_of(const conjunction& all) {
  std::size_t first = 0;
  for (const auto& one : all)
    if (one.schema.contains("prefixItems"))
      first = std::max(first, list_at(one, "prefixItems").size());
  return first;
}

conjunction item_at(const conjunction& all, std::size_t i) {
  conjunction out;
  for (const auto& one : all) {
    const auto& prefix = one.schema["prefixItems"];
    if (i < prefix.size())
      out.push_back(below(one, "prefixItems", prefix[i]));
    else if (one.schema.contains("items"))
      out.push_back(below(one, "items", one.schema["items"]));
  }
  return out;
}

std::vector<std::string> required_of(const conjunction& all) {
  std::vector<std::string> out;
  std::set<std::string> known;
  for (const auto& one : all)
    if (one.schema.contains("required"))
      for (const auto& name : list_at(one, "required").items()) {
        if (!name.is_string())
          refuse(one.at + "/required", "not a list of names");
        if (auto text = name.as<std::string>(); known.insert(text).second)
          out.push_back(std::move(text));
      }
  return out;
}

std::vector<std::string> properties_of(const conjunction& all) {
  std::set<std::string> out;
  for (const auto& one : all) {
    if (!one.schema.contains("properties"))
      continue;
    if (!one.schema["properties"].is_map())
      refuse(one.at + "/properties", "not an object");
    for (const auto& e : one.schema["properties"].entries())
      out.emplace(e.key());
  }
  return {out.begin(), out.end()};
}

conjunction member_at(const conjunction& all, const std::string& name) {
  conjunction out;
  for (const auto& one : all) {
    const auto& properties = one.schema["properties"];
    if (properties.contains(name))
      out.push_back(below(one, "properties/" + name, properties[name]));
    else if (one.schema.contains("additionalProperties"))
      out.push_back(below(one, "additionalProperties", one.schema["additionalProperties"]));
  }
  return out;
}

std::optional<conjunction> further_members_of(const conjunction& all) {
  conjunction out;
  bool has_properties = false;
  for (const auto& one : all) {
    has_properties = has_properties || one.schema.contains("properties");
    if (one.schema.contains("additionalProperties"))
      out.push_back(below(one, "additionalProperties", one.schema["additionalProperties"]));
  }
  if (out.empty() && has_properties)
    return std::nullopt;
  return out;
}

} // namespace troupe::gbnf
