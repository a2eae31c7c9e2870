// run_translation: lifecycles, values, messages in blocks, questions.
#include "server/protocol/run_translation.hpp"

#include "coordinator/sse_text.hpp"

#include <algorithm>
#include <iterator>

namespace troupe::server {

namespace {

value lifecycle(const char* event, const std::string& graph_name) {
  return value::map({{"event", event}, {"graph_name", graph_name}});
}

std::string text_member(const value& v, std::string_view name) {
  return v[name].is_string() ? std::string{v[name].as_string()} : std::string{};
}

// A model's message in a state: its content is a list of blocks.
value with_blocks(const value& v) {
  if (v.is_list()) {
    std::vector<value> out;
    for (const auto& item : v.items())
      out.push_back(with_blocks(item));
    return value::list(std::move(out));
  }
  if (!v.is_map() || v["type"] != value("ai") || !v["content"].is_string())
    return v;
  std::vector<value> blocks;
  if (!v["content"].as_string().empty())
    blocks.push_back(value::map({{"type", "text"}, {"text", v["content"]}, {"index", 0}}));
  for (const auto& call : v["tool_calls"].items())
    blocks.push_back(value::map(
      {{"type", "tool_call"}, {"id", call["id"]}, {"name", call["name"]}, {"args", call["args"]}}));
  return v.with("content", value::list(std::move(blocks)))
    .with("response_metadata", value::map({{"output_version", "v1"}}));
}

value state_without_questions(const value& data) {
  auto out = value::map();
  auto form = client_form(data);
  for (const auto& e : form.entries())
    if (e.key() != "__interrupt__")
      out = out.with(e.key(), with_blocks(e.val));
  return out;
}

} // namespace

std::string_view channel_of(const protocol_event& event) noexcept {
  return std::string_view{event.method}.substr(0, event.method.find('.'));
}

run_translation::events run_translation::began() {
  return {{"lifecycle", {}, lifecycle("running", graph_name_)}};
}

void run_translation::open_namespace(const place& ns, events& out) {
  if (ns.empty() || open_.contains(ns))
    return;
  const auto& last = ns.back();
  auto colon = last.find(':');
  auto name = last.substr(0, colon);
  open_.emplace(ns, name);
  out.push_back({"lifecycle", ns,
                 lifecycle("started", name)
                   .with("namespace", value::list({ns.begin(), ns.end()}))
                   .with("trigger_call_id", colon == last.npos ? last : last.substr(colon + 1))});
}

void run_translation::close_namespace(const place& ns, const char* how, events& out) {
  auto found = open_.find(ns);
  if (found == open_.end())
    return;
  finish_messages(ns, out);
  out.push_back({"lifecycle", ns, lifecycle(how, found->second)});
  open_.erase(found);
}

run_translation::events run_translation::part(const stream_part& part) {
  events out;
  if (part.mode != stream_mode::tasks)
    open_namespace(part.ns, out);
  switch (part.mode) {
    case stream_mode::messages:
      if (part.data[0].is(value_kind::remove_message))
        break; // the values show what is left
      messages_.try_emplace(part.ns);
      tell_messages(part.ns, out,
                    [&part](auto& messages, auto& told) { messages.take(part.data, told); });
      break;
    case stream_mode::values: {
      finish_messages(part.ns, out);
      const auto& questions = part.data.is_map() ? part.data["__interrupt__"] : value{};
      ask(part.ns, questions);
      auto& to = questions.empty() ? out : last_;
      to.push_back({"values", part.ns, state_without_questions(part.data)});
      break;
    }
    case stream_mode::updates: ask(part.ns, part.data["__interrupt__"]); break;
    case stream_mode::tools: out.push_back({"tools", part.ns, client_form(part.data)}); break;
    case stream_mode::tasks:
      if (part.data.contains("result") || part.data.contains("error")) {
        auto task = text_member(part.data, "name") + ':' + text_member(part.data, "id");
        tell_messages(part.ns, out,
                      [&task](auto& messages, auto& told) { messages.end_of_task(task, told); });
        auto ns = part.ns;
        ns.push_back(std::move(task));
        if (part.data["interrupts"].empty())
          close_namespace(ns, part.data["error"].is_null() ? "completed" : "failed", out);
      }
      break;
    default: break;
  }
  return out;
}

void run_translation::ask(const place& ns, const value& questions) {
  for (const auto& one : questions.items()) {
    auto form = client_form(one);
    auto id = text_member(form, "id");
    if (asked_.insert(id).second)
      last_.push_back(
        {"input.requested", ns, value::map({{"interrupt_id", id}, {"payload", form["value"]}})});
  }
}

// The messages of a namespace, as they are or as they end.
template <class Does>
void run_translation::tell_messages(const place& ns, events& out, const Does& does) {
  auto found = messages_.find(ns);
  if (found == messages_.end())
    return;
  message_translation::events told;
  does(found->second, told);
  for (auto& data : told)
    out.push_back({"messages", ns, std::move(data)});
}

void run_translation::finish_messages(const place& ns, events& out) {
  tell_messages(ns, out, [](auto& messages, auto& told) { messages.end(told); });
  messages_.erase(ns);
}

run_translation::events run_translation::ended(const run_outcome& outcome) {
  events out;
  const bool failed = outcome.run.status == run_status::error
                      || outcome.run.status == run_status::timeout;
  const bool waits = !asked_.empty() || outcome.output.contains("__interrupt__");
  const char* how = failed                                                   ? "failed"
                    : waits || outcome.run.status == run_status::interrupted ? "interrupted"
                                                                             : "completed";
  while (!messages_.empty())
    finish_messages(place{messages_.begin()->first}, out);
  std::ranges::move(last_, std::back_inserter(out));
  while (!open_.empty())
    close_namespace(place{open_.rbegin()->first}, how, out);
  auto data = lifecycle(how, graph_name_);
  if (failed)
    data = data.with("error", outcome.run.error["message"]);
  out.push_back({"lifecycle", {}, data});
  return out;
}

} // namespace troupe::server
