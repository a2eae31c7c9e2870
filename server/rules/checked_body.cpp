// checked_body: members by kind.
#include "server/rules/checked_body.hpp"

#include "server/edge/refusal.hpp"

#include <troupe/server/limits.hpp>
#include <troupe/uuid.hpp>

#include <algorithm>
#include <cctype>

namespace troupe::server {

namespace {

std::string shown(const value& v) {
  return shortened(to_json(v), limits::server_echo_bytes_max);
}

refusal wrong_kind_of(std::string_view name, const value& v, std::string_view kind) {
  return {422, std::string{name}.append(": ").append(shown(v)).append(" is not ").append(kind)};
}

refusal none_of(std::string_view name, const value& v, std::span<const std::string_view> names) {
  auto out = std::string{name}.append(": ").append(shown(v)).append(" is not one of ");
  for (std::size_t i = 0; i < names.size(); ++i)
    out.append(i == 0 ? "" : ", ").append(names[i]);
  return {422, std::move(out)};
}

// A UUID as Python reads it: with or without dashes, braces and `urn:uuid:`. Other texts stay.
std::string dashed(std::string_view text) {
  std::string digits{text};
  for (std::string_view prefix : {"urn:", "uuid:"})
    if (digits.starts_with(prefix))
      digits.erase(0, prefix.size());
  std::erase_if(digits, [](char c) { return c == '-' || c == '{' || c == '}'; });
  if (digits.size() != 32)
    return std::string{text};
  for (std::size_t at : {8, 13, 18, 23})
    digits.insert(at, 1, '-');
  return digits;
}

} // namespace

checked_body::checked_body(value body) : body_(std::move(body)) {
  if (body_.is_null())
    body_ = value::map();
  if (!body_.is_map())
    throw refusal{422, "the body is not an object: " + shown(body_)};
}

std::optional<std::string> checked_body::text(std::string_view name) const {
  if (!has(name))
    return std::nullopt;
  if (!body_[name].is_string())
    throw wrong_kind_of(name, body_[name], "a string");
  return std::string{body_[name].as_string()};
}

std::string checked_body::required_text(std::string_view name) const {
  if (auto found = text(name))
    return *found;
  throw refusal{422, std::string{name}.append(": the member is required")};
}

std::optional<std::string> checked_body::id(std::string_view name, std::string_view what) const {
  auto found = text(name);
  return found ? std::optional{checked_id(*found, what)} : std::nullopt;
}

value checked_body::map(std::string_view name) const {
  if (!has(name))
    return value::map();
  if (!body_[name].is_map())
    throw wrong_kind_of(name, body_[name], "an object");
  return body_[name];
}

bool checked_body::flag(std::string_view name, bool otherwise) const {
  if (!has(name))
    return otherwise;
  if (!body_[name].is_bool())
    throw wrong_kind_of(name, body_[name], "true or false");
  return body_[name].as_bool();
}

std::int64_t checked_body::number(std::string_view name, std::int64_t otherwise,
                                  std::int64_t at_least, std::int64_t at_most) const {
  if (!has(name))
    return otherwise;
  const auto& found = body_[name];
  if (!found.is_int())
    throw wrong_kind_of(name, found, "an integer");
  if (found.as_int() < at_least || found.as_int() > at_most)
    throw refusal{422, std::string{name} + ": " + shown(found) + " is not between "
                         + std::to_string(at_least) + " and " + std::to_string(at_most)};
  return found.as_int();
}

std::optional<std::string> checked_body::one_of(std::string_view name,
                                                std::span<const std::string_view> names) const {
  auto found = text(name);
  if (found && std::ranges::find(names, *found) == names.end())
    throw none_of(name, body_[name], names);
  return found;
}

std::vector<std::string> checked_body::texts(std::string_view name) const {
  std::vector<std::string> out;
  if (!has(name))
    return out;
  if (!body_[name].is_list())
    throw wrong_kind_of(name, body_[name], "a list of strings");
  for (const auto& one : body_[name].items()) {
    if (!one.is_string())
      throw wrong_kind_of(name, one, "a string");
    out.emplace_back(one.as_string());
  }
  return out;
}

std::vector<std::string> checked_body::some_of(std::string_view name,
                                               std::span<const std::string_view> names) const {
  auto out = texts(name);
  for (const auto& one : out)
    if (std::ranges::find(names, one) == names.end())
      throw none_of(name, one, names);
  return out;
}

std::string checked_id(std::string_view text, std::string_view what) {
  auto read = read_uuid(dashed(text));
  if (!read)
    throw refusal{422, std::string{"Invalid "}.append(what).append(" ID: must be a UUID")};
  return to_string(*read);
}

} // namespace troupe::server
