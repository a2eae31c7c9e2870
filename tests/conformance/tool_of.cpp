#include "tests/conformance/tool_of.hpp"

#include "tests/conformance/body.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>

namespace troupe::conformance {
namespace {

// ---- what a tool is given -------------------------------------------------------------------

bool is_optional(std::string_view kind) {
  return kind.ends_with('?');
}

value schema_of(std::string_view kind) {
  static const std::map<std::string_view, const char*> types{
    {"string", "string"}, {"int", "integer"}, {"number", "number"},
    {"bool", "boolean"},  {"list", "array"},  {"object", "object"}};
  if (!is_optional(kind))
    return value::map({{"type", types.at(kind)}});
  return value::map(
    {{"type", value::list({value(types.at(kind.substr(0, kind.size() - 1))), value("null")})}});
}

value parameters_of(const script_json& declared) {
  std::vector<value::map_init> properties;
  std::vector<value> required;
  for (const auto& [name, kind] : declared.items()) {
    auto text = kind.get<std::string>();
    properties.emplace_back(name, schema_of(text));
    if (!is_optional(text))
      required.emplace_back(name);
  }
  return value::map({{"type", "object"},
                     {"properties", value::map(std::move(properties))},
                     {"required", value::list(std::move(required))}});
}

tool_options options_of(const script_json& declared) {
  tool_options out;
  out.return_direct = declared.value("return_direct", false);
  out.lane = waits(declared.at("run")) ? lane::blocking : lane::standard;
  for (const auto& [name, source] : member(declared, "inject").items())
    if (source.is_object())
      out.needs.fields.push_back({.name = source.at("state").get<std::string>()});
    else if (source == "store")
      out.needs.store = true;
  return out;
}

value injected(const script_json& source, const tool_runtime& runtime) {
  if (source.is_object())
    return runtime.state()[source.at("state").get<std::string>()];
  if (source == "state")
    return runtime.state();
  return source == "tool_call_id" ? runtime.call()["id"] : value{};
}

// ---- what it gives back ---------------------------------------------------------------------

bool is_message(const term& t) {
  if (t.as_command() || t.as_list() || t.as_object())
    return false;
  return t.as_message() || t.to_value().is(value_kind::message);
}

bool is_block(const term& t) {
  constexpr std::array<std::string_view, 8> types{"text",          "image_url",
                                                  "image",         "json",
                                                  "search_result", "custom_tool_call_output",
                                                  "document",      "file"};
  auto type = t.as_command() ? value{} : t.to_value()["type"];
  return type.is_string() && std::ranges::find(types, type.as_string()) != types.end();
}

// The elements of a list, whoever holds it.
std::optional<term::list_type> elements_of(const term& t) {
  if (const auto* items = t.as_list())
    return *items;
  if (t.as_command() || t.as_object() || t.as_message() || !t.to_value().is_list())
    return std::nullopt;
  auto list = t.to_value();
  return term::list_type(list.items().begin(), list.items().end());
}

tool_output::part part_of(const term& t) {
  if (const auto* c = t.as_command())
    return *c;
  return t.to_value();
}

// Members of an object have an order in JSON text, which values do not keep.
tool_output content_of(const term& t) {
  auto v = t.to_value();
  return v.is_string() ? v : value(json_text(t));
}

tool_output tool_output_of(const term& t) {
  if (const auto* c = t.as_command())
    return *c;
  if (is_message(t))
    return t.to_value();
  auto items = elements_of(t);
  if (!items)
    return content_of(t);
  if (std::ranges::all_of(*items, is_block))
    return t.to_value();
  auto speaks = [](const term& item) { return item.as_command() || is_message(item); };
  if (std::ranges::none_of(*items, speaks))
    return content_of(t);
  std::vector<tool_output::part> parts;
  std::ranges::transform(*items, std::back_inserter(parts), part_of);
  return parts;
}

// ---- tools ----------------------------------------------------------------------------------

tool_output call(const script_json& declared, world& w, const value& args, tool_runtime& runtime) {
  state_view no_input;
  scope s{w, &no_input, &runtime.task()};
  for (const auto& [name, kind] : member(declared, "params").items())
    s.locals.insert_or_assign(name, term{args[name]});
  for (const auto& [name, source] : member(declared, "inject").items())
    s.locals.insert_or_assign(name, term{injected(source, runtime)});
  return tool_output_of(run_body(declared.at("run"), s));
}

} // namespace

std::vector<tool> tools_of(const script_json& declared, world& w) {
  std::vector<tool> out;
  for (const auto& [name, one] : declared.items()) {
    tool_body body;
    body.plain = [&w, &spec = one](const value& args, tool_runtime& runtime) {
      return call(spec, w, args, runtime);
    };
    out.emplace_back(name, one.value("description", std::string{}),
                     parameters_of(member(one, "params")), std::move(body), options_of(one));
  }
  return out;
}

tool_node_options tool_options_of(const script_json& declared) {
  tool_node_options out;
  const auto& errors = member(declared, "handle_tool_errors");
  if (errors.is_boolean())
    out.handle_tool_errors = errors.get<bool>();
  else if (errors.is_string())
    out.handle_tool_errors = errors.get<std::string>();
  else if (errors.is_array())
    out.handle_tool_errors = errors.get<std::vector<std::string>>();
  out.messages_key = declared.value("messages_key", out.messages_key);
  return out;
}

} // namespace troupe::conformance
