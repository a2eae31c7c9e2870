// Values in a transcript.
#include "tests/conformance/labels.hpp"
#include "tests/conformance/transcript.hpp"

namespace troupe::conformance {
namespace {

answer_json shown_list(const value& list) {
  auto out = answer_json::array();
  for (const auto& item : list.items())
    out.push_back(shown(item));
  return out;
}

answer_json shown_map(const value& map) {
  auto out = answer_json::object();
  for (const auto& entry : map.entries())
    out[std::string{entry.key()}] = shown(entry.val);
  return out;
}

// Those of the members that the map has.
answer_json shown_members(const value& map, std::initializer_list<const char*> names) {
  auto out = answer_json::object();
  for (const auto* name : names)
    if (map.contains(name))
      out[name] = shown(map[name]);
  return out;
}

answer_json shown_calls(const value& calls, std::initializer_list<const char*> names) {
  auto out = answer_json::array();
  for (const auto& call : calls.items())
    out.push_back(shown_members(call, names));
  return out;
}

void add_calls(answer_json& out, const value& members) {
  if (members["chunk"] == value(true)) {
    out["chunk"] = true;
    if (!members["tool_call_chunks"].empty())
      out["tool_call_chunks"] = shown_calls(members["tool_call_chunks"],
                                            {"name", "args", "id", "index"});
  } else if (!members["tool_calls"].empty()) {
    out["tool_calls"] = shown_calls(members["tool_calls"], {"name", "args", "id"});
  }
}

answer_json shown_message(const value& members) {
  auto out = shown_members(members, {"role", "content"});
  const auto& id = members["id"];
  out["id"] = id.is_string() && !id.empty()
                ? answer_json(marked(label_kind::message, id.as_string()))
                : answer_json{};
  for (const auto* name : {"name", "tool_call_id"})
    if (!members[name].is_null())
      out[name] = shown(members[name]);
  if (const auto& status = members["status"]; !status.is_null() && status != value("success"))
    out["status"] = shown(status);
  if (const auto& usage = members["usage"]; !usage.is_null())
    out["usage"] = shown_members(usage, {"input_tokens", "output_tokens", "total_tokens"});
  add_calls(out, members);
  return out;
}

answer_json shown_removal(const value& id) {
  return {{"$remove", id == value("__remove_all__") ? answer_json("all") : shown(id)}};
}

} // namespace

answer_json shown(const value& v) {
  switch (v.kind()) {
    case value_kind::null: return nullptr;
    case value_kind::boolean: return v.as_bool();
    case value_kind::integer: return v.as_int();
    case value_kind::floating: return v.as_double();
    case value_kind::string: return std::string{v.as_string()};
    case value_kind::list: return shown_list(v);
    case value_kind::map: return shown_map(v);
    case value_kind::message: return shown_message(v.payload());
    case value_kind::send: return {{"$send", shown_list(v.payload())}};
    case value_kind::interrupt: return shown(v.as<interrupt>());
    case value_kind::overwrite: return {{"$overwrite", shown(v.payload())}};
    case value_kind::delta_snapshot: return {{"$snapshot", shown(v.payload())}};
    case value_kind::error: return shown(v.payload()["type"]);
    case value_kind::remove_message: return shown_removal(v.payload());
    case value_kind::bytes:
    case value_kind::timestamp: break; // no case has them
  }
  return answer_json::parse(to_json(v));
}

answer_json shown(const interrupt& question) {
  answer_json out{{"id", marked(label_kind::interrupt, question.id)},
                  {"value", shown(question.value)}};
  if (!question.response_schema.is_null())
    out["response_schema"] = shown(question.response_schema);
  return out;
}

answer_json shown(const std::vector<interrupt>& questions) {
  auto out = answer_json::array();
  for (const auto& question : questions)
    out.push_back(shown(question));
  return out;
}

answer_json shown_checkpoint(std::string_view id) {
  return id.empty() ? answer_json{} : answer_json(marked(label_kind::checkpoint, id));
}

// Without the engine's own books; the stub in front of a run under durability exit has neither
// source nor parents.
answer_json shown_metadata(const value& metadata) {
  if (!metadata.is_map())
    return shown(metadata);
  auto out = shown(metadata.without("counters_since_delta_snapshot"));
  if (!metadata.contains("source"))
    out["source"] = nullptr;
  if (!metadata.contains("parents"))
    out["parents"] = answer_json::object();
  const auto& parents = metadata["parents"];
  if (!parents.is_map())
    return out;
  auto& labelled = out["parents"] = answer_json::object();
  for (const auto& entry : parents.entries())
    labelled[marked_ns(entry.key())] = shown_checkpoint(entry.val.as_string());
  return out;
}

answer_json shown(const run_result& result) {
  return {{"value", shown(result.value())}, {"interrupts", shown(result.interrupts())}};
}

} // namespace troupe::conformance
