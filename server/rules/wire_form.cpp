// wire_form: messages with all their members.
#include "server/rules/wire_form.hpp"

#include "coordinator/sse_text.hpp"

namespace troupe::server {

namespace {

value with_missing(value message, const char* member, const value& otherwise) {
  return message.contains(member) ? message : message.with(member, otherwise);
}

value with_types_of_calls(value message) {
  std::vector<value> calls;
  for (const auto& call : message["tool_calls"].items())
    calls.push_back(call.is_map() ? with_missing(call, "type", "tool_call") : call);
  return calls.empty() ? message : message.with("tool_calls", value::list(std::move(calls)));
}

value message_form(const value& v) {
  auto out = client_form(v);
  out = with_missing(std::move(out), "additional_kwargs", value::map());
  out = with_missing(std::move(out), "response_metadata", value::map());
  out = with_missing(std::move(out), "name", nullptr);
  const auto& m = v.payload();
  if (m["role"] == value("assistant")) {
    out = with_missing(std::move(out), "tool_calls", value::list());
    if (m["chunk"].is_null()) { // a piece of one is sent often
      out = with_types_of_calls(std::move(out));
      out = with_missing(std::move(out), "invalid_tool_calls", value::list());
      out = with_missing(std::move(out), "usage_metadata", nullptr);
    }
  } else if (m["role"] == value("tool")) {
    out = with_missing(std::move(out), "status", "success");
    out = with_missing(std::move(out), "artifact", nullptr);
  }
  return out;
}

} // namespace

value wire_form(const value& v) {
  if (v.is(value_kind::message))
    return message_form(v);
  if (v.is_list()) {
    std::vector<value> out;
    for (const auto& item : v.items())
      out.push_back(wire_form(item));
    return value::list(std::move(out));
  }
  if (v.is_map()) {
    std::vector<value::map_init> out;
    for (const auto& e : v.entries())
      out.emplace_back(std::string{e.key()}, wire_form(e.val));
    return value::map(std::move(out));
  }
  return client_form(v);
}

} // namespace troupe::server
