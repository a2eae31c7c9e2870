// value_traits: the conversions of bytes, the errors of conversions, and the schemas of types.
#include <troupe/json_schema.hpp>
#include <troupe/state.hpp>
#include <troupe/value_fit.hpp>

#include <algorithm>
#include <span>

namespace troupe {

value value_traits<std::vector<std::byte>>::to(const std::vector<std::byte>& data) {
  return value::bytes(data);
}

std::vector<std::byte> value_traits<std::vector<std::byte>>::from(const value& v) {
  auto data = v.as_bytes();
  return {data.begin(), data.end()};
}

namespace detail {

void throw_too_large(std::uint64_t i) {
  throw error{errc::invalid_value, "store an integer: out of range: " + std::to_string(i)};
}

void throw_does_not_fit(std::int64_t i) {
  throw error{errc::invalid_value, "read an integer: out of range: " + std::to_string(i)};
}

void throw_is_not(const char* kind) {
  throw error{errc::invalid_value, std::string{"read a "} + kind + ": the value is not a " + kind};
}

void throw_at_member(const char* type, std::string_view member, const error& e) {
  throw error{e.code(), std::string{"read state "} + type + ": `" + std::string{member}
                          + "`: " + e.message()};
}

void throw_not_members_of(const char* type, const value& v) {
  throw error{errc::invalid_value, std::string{"a map is expected, with the members of "} + type
                                     + ": it is " + std::string{to_string(v.kind())}};
}

void throw_missing_member(std::string_view member) {
  throw error{errc::invalid_value, "member `" + std::string{member}
                                     + "` is missing: give it, or declare it as std::optional"};
}

void check_names(const value& v, std::initializer_list<std::string_view> known, const char* type) {
  for (const auto& e : v.entries())
    if (std::ranges::find(known, e.key()) == known.end())
      throw error{errc::invalid_value,
                  std::string{type} + " has no member `" + std::string{e.key()} + "`"};
}

void throw_undeclared_member(const char* type) {
  throw error{errc::invalid_update, std::string{"set a member of "} + type
                                      + ": its TROUPE_STATE declaration does not name it"};
}

std::string unfit_kind(const value& v) {
  return "it is " + std::string{to_string(v.kind())};
}

std::span<const value> checked_elements(const value& v) noexcept {
  auto items = v.items();
  return items.last(std::min(items.size(), limits::typed_elements_checked_max));
}

} // namespace detail

bool detail::allows_null(const value& schema) {
  auto alternatives = schema["anyOf"].items();
  return std::any_of(alternatives.begin(), alternatives.end(),
                     [](const value& one) { return one["type"] == value("null"); });
}

value json_schema_traits<bool>::make() {
  return {{"type", "boolean"}};
}

value json_schema_traits<std::string>::make() {
  return {{"type", "string"}};
}

value json_schema_traits<std::vector<std::byte>>::make() {
  value base64{{"type", "string"}, {"contentEncoding", "base64"}};
  return {{"type", "object"},
          {"patternProperties", value::map({{"^[$]bytes$", std::move(base64)}})},
          {"required", value::list({"$bytes"})}};
}

value detail::type_schema(const char* name) {
  return {{"type", name}};
}

value detail::optional_schema(value of) {
  return {{"anyOf", value::list({std::move(of), value{{"type", "null"}}})}};
}

value detail::list_schema(value items) {
  return {{"type", "array"}, {"items", std::move(items)}};
}

value detail::map_schema(value values) {
  return {{"type", "object"}, {"additionalProperties", std::move(values)}};
}

value detail::struct_schema(const char* title, std::vector<value::map_init> members) {
  std::vector<value> required;
  for (const auto& [name, schema] : members)
    if (!allows_null(schema))
      required.emplace_back(name);
  return {{"title", title},
          {"type", "object"},
          {"properties", value::map(std::move(members))},
          {"required", value::list(std::move(required))}};
}

} // namespace troupe
