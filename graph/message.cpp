// A chat message as a value and back.
#include <troupe/message.hpp>

#include <array>
#include <string_view>

namespace troupe {
namespace {

constexpr std::array<std::string_view, 3> own_members{"role", "content", "id"};

const value& members_of(const value& v) {
  const auto& members = v.is(value_kind::message) ? v.payload() : v;
  if (!members.is_map() || !members["role"].is_string())
    throw error{errc::invalid_value,
                "read a message: neither a message nor a map with a text `role`: "
                  + std::string{to_string(v.kind())}};
  return members;
}

std::string read_id(const value& id) {
  return id.is_null() ? std::string{} : id.as<std::string>();
}

value without_own_members(value members) {
  for (auto name : own_members)
    if (members.contains(name))
      members = members.without(name);
  return members;
}

} // namespace

value value_traits<message>::to(const message& m) {
  auto members =
    (m.more.is_null() ? value::map() : m.more).with("role", m.role).with("content", m.content);
  members = m.id.empty() ? members.without("id") : members.with("id", m.id);
  return value::extension(value_kind::message, std::move(members));
}

message value_traits<message>::from(const value& v) {
  const auto& members = members_of(v);
  return {.role = members["role"].as<std::string>(),
          .content = members["content"],
          .id = read_id(members["id"]),
          .more = without_own_members(members)};
}

} // namespace troupe
