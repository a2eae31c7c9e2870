// value_kind: the names of kinds, and which payload an extension may have.
#include "graph/value_node.hpp"

namespace troupe {

namespace {

// [node, arg], or three parts when the send has a time-out of its own.
bool is_packet(const value& v) noexcept {
  if (!v.is_list() || v.size() < 2 || v.size() > 3 || !v[0].is_string())
    return false;
  return v.size() == 2 || v[2].is_map();
}

} // namespace

std::string_view detail::payload_problem(value_kind kind, const value& payload) noexcept {
  switch (kind) {
    case value_kind::message:
    case value_kind::interrupt:
    case value_kind::error: return payload.is_map() ? "" : "the payload is not a map";
    case value_kind::send: return is_packet(payload) ? "" : "the payload is not a list [node, arg]";
    case value_kind::timestamp: return payload.is_int() ? "" : "the payload is not an integer";
    case value_kind::remove_message:
      return payload.is_string() ? "" : "the payload is not a string";
    case value_kind::overwrite:
    case value_kind::delta_snapshot: return "";
    default: return "not an extension kind";
  }
}

std::string_view to_string(value_kind kind) noexcept {
  switch (kind) {
    case value_kind::null: return "null";
    case value_kind::boolean: return "boolean";
    case value_kind::integer: return "integer";
    case value_kind::floating: return "floating";
    case value_kind::string: return "string";
    case value_kind::bytes: return "bytes";
    case value_kind::list: return "list";
    case value_kind::map: return "map";
    default: break;
  }
  auto name = detail::json_name(kind);
  return name.empty() ? "unknown" : name.substr(1);
}

std::string_view detail::json_name(value_kind kind) noexcept {
  switch (kind) {
    case value_kind::message: return "$message";
    case value_kind::send: return "$send";
    case value_kind::interrupt: return "$interrupt";
    case value_kind::overwrite: return "$overwrite";
    case value_kind::timestamp: return "$timestamp";
    case value_kind::delta_snapshot: return "$delta_snapshot";
    case value_kind::error: return "$error";
    case value_kind::remove_message: return "$remove_message";
    default: return {};
  }
}

} // namespace troupe
