// route_notes: what the server's routes take and give, for its OpenAPI document. Pure.
//
// A note stands for one route; a test compares the notes with the router's routes.
#pragma once

#include <span>
#include <string_view>

namespace troupe::server {

/// A member of an object, or a parameter of a query.
/// Shape:  `kind`: text, uuid, time, uri, int, number, bool, map, any, null; ONE|OTHER for texts of
///         a set; `[KIND]` for a list, `{KIND}` for a map of them; a name with a capital letter for
///         a schema, and `NAME~` for one with any of its members. At its end, `?` also allows null,
///         and then `!` requires the member.
struct member_note {
  std::string_view name;
  std::string_view kind;
  std::string_view about = {};
};

/// An object with a name.
struct schema_note {
  std::string_view name;
  std::string_view about;
  std::span<const member_note> members;
};

/// A further answer of a route.
/// Shape:  `status` 0: of refusals, which are an Error otherwise.
struct answer_note {
  int status;
  std::string_view kind;
  std::string_view media = "application/json";
};

/// A route.
/// Shape:  `body` and `answer` are kinds; empty: none. `media`: of the answer. In an event stream,
///         the kind is that of one event.
struct route_note {
  std::string_view method;
  std::string_view pattern;
  std::string_view tag;
  std::string_view summary;
  std::string_view body = {};
  std::string_view answer = {};
  int status = 200;
  std::span<const member_note> query = {};
  std::string_view media = "application/json";
  std::span<const answer_note> more = {};
};

std::span<const route_note> route_notes() noexcept;
std::span<const schema_note> schema_notes() noexcept;

} // namespace troupe::server
