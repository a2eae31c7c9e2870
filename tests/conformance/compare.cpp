#include "tests/conformance/compare.hpp"

#include <set>

namespace troupe::conformance {
namespace {

using pointer = answer_json::json_pointer;

std::optional<difference> compare(const pointer& at, const answer_json& expected,
                                  const answer_json& got);

std::optional<difference> compare_lists(const pointer& at, const answer_json& expected,
                                        const answer_json& got) {
  for (std::size_t i = 0; i < std::min(expected.size(), got.size()); ++i)
    if (auto found = compare(at / i, expected[i], got[i]))
      return found;
  auto i = std::min(expected.size(), got.size());
  auto end = (at / i).to_string();
  if (i < expected.size())
    return difference{end, expected[i], std::nullopt};
  if (i < got.size())
    return difference{end, std::nullopt, got[i]};
  return std::nullopt;
}

std::optional<difference> compare_objects(const pointer& at, const answer_json& expected,
                                          const answer_json& got) {
  std::set<std::string> keys;
  for (const auto* object : {&expected, &got})
    for (const auto& [key, member] : object->items())
      keys.insert(key);
  for (const auto& key : keys) {
    if (!got.contains(key))
      return difference{(at / key).to_string(), expected.at(key), std::nullopt};
    if (!expected.contains(key))
      return difference{(at / key).to_string(), std::nullopt, got.at(key)};
    if (auto found = compare(at / key, expected.at(key), got.at(key)))
      return found;
  }
  return std::nullopt;
}

std::optional<difference> compare(const pointer& at, const answer_json& expected,
                                  const answer_json& got) {
  if (expected.is_array() && got.is_array())
    return compare_lists(at, expected, got);
  if (expected.is_object() && got.is_object())
    return compare_objects(at, expected, got);
  if (expected == got) // numbers of either kind by value
    return std::nullopt;
  return difference{at.to_string(), expected, got};
}

std::string shown(const std::optional<answer_json>& document) {
  return document ? document->dump(-1, ' ', false, answer_json::error_handler_t::replace)
                  : "nothing";
}

} // namespace

std::string difference::text() const {
  return pointer + ", expected " + shown(expected) + ", got " + shown(got);
}

std::optional<difference> first_difference(const answer_json& expected, const answer_json& got) {
  return compare(pointer{}, expected, got);
}

} // namespace troupe::conformance
