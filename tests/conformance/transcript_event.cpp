// Parts of a stream in a transcript.
#include "tests/conformance/labels.hpp"
#include "tests/conformance/transcript.hpp"

namespace troupe::conformance {
namespace {

// A question, as the extension value or as a map.
answer_json shown_question(const value& v) {
  if (!v.is_map())
    return shown(v);
  return shown(interrupt{std::string{v.at("id").as_string()}, v["value"], v["response_schema"]});
}

answer_json shown_questions(const value& list) {
  auto out = answer_json::array();
  for (const auto& question : list.items())
    out.push_back(shown_question(question));
  return out;
}

answer_json shown_id(const value& task) {
  return marked(label_kind::task, task.at("id").as_string());
}

// ---- checkpoints ----------------------------------------------------------------------------

// A config is {"configurable": {thread_id, checkpoint_ns, checkpoint_id}}, or null.
answer_json shown_config(const value& config) {
  const auto& id = config["configurable"]["checkpoint_id"];
  return id.is_string() ? shown_checkpoint(id.as_string()) : answer_json{};
}

answer_json shown_checkpoint_task(const value& task) {
  answer_json out{{"id", shown_id(task)}, {"name", shown(task["name"])}};
  for (const auto* member : {"error", "result"})
    if (!task[member].is_null())
      out[member] = shown(task[member]);
  if (task.contains("interrupts"))
    out["interrupts"] = shown_questions(task["interrupts"]);
  if (const auto& ns = task["state"]["configurable"]["checkpoint_ns"]; ns.is_string())
    out["state"] = {{"ns", marked_ns(ns.as_string())}};
  return out;
}

answer_json shown_checkpoint_payload(const value& data) {
  auto tasks = answer_json::array();
  for (const auto& task : data["tasks"].items())
    tasks.push_back(shown_checkpoint_task(task));
  return {
    {"values", shown(data["values"])},
    {"next", shown(data["next"])},
    {"checkpoint", shown_config(data["config"])},
    {"parent", shown_config(data["parent_config"])},
    {"metadata", shown_metadata(data["metadata"])},
    {"tasks", std::move(tasks)},
  };
}

// ---- tasks ----------------------------------------------------------------------------------

answer_json shown_task_start(const value& data) {
  return {
    {"id", shown_id(data)},
    {"name", shown(data["name"])},
    {"input", shown(data["input"])},
    {"triggers", shown(data["triggers"])},
  };
}

answer_json shown_task_end(const value& data) {
  return {
    {"id", shown_id(data)},
    {"name", shown(data["name"])},
    {"error", shown(data["error"])},
    {"result", shown(data["result"])},
    {"interrupts", shown_questions(data["interrupts"])},
  };
}

answer_json shown_task_payload(const value& data) {
  return data.contains("triggers") ? shown_task_start(data) : shown_task_end(data);
}

// ---- debug ----------------------------------------------------------------------------------

answer_json shown_envelope(const value& data) {
  const auto& payload = data["payload"];
  return {
    {"type", shown(data["type"])},
    {"step", shown(data["step"])},
    {"payload", data["type"] == value("checkpoint") ? shown_checkpoint_payload(payload)
                                                    : shown_task_payload(payload)},
  };
}

// ---- messages -------------------------------------------------------------------------------

answer_json shown_message_payload(const value& data) {
  answer_json metadata;
  for (const auto* name : {"langgraph_node", "langgraph_step"})
    metadata[name] = shown(data[1][name]);
  return answer_json::array({shown(data[0]), std::move(metadata)});
}

answer_json shown_payload(const stream_part& part) {
  switch (part.mode) {
    case stream_mode::checkpoints: return shown_checkpoint_payload(part.data);
    case stream_mode::tasks: return shown_task_payload(part.data);
    case stream_mode::debug: return shown_envelope(part.data);
    case stream_mode::messages: return shown_message_payload(part.data);
    default: return shown(part.data);
  }
}

} // namespace

answer_json shown(const stream_part& part) {
  auto ns = answer_json::array();
  for (const auto& segment : part.ns)
    ns.push_back(marked_ns(segment));
  return answer_json::array({ns, std::string{to_string(part.mode)}, shown_payload(part)});
}

} // namespace troupe::conformance
