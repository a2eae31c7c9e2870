// run_tracing: spans of graphs, tasks, models and tools, and their events.
#include "server/rules/run_tracing.hpp"

#include "graph/checkpoint_ns.hpp"
#include "server/rules/wire_form.hpp"

#include <algorithm>
#include <utility>

namespace troupe::server {
namespace {

std::string text_of(const value& v, std::string_view name) {
  return v[name].is_string() ? std::string{v[name].as_string()} : std::string{};
}

std::string joined(const std::vector<std::string>& names) {
  std::string out;
  for (const auto& one : names)
    out.append(out.empty() ? "" : "|").append(one);
  return out;
}

std::string id_after_colon(const std::string& place) {
  auto colon = place.rfind(':');
  return colon == std::string::npos ? std::string{} : place.substr(colon + 1);
}

// Whether a text is anywhere in a value, which is not deep: limits::json_depth_max.
bool has_text(const value& v, const std::string& text) {
  if (v.is_string())
    return v.as_string() == text;
  if (v.is_list())
    return std::ranges::any_of(v.items(), [&](const value& one) { return has_text(one, text); });
  return v.is_map()
         && std::ranges::any_of(v.entries(), [&](const auto& e) { return has_text(e.val, text); });
}

// A piece with the members that pieces have in other modes only where they say something.
value chunk_form(const value& piece) {
  auto out = wire_form(piece);
  for (const char* list : {"tool_call_chunks", "invalid_tool_calls"})
    if (!out.contains(list))
      out = out.with(list, value::list());
  for (const char* member : {"usage_metadata", "chunk_position"})
    if (!out.contains(member))
      out = out.with(member, nullptr);
  return out;
}

} // namespace

run_tracing::run_tracing(traced_run run, std::function<std::string()> new_id)
  : root_{.run_id = std::move(run.run_id),
          .name = std::move(run.name),
          .tags = std::move(run.tags),
          .metadata = std::move(run.metadata),
          .input = std::move(run.input)},
    nested_{std::move(run.nested)},
    new_id_{std::move(new_id)} {}

value run_tracing::event(std::string_view name, const span& of, value data) {
  return value::map({{"event", name},
                     {"name", of.name},
                     {"run_id", of.run_id},
                     {"parent_ids", value::list({of.parents.begin(), of.parents.end()})},
                     {"tags", of.tags},
                     {"metadata", of.metadata},
                     {"data", std::move(data)}});
}

std::vector<std::string> run_tracing::within(const span& outer) {
  auto out = outer.parents;
  out.push_back(outer.run_id);
  return out;
}

value run_tracing::began() const {
  return event("on_chain_start", root_, value::map({{"input", root_.input}}));
}

value run_tracing::ended(const value& output) const {
  return event("on_chain_end", root_, value::map({{"output", output}}));
}

run_tracing::events run_tracing::part(const stream_part& part) {
  events out;
  if (part.mode == stream_mode::debug && part.data["type"] == value("task"))
    begin_task(part, out);
  else if (part.mode == stream_mode::debug && part.data["type"] == value("task_result"))
    end_task(part, out);
  else if (part.mode == stream_mode::messages)
    take_message(part, out);
  else if (part.mode == stream_mode::tools)
    take_tool(part, out);
  return out;
}

// The graph of a namespace, which begins with its first task.
const run_tracing::span& run_tracing::graph_at(const std::vector<std::string>& ns, events& out) {
  if (ns.empty())
    return root_;
  auto outer = tasks_.find(id_after_colon(ns.back()));
  if (outer == tasks_.end())
    return root_;
  auto& task = outer->second;
  if (!task.graph) {
    auto named = nested_.find(joined(nodes_of_namespace(joined(ns))));
    task.graph = span{.run_id = new_id_(),
                      .name = named == nested_.end() ? task.name : named->second,
                      .parents = within(task),
                      .tags = value::list({"seq:step:1"}),
                      .metadata = task.metadata,
                      .input = task.input};
    out.push_back(event("on_chain_start", *task.graph, value::map({{"input", task.input}})));
  }
  return *task.graph;
}

void run_tracing::begin_task(const stream_part& part, events& out) {
  const auto& task = part.data["payload"];
  const auto& outer = graph_at(part.ns, out);
  const auto& step = part.data["step"];
  task_span made;
  made.ns = joined(part.ns);
  made.run_id = new_id_();
  made.name = text_of(task, "name");
  made.parents = within(outer);
  made.tags = value::list({"graph:step:" + to_json(step)});
  made.input = wire_form(task["input"]);
  auto id = text_of(task, "id");
  auto place = made.name + ':' + id;
  made.metadata = root_.metadata.with("langgraph_step", step)
                    .with("langgraph_node", made.name)
                    .with("langgraph_triggers", task["triggers"])
                    .with("langgraph_checkpoint_ns",
                          made.ns.empty() ? place : made.ns + '|' + place);
  if (task["triggers"] != value::list({"__pregel_push"}))
    made.metadata = made.metadata.with("langgraph_path", value::list({"__pregel_pull", made.name}));
  out.push_back(event("on_chain_start", made, value::map({{"input", made.input}})));
  tasks_.insert_or_assign(std::move(id), std::move(made));
}

void run_tracing::end_model(const model_span& model, events& out) {
  out.push_back(event("on_chat_model_end", model,
                      value::map({{"output", model.answer.form()}, {"input", model.input}})));
}

void run_tracing::end_task(const stream_part& part, events& out) {
  const auto& ended = part.data["payload"];
  auto found = tasks_.find(text_of(ended, "id"));
  if (found == tasks_.end())
    return;
  auto task = std::move(found->second);
  tasks_.erase(found);
  if (!ended["error"].is_null() || !ended["interrupts"].empty())
    return;
  for (const auto& [id, model] : task.models)
    end_model(model, out);
  auto result = ended["result"].is_null() ? value::map() : wire_form(ended["result"]);
  auto done = value::map({{"output", result}, {"input", task.input}});
  if (task.graph)
    out.push_back(event("on_chain_end", *task.graph, done));
  out.push_back(event("on_chain_stream", task, value::map({{"chunk", result}})));
  out.push_back(event("on_chain_end", task, done));
}

// The request to a model is not streamed: it is taken to be the messages of its task.
run_tracing::model_span run_tracing::model_of(const task_span& task, const value& metadata) const {
  model_span out;
  auto name = text_of(metadata, "ls_model_name");
  const auto& messages = task.input.is_map() ? task.input["messages"] : value{};
  out.run_id = new_id_();
  out.name = name.empty() ? "ChatModel" : name;
  out.parents = within(task);
  out.tags = value::list({"seq:step:1"});
  out.metadata = task.metadata;
  for (const auto& e : metadata.entries())
    out.metadata = out.metadata.with(e.key(), e.val);
  out.input =
    value::map({{"messages", value::list({messages.is_list() ? messages : value::list()})}});
  return out;
}

// A model is known by its pieces alone.
void run_tracing::take_message(const stream_part& part, events& out) {
  const auto& message = part.data[0];
  auto found = tasks_.find(id_after_colon(text_of(part.data[1], "langgraph_checkpoint_ns")));
  if (!is_piece(message) || found == tasks_.end())
    return;
  auto& task = found->second;
  auto id = text_of(message.payload(), "id");
  auto at = task.models.find(id);
  if (at == task.models.end()) {
    at = task.models.emplace(id, model_of(task, wire_form(part.data[1]))).first;
    out.push_back(
      event("on_chat_model_start", at->second, value::map({{"input", at->second.input}})));
  }
  at->second.answer.add(message);
  out.push_back(
    event("on_chat_model_stream", at->second, value::map({{"chunk", chunk_form(message)}})));
  if (message.payload()["chunk_position"] == value("last")) {
    end_model(at->second, out);
    task.models.erase(at);
  }
}

// A part of a tool does not name its task: the one whose input has the call, or else any.
run_tracing::task_span* run_tracing::task_of_call(const std::vector<std::string>& ns,
                                                  const std::string& call_id) {
  auto of = joined(ns);
  task_span* out = nullptr;
  for (auto& [id, task] : tasks_) {
    if (task.ns != of)
      continue;
    if (task.tools.contains(call_id) || has_text(task.input, call_id))
      return &task;
    out = &task;
  }
  return out;
}

void run_tracing::take_tool(const stream_part& part, events& out) {
  auto call_id = text_of(part.data, "tool_call_id");
  auto* task = task_of_call(part.ns, call_id);
  if (!task)
    return;
  if (part.data["event"] == value("tool-started")) {
    span tool{.run_id = new_id_(),
              .name = text_of(part.data, "tool_name"),
              .parents = within(*task),
              .tags = value::list({"seq:step:1"}),
              .metadata = task->metadata,
              .input = wire_form(part.data["input"])};
    out.push_back(event("on_tool_start", tool, value::map({{"input", tool.input}})));
    task->tools.insert_or_assign(call_id, std::move(tool));
    return;
  }
  auto tool = task->tools.find(call_id);
  if (tool == task->tools.end())
    return;
  if (part.data["event"] == value("tool-finished"))
    out.push_back(event(
      "on_tool_end", tool->second,
      value::map({{"output", wire_form(part.data["output"])}, {"input", tool->second.input}})));
  if (part.data["event"] != value("tool-output-delta"))
    task->tools.erase(tool);
}

} // namespace troupe::server
