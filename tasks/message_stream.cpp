// Messages on their way to readers of the `messages` stream.
#include "tasks/message_stream.hpp"
#include "channels/message_forms.hpp"
#include "graph/checkpoint_ns.hpp"
#include "tasks/nested.hpp"

#include <algorithm>
#include <span>

namespace troupe {

namespace {

bool is_message(const value& v) {
  return v.is(value_kind::message);
}

// A removal is shown, too: a reader who keeps the messages drops that one.
bool is_shown(const value& v) {
  return is_message(v) || v.is(value_kind::remove_message);
}

bool is_chunk(const value& message) {
  return message.payload()["chunk"].is_bool() && message.payload()["chunk"].as_bool();
}

// The path of the task, as far as its body's parts show it.
// Source: langgraph/pregel/_algo.py, prepare_single_task (langgraph_path).
value path_of(const detail::task_scope& task) {
  if (task.call && task.call->caller)
    return {names::push, path_of(*task.call->caller), task.call->index, true};
  if (task.index != no_index && !task.sent)
    return {names::pull, task.node->name};
  return {names::push, task.slot};
}

bool is_scalar(const value& v) noexcept {
  return v.is_string() || v.is_int() || v.is_double() || v.is_bool();
}

// The tags of the run, then those in the task's metadata.
value tags_of(const detail::task_scope& task) {
  auto tags = value::of(task.run->config.tags);
  const auto& own = task.metadata["tags"];
  return own.is_list() ? tags.append_all(own.items()) : tags;
}

void add_place(const detail::task_scope& task, std::vector<value::map_init>& to) {
  std::vector<value> triggers;
  if (task.index != no_index && !task.sent)
    for (auto c : task.node->triggers)
      triggers.emplace_back(task.run->plan->channels[c].name);
  else
    triggers.emplace_back(names::push);
  to.emplace_back("langgraph_step", task.step);
  to.emplace_back("langgraph_node", task.node->name);
  to.emplace_back("langgraph_triggers", value::list(std::move(triggers)));
  to.emplace_back("langgraph_path", path_of(task));
  to.emplace_back("langgraph_checkpoint_ns", task.ns());
}

// A message, and the metadata of the task that it comes from, with the scalars of the run's
// configurable that no metadata overrides.
// Source: langgraph/pregel/_messages.py, on_chat_model_start; langchain_core/runnables/config.py,
// ensure_config.
value message_part(const detail::task_scope& task, const value& message) {
  const auto& config = task.run->config;
  std::vector<value::map_init> metadata; // the last one of equal keys counts
  for (const auto& e : config.configurable.entries())
    if (is_scalar(e.val) && !e.key().starts_with("__") && e.key() != "api_key")
      metadata.emplace_back(e.key(), e.val);
  for (const auto& e : task.metadata.entries())
    metadata.emplace_back(e.key(), e.val);
  if (!config.tags.empty())
    metadata.emplace_back("tags", tags_of(task));
  if (!config.thread_id.empty())
    metadata.emplace_back("thread_id", config.thread_id);
  add_place(task, metadata);
  return value::list({message, value::map(std::move(metadata))});
}

void emit(detail::task_scope& task, const value& message) {
  stream_from_body(task, {stream_mode::messages, split_namespace(task.run->ns),
                          message_part(task, message), 0});
}

// Calls `f` with each message and removal at the top of a value: itself, or the elements of a list.
template <class F> void each_message(const value& v, F&& f) {
  if (is_shown(v))
    f(v);
  else if (v.is_list())
    for (const auto& item : v.items())
      if (is_shown(item))
        f(item);
}

void mark_seen(detail::task_scope& task) {
  auto input = task.input.to_value();
  auto mark = [&task](const value& m) {
    if (const auto& id = message_id(m); id.is_string())
      task.run->sink->streamed_before(std::string{id.as_string()});
  };
  each_message(input, mark);
  if (input.is_map())
    for (const auto& e : input.entries())
      each_message(e.val, mark);
}

// The value with an id for each message in it. Streams all of them, and the removals, but those
// seen before.
value stream_from(detail::task_scope& task, const value& v) {
  if (is_shown(v)) {
    auto message = is_message(v) ? with_message_id(v) : v;
    if (!task.run->sink->streamed_before(std::string{message_id(message).as_string()}))
      emit(task, message);
    return message;
  }
  if (v.is(value_kind::overwrite) || !v.is_list())
    return v;
  std::vector<value> items;
  bool any = false;
  for (const auto& item : v.items()) {
    any |= is_shown(item);
    items.push_back(is_shown(item) ? stream_from(task, item) : item);
  }
  return any ? value::list(std::move(items)) : v;
}

state_update stream_from(detail::task_scope& task, const state_update& update) {
  std::vector<state_update::entry> entries;
  for (const auto& [name, v] : update.entries())
    entries.emplace_back(name, stream_from(task, v));
  return state_update{std::move(entries)};
}

// Whether the output has a command for a graph further out, where its writes will be seen.
bool leaves_upward(const node_output& output) {
  return std::any_of(output.parts.begin(), output.parts.end(), [](const auto& part) {
    auto* c = std::get_if<command>(&part);
    return c && !c->graph.empty();
  });
}

// The tag `nostream` in a node's metadata keeps the output of its models out of the stream.
bool muted(const detail::task_scope& task) {
  if (!task.metadata.is_map())
    return false;
  for (const auto& tag : task.metadata["tags"].items())
    if (tag.is_string() && tag.as_string() == "nostream")
      return true;
  return false;
}

} // namespace

value place_metadata(const detail::task_scope& task) {
  std::vector<value::map_init> out;
  add_place(task, out);
  return value::map(std::move(out));
}

void stream_messages_of(detail::task_scope& task, node_output& output) {
  bool start = task.index == 0;
  if (start || !task.run->wants(stream_mode::messages) || leaves_upward(output))
    return;
  mark_seen(task);
  for (auto& part : output.parts) {
    if (auto* u = std::get_if<state_update>(&part))
      *u = stream_from(task, *u);
    else if (auto* c = std::get_if<command>(&part); c && c->update)
      c->update = stream_from(task, *c->update);
  }
}

void context::stream_message(const value& message) {
  scope_->sign_of_life();
  if (!is_message(message))
    throw error{errc::invalid_value, "stream a message: not a message: " + to_json(message)};
  if (scope_->over() || !scope_->run->wants(stream_mode::messages) || muted(*scope_))
    return;
  const auto& id = message_id(message);
  bool seen = id.is_string() && scope_->run->sink->streamed_before(std::string{id.as_string()});
  if (is_chunk(message) || !seen)
    emit(*scope_, message);
}

void context::stream_tool_event(const value& event) {
  scope_->sign_of_life();
  if (!scope_->over() && scope_->run->wants(stream_mode::tools) && !muted(*scope_))
    stream_from_body(*scope_, {stream_mode::tools, split_namespace(scope_->run->ns), event, 0});
}

void context::push_message(const value& message, const std::string& key) {
  if (!is_message(message) || !message_id(message).is_string())
    throw error{errc::invalid_update, "Message ID is required", "ValueError"};
  auto channel = scope_->run->plan->find_channel(key);
  if (channel == no_index)
    throw error{errc::missing_key, "push a message: no such channel: `" + key + "`"};
  stream_message(message);
  scope_->early.push_back({channel, message, {}});
}

} // namespace troupe
