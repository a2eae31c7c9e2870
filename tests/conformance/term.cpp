#include "tests/conformance/term.hpp"

#include <troupe/message.hpp>

#include <algorithm>

namespace troupe::conformance {
namespace {

bool is_true(const value& v) {
  switch (v.kind()) {
    case value_kind::null: return false;
    case value_kind::boolean: return v.as_bool();
    case value_kind::integer: return v.as_int() != 0;
    case value_kind::floating: return v.as_double() != 0.0;
    case value_kind::string:
    case value_kind::bytes:
    case value_kind::list:
    case value_kind::map: return !v.empty();
    default: return true;
  }
}

value list_value(const term::list_type& items) {
  std::vector<value> out;
  for (const auto& item : items)
    out.push_back(item.to_value());
  return value::list(std::move(out));
}

value map_value(const term::object_type& members) {
  std::vector<value::map_init> out;
  for (const auto& [key, member] : members)
    out.emplace_back(key, member.to_value());
  return value::map(std::move(out));
}

value message_value(const term::message_type& t) {
  message out;
  for (const auto& [key, member] : t.members) {
    auto v = member.to_value();
    if (key == "role")
      out.role = v.as_string();
    else if (key == "content")
      out.content = v;
    else if (key == "id" && !v.is_null())
      out.id = v.as_string();
    else if (!v.is_null())
      out.more = out.more.with(key, v);
  }
  return value::of(out);
}

term list_term(const script_json& literal) {
  term::list_type out;
  for (const auto& item : literal)
    out.push_back(term_of(item));
  return out;
}

term object_term(const script_json& literal) {
  term::object_type out;
  for (const auto& [key, member] : literal.items())
    out.emplace_back(key, term_of(member));
  return out;
}

value scalar(const script_json& literal) {
  switch (literal.type()) {
    case script_json::value_t::boolean: return literal.get<bool>();
    case script_json::value_t::number_integer:
    case script_json::value_t::number_unsigned: return literal.get<std::int64_t>();
    case script_json::value_t::number_float: return literal.get<double>();
    case script_json::value_t::string: return literal.get_ref<const std::string&>();
    default: return {};
  }
}

std::string joined(const std::vector<std::string>& parts) {
  std::string out;
  for (const auto& part : parts)
    out += (out.empty() ? "" : ", ") + part;
  return out;
}

std::string list_text(const term::list_type& items) {
  std::vector<std::string> parts;
  for (const auto& item : items)
    parts.push_back(json_text(item));
  return '[' + joined(parts) + ']';
}

std::string object_text(const term::object_type& members) {
  std::vector<std::string> parts;
  for (const auto& [key, member] : members)
    parts.push_back(to_json(key) + ": " + json_text(member));
  return '{' + joined(parts) + '}';
}

// The same with what a value holds for its parts.
term opened(const value& v) {
  if (v.is_list())
    return term::list_type(v.items().begin(), v.items().end());
  term::object_type members;
  for (const auto& entry : v.entries())
    members.emplace_back(std::string{entry.key()}, entry.val);
  return members;
}

bool holds_command(const term::list_type& items) {
  return std::any_of(items.begin(), items.end(), [](const term& t) { return t.as_command(); });
}

void add_part(node_output& out, const term& t) {
  if (auto* c = t.as_command())
    out.parts.emplace_back(*c);
  else if (auto update = update_of(t); !update.empty())
    out.parts.emplace_back(std::move(update));
}

destination destination_of(const value& v) {
  if (v.is(value_kind::send))
    return v.as<send>();
  if (v.is_null())
    return std::string{};
  if (v.is_bool())
    return std::string{v.as_bool() ? "true" : "false"};
  return std::string{v.as_string()};
}

} // namespace

value term::to_value() const {
  if (as_command())
    throw error{errc::invalid_value, "evaluate a case: a command stands where a value must"};
  if (auto* items = as_list())
    return list_value(*items);
  if (auto* members = as_object())
    return map_value(*members);
  if (auto* message = as_message())
    return message_value(*message);
  return std::get<value>(rep_);
}

bool term::is_null() const {
  auto* v = std::get_if<value>(&rep_);
  return v && v->is_null();
}

bool term::is_true() const {
  if (auto* v = std::get_if<value>(&rep_))
    return conformance::is_true(*v);
  if (auto* items = as_list())
    return !items->empty();
  if (auto* members = as_object())
    return !members->empty();
  return true;
}

const term& member_of(const term::object_type& members, std::string_view name) {
  static const term nothing;
  auto found = std::find_if(members.begin(), members.end(),
                            [name](const auto& member) { return member.first == name; });
  return found == members.end() ? nothing : found->second;
}

term term_of(const script_json& literal) {
  if (literal.is_array())
    return list_term(literal);
  if (literal.is_object())
    return object_term(literal);
  return scalar(literal);
}

value value_of(const script_json& literal) {
  return term_of(literal).to_value();
}

state_update update_of(const term& t) {
  auto* members = t.as_object();
  if (!members)
    return state_update{t.to_value()};
  state_update out;
  for (const auto& [channel, written] : *members)
    out.set(channel, written.to_value());
  return out;
}

node_output output_of(const term& t) {
  node_output out;
  auto* items = t.as_list();
  if (!items || !holds_command(*items)) {
    add_part(out, t);
    return out;
  }
  for (const auto& item : *items)
    add_part(out, item);
  return out;
}

run_input input_of(const term& t) {
  if (t.is_null())
    return nullptr;
  if (auto* c = t.as_command())
    return *c;
  if (t.as_object())
    return update_of(t); // keeps the order of the channels
  return t.to_value();
}

std::vector<destination> destinations_of(const term& t) {
  auto where = t.to_value();
  if (!where.is_list())
    return {destination_of(where)};
  std::vector<destination> out;
  for (const auto& v : where.items())
    out.push_back(destination_of(v));
  return out;
}

std::string json_text(const term& t) {
  if (auto* items = t.as_list())
    return list_text(*items);
  if (auto* members = t.as_object())
    return object_text(*members);
  auto v = t.to_value();
  return v.is_list() || v.is_map() ? json_text(opened(v)) : to_json(v);
}

} // namespace troupe::conformance
