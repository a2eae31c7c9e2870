// a2a_versions: the names and forms of A2A 0.3 and 1.0. Pure.
//
// The server makes the forms of 0.3 (a2a_forms.hpp). Those of 1.0 are made of them here.
#pragma once

#include <troupe/value.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

namespace troupe::server {

/// The versions of A2A that clients speak.
enum class a2a_version : std::uint8_t { v0_3, v1_0 };

/// The meaning of a method, whatever its name.
enum class a2a_action : std::uint8_t {
  send_message,
  stream_message,
  get_task,
  list_tasks,
  cancel_task,
  follow_task,
  show_card,
  notify ///< the methods of push notifications
};

/// A method, and the version whose forms answer it.
struct a2a_method {
  a2a_action action;
  a2a_version version;
};

/// Shape:  `name` as "message/send" (0.3) or "SendMessage" (1.0); nullopt for an unknown one.
/// Source: a2a-protocol.org, 0.3 and 1.0, JSON-RPC methods.
std::optional<a2a_method> a2a_method_of(std::string_view name);

/// The state of a task as 0.3 names it, of "completed" or "TASK_STATE_COMPLETED"; nullopt for an
/// unknown one.
std::optional<std::string_view> a2a_state_of(std::string_view name);

/// "user" or "ROLE_USER", and so on.
bool is_a2a_role(std::string_view name) noexcept;

/// A part of either version as 0.3 has it; one of no known form is returned as it is.
value a2a_part_of(const value& given);

/// A task or an event in the form of a version.
/// Shape:  `form`: as a2a_forms.hpp makes it. 1.0 has neither `kind` nor `final`; states are
///         TASK_STATE_COMPLETED, roles ROLE_AGENT; a part is {text}, {data}, {raw} or {url}, files
///         with `mediaType` and `filename`.
/// Source: a2a-protocol.org, 1.0, a2a.proto and its JSON form.
value a2a_form(const value& form, a2a_version version);
/// The same as the answer to a message, and as an event of a stream: 1.0 has it in {task},
/// {statusUpdate} or {artifactUpdate}.
value a2a_payload(const value& form, a2a_version version);

} // namespace troupe::server
