// run_translation: lifecycles, values, messages in blocks, questions.
#include "server/protocol/run_translation.hpp"

#include "coordinator/sse_text.hpp"

namespace troupe::server {

namespace {

value lifecycle(const char* event, const std::string& graph_name) {
  return value::map({{"event", event}, {"graph_name", graph_name}});
}

std::string text_member(const value& v, std::string_view name) {
  return v[name].is_string() ? std::string{v[name].as_string()} : std::string{};
}

// The texts of a content: a text, or blocks of which `type` is this and `member` has the text.
std::string texts_of(const value& content, std::string_view type, std::string_view member) {
  if (content.is_string())
    return type == "text" ? std::string{content.as_string()} : std::string{};
  std::string out;
  for (const auto& block : content.items())
    if (block["type"] == value(type))
      out += text_member(block, member);
  return out;
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
  auto block = value::map({{"type", "text"}, {"text", v["content"]}, {"index", 0}});
  return v.with("content", value::list({block}))
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

value block_event(const char* event, std::int64_t index, const char* member, value content) {
  return value::map({{"event", event}, {"index", index}, {member, std::move(content)}});
}

value text_block(const std::string& text) {
  return value::map({{"type", "text"}, {"text", text}});
}
value reasoning_block(const std::string& text) {
  return value::map({{"type", "reasoning"}, {"reasoning", text}});
}

constexpr std::int64_t text_index = 0;
constexpr std::int64_t reasoning_index = 1;

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
  finish_message(ns, out);
  out.push_back({"lifecycle", ns, lifecycle(how, found->second)});
  open_.erase(found);
}

run_translation::events run_translation::part(const stream_part& part) {
  events out;
  if (part.mode != stream_mode::tasks)
    open_namespace(part.ns, out);
  switch (part.mode) {
    case stream_mode::messages: message_part(part, out); break;
    case stream_mode::values: {
      finish_message(part.ns, out);
      const auto& questions = part.data.is_map() ? part.data["__interrupt__"] : value{};
      ask(part.ns, questions);
      auto& to = questions.empty() ? out : last_;
      to.push_back({"values", part.ns, state_without_questions(part.data)});
      break;
    }
    case stream_mode::updates:
      finish_message(part.ns, out);
      ask(part.ns, part.data["__interrupt__"]);
      break;
    case stream_mode::tools: out.push_back({"tools", part.ns, client_form(part.data)}); break;
    case stream_mode::tasks:
      if (part.data.contains("result") || part.data.contains("error")) {
        auto ns = part.ns;
        ns.push_back(text_member(part.data, "name") + ':' + text_member(part.data, "id"));
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

void run_translation::message_part(const stream_part& part, events& out) {
  auto message = client_form(part.data[0]);
  auto id = text_member(message, "id");
  auto add = [&](value data) { out.push_back({"messages", part.ns, std::move(data)}); };
  auto open = messages_.find(part.ns);
  if (open != messages_.end() && open->second.id != id) {
    finish_message(part.ns, out);
    open = messages_.end();
  }
  const bool is_piece = part.data[0].is(value_kind::message)
                        && part.data[0].payload()["chunk"] == value(true);
  if (open == messages_.end()) {
    auto type = text_member(message, "type");
    auto role = type.starts_with("AI") ? "ai" : type;
    add(value::map({{"event", "message-start"}, {"role", role}, {"id", id}}));
    open = messages_.emplace(part.ns, open_message{id, {}, {}}).first;
  }
  auto delta = [&](std::string& so_far, std::int64_t index, const std::string& text, auto block,
                   const char* kind, const char* member) {
    if (text.empty())
      return;
    if (so_far.empty())
      add(block_event("content-block-start", index, "content", block("")));
    so_far += text;
    add(block_event("content-block-delta", index, "delta",
                    value::map({{"type", kind}, {member, text}})));
  };
  auto& state = open->second;
  delta(state.reasoning, reasoning_index, texts_of(message["content"], "reasoning", "reasoning"),
        reasoning_block, "reasoning-delta", "reasoning");
  delta(state.text, text_index, texts_of(message["content"], "text", "text"), text_block,
        "text-delta", "text");
  if (!is_piece)
    finish_message(part.ns, out);
}

void run_translation::finish_message(const place& ns, events& out) {
  auto open = messages_.find(ns);
  if (open == messages_.end())
    return;
  const auto& state = open->second;
  auto add = [&](value data) { out.push_back({"messages", ns, std::move(data)}); };
  if (!state.reasoning.empty())
    add(block_event("content-block-finish", reasoning_index, "content",
                    reasoning_block(state.reasoning)));
  if (!state.text.empty())
    add(block_event("content-block-finish", text_index, "content", text_block(state.text)));
  add(value::map({{"event", "message-finish"}}));
  messages_.erase(open);
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
    finish_message(place{messages_.begin()->first}, out);
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
