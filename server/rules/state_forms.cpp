// state_forms: ThreadState, its tasks and checkpoints.
#include "server/rules/state_forms.hpp"

#include "graph/names.hpp"
#include "server/rules/wire_form.hpp"

#include <algorithm>

namespace troupe::server {

namespace {

value text_or_null(const std::string& text) {
  return text.empty() ? value() : value(text);
}

// A task's error as JSON text, which React's hook parses.
value error_text(const value& error) {
  if (error.is_null())
    return {};
  auto form = wire_form(error);
  if (!form.is_map())
    return form.is_string() ? form : value(to_json(form));
  return to_json(value::map({{"name", form["error"]}, {"message", form["message"]}}));
}

// A nested graph that has not begun has no metadata.
value nested_form(const state_snapshot& state, const std::string& thread_id) {
  auto out = state_form(state, thread_id);
  return state.metadata.is_map() ? out : out.with("metadata", nullptr);
}

value task_form(const task_snapshot& task, const std::string& thread_id) {
  auto checkpoint = task.subgraph_ns.empty() || task.state
                      ? value{}
                      : value::map({{"thread_id", thread_id}, {"checkpoint_ns", task.subgraph_ns}});
  return value::map({{"id", task.id},
                     {"name", task.name},
                     {"path", task.path},
                     {"error", error_text(task.error)},
                     {"interrupts", questions_form(task.interrupts)},
                     {"checkpoint", checkpoint},
                     {"state", task.state ? nested_form(*task.state, thread_id) : value{}},
                     {"result", task.result ? wire_form(*task.result) : value{}}});
}

// Whether a task has writes besides its questions and answers.
bool is_finished(const std::string& task_id, const std::vector<pending_write>& writes) {
  return std::ranges::any_of(writes, [&](const pending_write& write) {
    return write.task_id == task_id && write.channel != names::interrupt
           && write.channel != names::resume;
  });
}

std::vector<interrupt> read_questions(const value& stored) {
  if (!stored.is_list())
    return {stored.as<interrupt>()};
  return stored.as<std::vector<interrupt>>();
}

} // namespace

value checkpoint_form(const checkpoint_ref& at, const value& metadata) {
  auto out = value::map({{"checkpoint_id", at.checkpoint_id},
                         {"thread_id", at.thread_id},
                         {"checkpoint_ns", at.checkpoint_ns}});
  if (at.checkpoint_ns.empty())
    return out;
  auto around = metadata["parents"].is_map() ? metadata["parents"] : value::map();
  return out.with("checkpoint_map", around.with(at.checkpoint_ns, at.checkpoint_id));
}

value questions_form(const std::vector<interrupt>& questions) {
  std::vector<value> out;
  for (const auto& one : questions)
    out.push_back(value::map({{"value", wire_form(one.value)}, {"id", one.id}}));
  return value::list(std::move(out));
}

value interrupts_form(const state_snapshot& state, const std::vector<pending_write>& writes) {
  auto out = value::map();
  for (const auto& task : state.tasks)
    if (!task.interrupts.empty())
      out = out.with(task.id, questions_form(task.interrupts));
  auto is_shown = [&state](const std::string& id) {
    return std::ranges::any_of(state.tasks, [&id](const auto& task) { return task.id == id; });
  };
  for (const auto& write : writes)
    if (write.channel == names::interrupt && !is_shown(write.task_id)
        && !is_finished(write.task_id, writes))
      out = out.with(write.task_id, questions_form(read_questions(write.value)));
  return out;
}

value output_form(const value& values, const std::vector<interrupt>& questions) {
  const auto& shown = questions.size() > 1 ? value::map() : values;
  return questions.empty() ? shown : shown.with("__interrupt__", questions_form(questions));
}

namespace {

// The metadata with the checkpoint's place, which the engine leaves out; null without a checkpoint.
value metadata_form(const state_snapshot& state, const std::string& thread_id) {
  if (!state.metadata.is_map())
    return {};
  auto out = wire_form(state.metadata).with("thread_id", thread_id);
  const auto& ns = state.config.checkpoint_ns;
  if (ns.empty())
    return out;
  auto last = ns.substr(ns.rfind('|') + 1);
  return out.with("checkpoint_ns", ns)
    .with("checkpoint_map", state.metadata["parents"])
    .with("langgraph_checkpoint_ns", ns)
    .with("langgraph_node", last.substr(0, last.find(':')));
}

} // namespace

value state_form(const state_snapshot& state, const std::string& thread_id) {
  std::vector<value> tasks;
  for (const auto& task : state.tasks)
    tasks.push_back(task_form(task, thread_id));
  auto is_stored = !state.created_at.empty();
  auto at = state.config;
  at.thread_id = thread_id;
  auto parent = at;
  parent.checkpoint_id = state.parent_id;
  return value::map(
    {{"values", wire_form(state.values)},
     {"next", value::list({state.next.begin(), state.next.end()})},
     {"tasks", value::list(std::move(tasks))},
     {"metadata", metadata_form(state, thread_id)},
     {"created_at", text_or_null(state.created_at)},
     {"checkpoint",
      is_stored || !at.checkpoint_id.empty() ? checkpoint_form(at, state.metadata) : value{}},
     {"parent_checkpoint",
      state.parent_id.empty() ? value{} : checkpoint_form(parent, state.metadata)},
     {"interrupts", questions_form(state.interrupts)},
     {"checkpoint_id", text_or_null(at.checkpoint_id)},
     {"parent_checkpoint_id", text_or_null(state.parent_id)}});
}

value selected_state(const value& state, const std::vector<std::string>& select) {
  if (select.empty())
    return state;
  auto out = value::map();
  for (const auto& name : select) {
    constexpr std::string_view of_values = "values.";
    if (state.contains(name))
      out = out.with(name, state[name]);
    else if (name.starts_with(of_values)) {
      auto key = name.substr(of_values.size());
      if (state["values"].contains(key))
        out = out.with(
          "values",
          (out["values"].is_map() ? out["values"] : value::map()).with(key, state["values"][key]));
    }
  }
  return out;
}

} // namespace troupe::server
