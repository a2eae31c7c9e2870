// a2a_versions: tables of names, and forms of 1.0 made of those of 0.3.
#include "server/protocol/a2a_versions.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

namespace troupe::server {
namespace {

constexpr auto old = a2a_version::v0_3;
constexpr auto current = a2a_version::v1_0;

constexpr std::array<std::pair<std::string_view, a2a_method>, 21> methods{{
  {"message/send", {a2a_action::send_message, old}},
  {"message/stream", {a2a_action::stream_message, old}},
  {"tasks/get", {a2a_action::get_task, old}},
  {"tasks/cancel", {a2a_action::cancel_task, old}},
  {"tasks/resubscribe", {a2a_action::follow_task, old}},
  {"agent/getAuthenticatedExtendedCard", {a2a_action::show_card, old}},
  {"tasks/pushNotificationConfig/set", {a2a_action::notify, old}},
  {"tasks/pushNotificationConfig/get", {a2a_action::notify, old}},
  {"tasks/pushNotificationConfig/list", {a2a_action::notify, old}},
  {"tasks/pushNotificationConfig/delete", {a2a_action::notify, old}},
  {"SendMessage", {a2a_action::send_message, current}},
  {"SendStreamingMessage", {a2a_action::stream_message, current}},
  {"GetTask", {a2a_action::get_task, current}},
  {"ListTasks", {a2a_action::list_tasks, current}},
  {"CancelTask", {a2a_action::cancel_task, current}},
  {"SubscribeToTask", {a2a_action::follow_task, current}},
  {"GetExtendedAgentCard", {a2a_action::show_card, current}},
  {"CreateTaskPushNotificationConfig", {a2a_action::notify, current}},
  {"GetTaskPushNotificationConfig", {a2a_action::notify, current}},
  {"ListTaskPushNotificationConfigs", {a2a_action::notify, current}},
  {"DeleteTaskPushNotificationConfig", {a2a_action::notify, current}},
}};

// In 0.3 and in 1.0.
using name_pair = std::pair<std::string_view, std::string_view>;
constexpr std::array<name_pair, 8> states{{{"submitted", "TASK_STATE_SUBMITTED"},
                                           {"working", "TASK_STATE_WORKING"},
                                           {"completed", "TASK_STATE_COMPLETED"},
                                           {"failed", "TASK_STATE_FAILED"},
                                           {"canceled", "TASK_STATE_CANCELED"},
                                           {"input-required", "TASK_STATE_INPUT_REQUIRED"},
                                           {"rejected", "TASK_STATE_REJECTED"},
                                           {"auth-required", "TASK_STATE_AUTH_REQUIRED"}}};
constexpr std::array<name_pair, 2> roles{{{"user", "ROLE_USER"}, {"agent", "ROLE_AGENT"}}};
constexpr std::array<name_pair, 3> payloads{
  {{"task", "task"}, {"status-update", "statusUpdate"}, {"artifact-update", "artifactUpdate"}}};

template <std::size_t n>
const name_pair* find_name(const std::array<name_pair, n>& table, std::string_view name) noexcept {
  const auto* found = std::ranges::find_if(table, [name](const name_pair& one) {
    return one.first == name || one.second == name;
  });
  return found == table.end() ? nullptr : found;
}

// The name in 1.0; what is not in the table stays.
template <std::size_t n>
value current_name(const std::array<name_pair, n>& table, const value& name) {
  const auto* found = name.is_string() ? find_name(table, name.as_string()) : nullptr;
  return found ? value(found->second) : name;
}

// `given`'s member under another name; the map stays as it is without the member.
value with_member(value map, std::string_view name, const value& given) {
  return given.is_null() ? std::move(map) : map.with(name, given);
}

value file_in_current(const value& file) {
  auto out = file["bytes"].is_string() ? value::map({{"raw", file["bytes"]}})
                                       : value::map({{"url", file["uri"]}});
  return with_member(with_member(std::move(out), "mediaType", file["mimeType"]), "filename",
                     file["name"]);
}

value part_in_current(const value& part) {
  if (part["kind"] == value("text"))
    return value::map({{"text", part["text"]}});
  if (part["kind"] == value("file"))
    return file_in_current(part["file"]);
  return value::map({{"data", part["data"]}});
}

// A form of any kind: members that are forms or names are translated, and the others stay. A
// message may have any members, as its client sent them.
value in_current(const value& form) {
  if (!form.is_map())
    return form;
  auto all_of = [](const value& list, auto translated) {
    std::vector<value> out;
    for (const auto& one : list.items())
      out.push_back(translated(one));
    return value::list(std::move(out));
  };
  auto out = value::map();
  for (const auto& e : form.entries()) {
    auto name = e.key();
    if (name == "kind" || name == "final")
      continue;
    if (name == "state")
      out = out.with(name, current_name(states, e.val));
    else if (name == "role")
      out = out.with(name, current_name(roles, e.val));
    else if (name == "parts")
      out = out.with(name, all_of(e.val, part_in_current));
    else if (name == "history" || name == "artifacts")
      out = out.with(name, all_of(e.val, in_current));
    else if (name == "status" || name == "message" || name == "artifact")
      out = out.with(name, in_current(e.val));
    else
      out = out.with(name, e.val);
  }
  return out;
}

} // namespace

std::optional<a2a_method> a2a_method_of(std::string_view name) {
  const auto* found = std::ranges::find(methods, name, &decltype(methods)::value_type::first);
  return found == methods.end() ? std::nullopt : std::optional{found->second};
}

std::optional<std::string_view> a2a_state_of(std::string_view name) {
  const auto* found = find_name(states, name);
  return found ? std::optional{found->first} : std::nullopt;
}

bool is_a2a_role(std::string_view name) noexcept {
  return find_name(roles, name) != nullptr;
}

value a2a_part_of(const value& given) {
  if (!given.is_map() || given.contains("kind"))
    return given;
  if (given["text"].is_string())
    return value::map({{"kind", "text"}, {"text", given["text"]}});
  if (given.contains("data"))
    return value::map({{"kind", "data"}, {"data", given["data"]}});
  if (!given["raw"].is_string() && !given["url"].is_string())
    return given;
  auto file = given["raw"].is_string() ? value::map({{"bytes", given["raw"]}})
                                       : value::map({{"uri", given["url"]}});
  file = with_member(with_member(std::move(file), "mimeType", given["mediaType"]), "name",
                     given["filename"]);
  return value::map({{"kind", "file"}, {"file", file}});
}

value a2a_form(const value& form, a2a_version version) {
  return version == old ? form : in_current(form);
}

value a2a_payload(const value& form, a2a_version version) {
  if (version == old)
    return form;
  const auto* outside = find_name(payloads, form["kind"].as_string());
  return value::map().with(outside->second, in_current(form));
}

} // namespace troupe::server
