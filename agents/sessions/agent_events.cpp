// agent_events: reading parts.
#include "agents/sessions/agent_events.hpp"

#include "agents/team_names.hpp"

#include <algorithm>

namespace troupe {
namespace {

constexpr const char* said_mark = "troupe.said";

bool is_message_or_removal(const value& v) {
  return is_message(v) || v.is(value_kind::remove_message);
}

// Calls `f` with the messages in a value that is written to a channel, or read from one.
template <class F> void each_message_in(const value& v, F f) {
  if (is_message(v))
    f(v);
  else if (v.is(value_kind::overwrite))
    each_message_in(v.payload(), f);
  else if (v.is_list())
    for (const auto& item : v.items())
      if (is_message(item))
        f(item);
}

bool is_only_messages(const value& v) {
  if (v.is(value_kind::overwrite))
    return is_only_messages(v.payload());
  return is_message_or_removal(v)
         || (v.is_list() && !v.empty() && std::ranges::all_of(v.items(), is_message_or_removal));
}

std::string name_in(const value& message) {
  const auto& name = message_member(message, "name");
  return message_role(message) == "assistant" && name.is_string() ? name.as<std::string>()
                                                                  : std::string{};
}

value last_message(const value& output) {
  const auto& messages = output["messages"];
  if (!messages.is_list() || messages.empty())
    return {};
  const auto& last = messages[messages.size() - 1];
  auto role = message_role(last);
  return role == "assistant" || role == "tool" ? last : value{};
}

agent_event event_of(event_kind kind, std::string author, std::vector<std::string> ns, value data) {
  agent_event out;
  out.kind = kind;
  out.author = std::move(author);
  out.ns = std::move(ns);
  out.data = std::move(data);
  return out;
}

} // namespace

value said_part(const std::string& mark, const std::string& author, const value& message) {
  return value::map({{said_mark, mark}, {"author", author}, {"message", message}});
}

std::vector<stream_mode> event_reader::modes() {
  return {stream_mode::messages, stream_mode::updates, stream_mode::custom, stream_mode::tasks,
          stream_mode::tools};
}

const std::string& event_reader::author_of(const std::vector<std::string>& ns) const {
  auto known = authors_.find(ns);
  return known == authors_.end() ? agent_ : known->second;
}

// Messages in a task's input were reported before this run, or are reported already.
void event_reader::task_begins(const stream_part& part) {
  if (!part.data.contains("triggers")) // the task ends
    return;
  if (const auto& name = part.data["metadata"][agent_name_mark]; name.is_string())
    authors_[part.ns] = name.as<std::string>();
  auto know = [this](const value& message) {
    if (const auto& id = message_member(message, "id"); id.is_string())
      known_.insert_or_assign(id.as<std::string>(), message);
  };
  const auto& input = part.data["input"];
  each_message_in(input, know);
  for (const auto& e : input.entries())
    each_message_in(e.val, know);
}

void event_reader::told(const value& message, const std::string& author, const stream_part& part,
                        events& out) {
  auto role = message_role(message);
  if (role != "assistant" && role != "tool")
    return;
  if (const auto& id = message_member(message, "id"); id.is_string()) {
    auto& known = known_[id.as<std::string>()];
    if (known == message)
      return;
    known = message;
  }
  auto tell = [&](event_kind kind, const value& data) {
    auto named = name_in(message);
    out.push_back(event_of(kind, named.empty() ? author : named, part.ns, data));
  };
  tell(role == "tool" ? event_kind::tool_result : event_kind::message, message);
  for (const auto& call : message_tool_calls(message).items())
    tell(event_kind::tool_call, call);
}

// One node's update: a map, or a list of maps when the node wrote to a channel twice.
void event_reader::written(const stream_part& part, const value& update, events& out) {
  if (update.is_list()) {
    for (const auto& item : update.items())
      written(part, item, out);
    return;
  }
  std::vector<value::map_init> others;
  for (const auto& e : update.entries()) {
    each_message_in(e.val,
                    [&](const value& message) { told(message, author_of(part.ns), part, out); });
    if (!is_only_messages(e.val))
      others.emplace_back(std::string{e.key()}, e.val);
  }
  if (!others.empty())
    out.push_back(event_of(event_kind::state_delta, author_of(part.ns), part.ns,
                           value::map(std::move(others))));
}

void event_reader::updated(const stream_part& part, events& out) {
  for (const auto& node : part.data.entries())
    if (!node.key().starts_with("__")) // questions and marks
      written(part, node.val, out);
}

void event_reader::streamed(const stream_part& part, events& out) const {
  const auto& message = part.data[0];
  bool says = !message_member(message, "content").empty();
  if (message_member(message, "chunk") != value(true) || !says)
    return;
  const auto& whose = part.data[1][agent_name_mark];
  auto author = name_in(message);
  if (author.empty())
    author = whose.is_string() ? whose.as<std::string>() : agent_;
  out.push_back(event_of(event_kind::partial, std::move(author), part.ns, message));
}

std::vector<agent_event> event_reader::events_of(const stream_part& part) {
  events out;
  switch (part.mode) {
    case stream_mode::tasks: task_begins(part); break;
    case stream_mode::updates: updated(part, out); break;
    case stream_mode::messages: streamed(part, out); break;
    case stream_mode::tools:
      if (part.data["event"] == value("tool-output-delta"))
        out.push_back(event_of(event_kind::tool_output, author_of(part.ns), part.ns,
                               part.data.without("event")));
      break;
    case stream_mode::custom:
      if (part.data[said_mark] == value(mark_))
        told(part.data["message"], part.data["author"].as<std::string>(), part, out);
      else
        out.push_back(event_of(event_kind::custom, author_of(part.ns), part.ns, part.data));
      break;
    default: break;
  }
  return out;
}

std::vector<agent_event> event_reader::last_events(const run_result& how) const {
  events out;
  for (const auto& question : how.interrupts())
    out.push_back(event_of(event_kind::question, agent_, {}, value::of(question).payload()));
  if (!how.paused())
    out.push_back(event_of(event_kind::finished, agent_, {}, last_message(how.value())));
  else if (out.empty())
    out.push_back(event_of(event_kind::paused, agent_, {}, value::of(how.next())));
  return out;
}

agent_event event_reader::failed(const error& why) const {
  return event_of(event_kind::failed, agent_, {},
                  value::map({{"code", to_string(why.code())},
                              {"type", reference_name(why)},
                              {"message", why.message()}}));
}

std::string_view to_string(event_kind kind) noexcept {
  switch (kind) {
    case event_kind::partial: return "partial";
    case event_kind::message: return "message";
    case event_kind::tool_call: return "tool_call";
    case event_kind::tool_output: return "tool_output";
    case event_kind::tool_result: return "tool_result";
    case event_kind::state_delta: return "state_delta";
    case event_kind::custom: return "custom";
    case event_kind::question: return "question";
    case event_kind::paused: return "paused";
    case event_kind::finished: return "finished";
    case event_kind::failed: return "failed";
  }
  return "unknown";
}

std::string to_json(const agent_event& event) {
  auto data = is_message(event.data) ? message_to_json(event.data) : event.data;
  return to_json(value::map({{"kind", to_string(event.kind)},
                             {"id", event.id},
                             {"invocation_id", event.invocation_id},
                             {"author", event.author},
                             {"ns", value::of(event.ns)},
                             {"data", data}}));
}

} // namespace troupe
