#include "tests/conformance/term.hpp"

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

std::vector<destination> destinations_of(const term& t) {
  auto where = t.to_value();
  if (!where.is_list())
    return {destination_of(where)};
  std::vector<destination> out;
  for (const auto& v : where.items())
    out.push_back(destination_of(v));
  return out;
}

} // namespace troupe::conformance
