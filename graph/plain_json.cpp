// Plain JSON to values and back: objects with `$` members are ordinary maps
// (troupe/plain_json.hpp).
#include <troupe/plain_json.hpp>

#include <troupe/limits.hpp>

#include <nlohmann/json.hpp>

#include <limits>

namespace troupe {
namespace {

error no_plain_json(const std::string& why) {
  return {errc::invalid_value, "read JSON: " + why};
}

value plain_value(const nlohmann::json& from, std::size_t depth) {
  using kind = nlohmann::json::value_t;
  if (from.is_structured() && depth >= limits::value_depth_max)
    throw no_plain_json("more than " + std::to_string(limits::value_depth_max) + " levels");
  switch (from.type()) {
    case kind::boolean: return from.get<bool>();
    case kind::number_integer: return from.get<std::int64_t>();
    case kind::number_unsigned:
      if (auto n = from.get<std::uint64_t>(); n > std::numeric_limits<std::int64_t>::max())
        return static_cast<double>(n);
      return from.get<std::int64_t>();
    case kind::number_float: return from.get<double>();
    case kind::string: return from.get_ref<const std::string&>();
    case kind::array: {
      std::vector<value> items;
      items.reserve(from.size());
      for (const auto& item : from)
        items.push_back(plain_value(item, depth + 1));
      return value::list(std::move(items));
    }
    case kind::object: {
      std::vector<value::map_init> entries;
      entries.reserve(from.size());
      for (const auto& [key, item] : from.items())
        entries.emplace_back(key, plain_value(item, depth + 1));
      return value::map(std::move(entries));
    }
    default: return {};
  }
}

} // namespace

result<value> read_plain_json(std::string_view text) {
  if (text.size() > limits::json_size_bytes_max)
    return no_plain_json("more than " + std::to_string(limits::json_size_bytes_max) + " bytes");
  try {
    return plain_value(nlohmann::json::parse(text), 0);
  } catch (const nlohmann::json::exception& e) {
    return no_plain_json(e.what());
  } catch (const error& e) {
    return e;
  }
}

} // namespace troupe
