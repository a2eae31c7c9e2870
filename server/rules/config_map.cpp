// config_map: members by kind, and names that are known.
#include "server/rules/config_map.hpp"

#include "graph/nearest_name.hpp"

#include <algorithm>
#include <utility>

namespace troupe::server {

namespace {

std::string listed_names(const std::vector<std::string_view>& names) {
  std::string out;
  for (auto name : names)
    out.append(out.empty() ? "" : ", ").append(name);
  return out;
}

} // namespace

config_map::config_map(value given, std::string path, const std::vector<std::string_view>& names)
  : given_(given.is_null() ? value::map() : std::move(given)), // braces would make a list
    path_{std::move(path)} {
  if (!given_.is_map())
    throw error{errc::invalid_config, (path_.empty() ? "it" : path_) + " is not an object"};
  for (const auto& entry : given_.entries()) {
    if (std::ranges::find(names, entry.key()) != names.end())
      continue;
    auto nearest = nearest_name(entry.key(), names);
    throw error{errc::invalid_config,
                "unknown key `" + path_of(entry.key()) + "`: "
                  + (nearest.empty() ? "known ones are " + listed_names(names)
                                     : "did you mean " + std::string{nearest} + '?')};
  }
}

std::string config_map::path_of(std::string_view name) const {
  return (path_.empty() ? "" : path_ + '.').append(name);
}

error config_map::wrong(std::string_view name, std::string_view why) const {
  return {errc::invalid_config, path_of(name).append(" ").append(why)};
}

config_map config_map::map(std::string_view name,
                           const std::vector<std::string_view>& names) const {
  return {given_[name], path_of(name), names};
}

std::optional<std::string> config_map::text(std::string_view name) const {
  if (!has(name))
    return std::nullopt;
  if (!given_[name].is_string() || given_[name].empty())
    throw wrong(name, "is not a text");
  return given_[name].as<std::string>();
}

std::optional<bool> config_map::flag(std::string_view name) const {
  if (!has(name))
    return std::nullopt;
  if (!given_[name].is_bool())
    throw wrong(name, "is not true or false");
  return given_[name].as_bool();
}

std::optional<std::int64_t> config_map::whole(std::string_view name, std::int64_t at_least,
                                              std::int64_t at_most) const {
  if (!has(name))
    return std::nullopt;
  const auto& given = given_[name];
  if (!given.is_int() || given.as_int() < at_least || given.as_int() > at_most)
    throw wrong(name, "is not a whole number from " + std::to_string(at_least) + " to "
                        + std::to_string(at_most));
  return given.as_int();
}

std::optional<double> config_map::amount(std::string_view name, double at_most) const {
  if (!has(name))
    return std::nullopt;
  const auto& given = given_[name];
  if (!given.is_number() || !(given.as_double() > 0) || given.as_double() > at_most)
    throw wrong(name, "is not a number above 0, and at most "
                        + std::to_string(static_cast<std::int64_t>(at_most)));
  return given.as_double();
}

std::optional<std::vector<std::string>> config_map::texts(std::string_view name) const {
  if (!has(name))
    return std::nullopt;
  std::vector<std::string> out;
  if (!given_[name].is_list())
    throw wrong(name, "is not a list of texts");
  for (const auto& one : given_[name].items()) {
    if (!one.is_string() || one.empty())
      throw wrong(name, "is not a list of texts");
    out.emplace_back(one.as_string());
  }
  return out;
}

std::vector<std::pair<std::string, std::string>> config_map::pairs(std::string_view name) const {
  std::vector<std::pair<std::string, std::string>> out;
  if (!has(name))
    return out;
  if (!given_[name].is_map())
    throw wrong(name, "is not an object");
  for (const auto& entry : given_[name].entries()) {
    if (!entry.val.is_string())
      throw wrong(std::string{name}.append(".").append(entry.key()), "is not a text");
    out.emplace_back(entry.key(), entry.val.as_string());
  }
  return out;
}

} // namespace troupe::server
