// message_translation: starts, blocks and ends of messages.
#include "server/protocol/message_translation.hpp"

#include "coordinator/message_book.hpp"
#include "coordinator/sse_text.hpp"

#include <algorithm>

namespace troupe::server {

namespace {

using kind = message_piece::piece_kind;

std::string text_of(const value& v) {
  return v.is_string() ? std::string{v.as_string()} : std::string{};
}

value text_or_null(const std::string& text) {
  return text.empty() ? value{} : value(text);
}

value block_event(const char* event, std::size_t index, const char* member, value content) {
  return value::map(
    {{"event", event}, {"index", static_cast<std::int64_t>(index)}, {member, std::move(content)}});
}

value empty_block(const message_piece& of) {
  switch (of.kind) {
    case kind::text: return value::map({{"type", "text"}, {"text", ""}});
    case kind::reasoning: return value::map({{"type", "reasoning"}, {"reasoning", ""}});
    case kind::tool_call: break;
  }
  return value::map({{"type", "tool_call_chunk"},
                     {"id", text_or_null(of.id)},
                     {"name", text_or_null(of.name)},
                     {"args", ""},
                     {"index", static_cast<std::int64_t>(of.index)}});
}

value delta_of(kind of, const std::string& text) {
  switch (of) {
    case kind::text: return value::map({{"type", "text-delta"}, {"text", text}});
    case kind::reasoning: return value::map({{"type", "reasoning-delta"}, {"reasoning", text}});
    case kind::tool_call: break;
  }
  return value::map({{"type", "tool-call-delta"}, {"args", text}});
}

value whole_block(const message_piece& block) {
  switch (block.kind) {
    case kind::text: return value::map({{"type", "text"}, {"text", block.text}});
    case kind::reasoning: return value::map({{"type", "reasoning"}, {"reasoning", block.text}});
    case kind::tool_call: break;
  }
  auto args = block.text.empty() ? value::map() : from_json(block.text, json_form::plain);
  if (args)
    return value::map(
      {{"type", "tool_call"}, {"id", block.id}, {"name", block.name}, {"args", *args}});
  return value::map({{"type", "invalid_tool_call"},
                     {"id", text_or_null(block.id)},
                     {"name", text_or_null(block.name)},
                     {"args", block.text},
                     {"error", "Failed to parse tool call arguments as JSON"}});
}

value start_of(const value& message, const std::string& id) {
  auto type = text_of(client_form(message)["type"]);
  auto start = value::map(
    {{"event", "message-start"}, {"role", type.starts_with("AI") ? "ai" : type}, {"id", id}});
  const auto& answers = message.payload()["tool_call_id"];
  return answers.is_null() ? start : start.with("tool_call_id", answers);
}

} // namespace

void message_translation::take(const value& data, events& out) {
  const auto& message = data[0];
  auto& to = message_of(data, out);
  const bool is_told = &to == &open_.front();
  for (const auto& piece : pieces_of(message))
    add(to, piece, is_told, out);
  const auto& m = message.payload();
  to.usage = sum_of_counts(to.usage, m["usage"]);
  to.is_whole = m["chunk"] != value(true) || m["chunk_position"] == value("last");
  end_those([](const open_message& one) { return one.is_whole; }, out);
}

// The message of this part: one that is open, or a new one. Those of earlier steps are whole.
message_translation::open_message& message_translation::message_of(const value& data, events& out) {
  auto id = text_of(data[0].payload()["id"]);
  auto ns = text_of(data[1]["langgraph_checkpoint_ns"]);
  auto task = ns.substr(ns.rfind('|') + 1);
  auto found = std::ranges::find_if(open_, [&](const open_message& one) {
    return one.id == id && one.task == task;
  });
  if (found != open_.end())
    return *found;
  const auto& step = data[1]["langgraph_step"];
  end_those([&step](const open_message& one) { return one.step != step; }, out);
  open_.push_back({std::move(id), std::move(task), step, {}, {}, {}});
  auto& added = open_.back();
  added.start = start_of(data[0], added.id);
  if (open_.size() == 1)
    begin(added, out);
  return added;
}

void message_translation::begin(const open_message& what, events& out) {
  out.push_back(what.start);
  for (std::size_t at = 0; at < what.blocks.size(); ++at) {
    const auto& block = what.blocks[at];
    out.push_back(block_event("content-block-start", at, "content", empty_block(block)));
    if (!block.text.empty())
      out.push_back(
        block_event("content-block-delta", at, "delta", delta_of(block.kind, block.text)));
  }
}

void message_translation::add(open_message& to, const message_piece& piece, bool is_told,
                              events& out) {
  if (piece.kind != kind::tool_call && piece.text.empty())
    return;
  auto found = std::ranges::find_if(to.blocks, [&piece](const message_piece& block) {
    return block.kind == piece.kind && block.index == piece.index;
  });
  const auto at = static_cast<std::size_t>(found - to.blocks.begin());
  if (found == to.blocks.end()) {
    to.blocks.push_back(piece);
    if (is_told)
      out.push_back(block_event("content-block-start", at, "content", empty_block(piece)));
  } else {
    found->id += piece.id;
    found->name += piece.name;
    found->text += piece.text;
  }
  if (is_told && !piece.text.empty())
    out.push_back(
      block_event("content-block-delta", at, "delta", delta_of(piece.kind, piece.text)));
}

void message_translation::finish_first(events& out) {
  const auto& what = open_.front();
  for (std::size_t at = 0; at < what.blocks.size(); ++at)
    out.push_back(block_event("content-block-finish", at, "content", whole_block(what.blocks[at])));
  auto finish = value::map({{"event", "message-finish"}});
  out.push_back(what.usage.is_null() ? finish : finish.with("usage", what.usage));
  open_.pop_front();
  if (!open_.empty())
    begin(open_.front(), out);
}

template <class Is> void message_translation::end_those(const Is& is, events& out) {
  for (auto& one : open_)
    one.is_whole |= is(one);
  while (!open_.empty() && open_.front().is_whole)
    finish_first(out);
}

void message_translation::end_of_task(std::string_view task, events& out) {
  end_those([task](const open_message& one) { return one.task == task; }, out);
}

void message_translation::end(events& out) {
  end_those([](const open_message&) { return true; }, out);
}

} // namespace troupe::server
