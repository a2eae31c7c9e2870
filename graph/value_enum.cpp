// The conversion of enums: names in the text of a TROUPE_ENUM declaration.
#include <troupe/value_enum.hpp>

#include <optional>
#include <string>
#include <vector>

namespace troupe::detail {
namespace {

std::vector<std::string_view> split_enum_names(std::string_view list) {
  std::vector<std::string_view> out;
  while (!list.empty()) {
    auto end = std::min(list.find(','), list.size());
    auto name = list.substr(0, end);
    list.remove_prefix(std::min(end + 1, list.size()));
    auto first = std::min(name.find_first_not_of(' '), name.size());
    auto last = name.find_last_not_of(' ');
    out.push_back(name.substr(first, last == name.npos ? 0 : last + 1 - first));
  }
  return out;
}

std::optional<std::size_t> find_enum_name(const enum_names& text, std::string_view name) {
  auto names = split_enum_names(text.names);
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == name)
      return i;
  return std::nullopt;
}

} // namespace

value enum_value(const enum_names& text, std::size_t index) {
  auto names = split_enum_names(text.names);
  if (index >= names.size())
    throw error{errc::invalid_value, "store an enum: TROUPE_ENUM names no enumerator of "
                                       + std::string{text.type} + " with this number"};
  return names[index];
}

std::size_t enum_index(const enum_names& text, const value& v) {
  auto name = v.as_string();
  if (auto at = find_enum_name(text, name))
    return *at;
  throw error{errc::invalid_value, "read an enum: `" + std::string{name} + "` is not a "
                                     + std::string{text.type} + ", which has "
                                     + std::string{text.names}};
}

bool is_enum_name(const enum_names& text, const value& v) noexcept {
  return v.is_string() && find_enum_name(text, v.as_string());
}

value enum_schema(const enum_names& text) {
  std::vector<value> names;
  for (auto name : split_enum_names(text.names))
    names.emplace_back(name);
  return {{"type", "string"}, {"enum", value::list(std::move(names))}};
}

} // namespace troupe::detail
