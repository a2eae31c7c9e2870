// The conversions of containers: what does not depend on the types of their elements.
#include <troupe/value_containers.hpp>

#include <algorithm>

namespace troupe::detail {

void expect_elements(const value& v, std::size_t size) {
  auto wanted = "read a list of " + std::to_string(size) + ": ";
  if (!v.is_list())
    throw error{errc::invalid_value, wanted + "it is " + std::string{to_string(v.kind())}};
  if (v.size() != size)
    throw error{errc::invalid_value, wanted + "it has " + std::to_string(v.size())};
}

value list_in_order(std::vector<value> items) {
  std::vector<std::pair<std::string, value>> keyed;
  keyed.reserve(items.size());
  for (auto& item : items)
    keyed.emplace_back(to_msgpack(item).value(), std::move(item));
  std::sort(keyed.begin(), keyed.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<value> out;
  out.reserve(keyed.size());
  for (auto& [key, item] : keyed)
    out.push_back(std::move(item));
  return value::list(std::move(out));
}

error no_alternative(const std::vector<std::string>& reasons) {
  std::string text = "read a variant: no alternative fits";
  for (const auto& why : reasons)
    text += "; " + why;
  return {errc::invalid_value, std::move(text)};
}

} // namespace troupe::detail
