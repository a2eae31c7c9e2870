// message_book: adding up the parts of messages.
#include "coordinator/message_book.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

namespace {

using piece_kind = message_piece::piece_kind;

std::string text_of(const value& v) {
  return v.is_string() ? std::string{v.as_string()} : std::string{};
}

// The member of a content block that holds its text, and its kind.
struct block_text {
  std::string_view member;
  piece_kind kind;
};
std::optional<block_text> text_in(const value& block) {
  if (block["text"].is_string())
    return block_text{"text", piece_kind::text};
  for (std::string_view member : {"thinking", "reasoning"})
    if (block[member].is_string())
      return block_text{member, piece_kind::reasoning};
  return std::nullopt;
}

void add_text(std::vector<message_piece>& out, piece_kind kind, const value& text) {
  if (text.is_string() && !text.empty())
    out.push_back({kind, text_of(text)});
}

std::size_t index_in(const value& v, std::size_t otherwise) {
  const auto& index = v["index"];
  return index.is_int() && index.as_int() >= 0 ? static_cast<std::size_t>(index.as_int())
                                               : otherwise;
}

// The block with a later piece of it: texts are joined, of other members the later one counts.
value joined_block(const value& left, const value& right) {
  auto text = text_in(right);
  auto out = left;
  for (const auto& e : right.entries()) {
    bool joins = text && e.key() == text->member && left[e.key()].is_string();
    out = out.with(e.key(), joins ? value(text_of(left[e.key()]) + text_of(e.val)) : e.val);
  }
  return out;
}

constexpr std::string_view thoughts = "reasoning_content"; // in additional_kwargs

} // namespace

std::vector<message_piece> pieces_of(const value& message) {
  std::vector<message_piece> out;
  const auto& m = message.payload();
  add_text(out, piece_kind::reasoning, m["additional_kwargs"][thoughts]);
  const auto& content = m["content"];
  add_text(out, piece_kind::text, content);
  for (const auto& block : content.items())
    if (block.is_string())
      add_text(out, piece_kind::text, block);
    else if (auto text = text_in(block))
      add_text(out, text->kind, block[text->member]);
  const auto& parts = m["tool_call_chunks"];
  std::size_t nth = 0;
  for (const auto& part : parts.items()) {
    out.push_back({piece_kind::tool_call, text_of(part["args"]), index_in(part, nth),
                   text_of(part["id"]), text_of(part["name"])});
    ++nth;
  }
  if (parts.empty())
    for (const auto& call : m["tool_calls"].items())
      out.push_back({piece_kind::tool_call, to_json(call["args"]), nth++, text_of(call["id"]),
                     text_of(call["name"])});
  return out;
}

value sum_of_counts(const value& left, const value& right) {
  if (left.is_int() && right.is_int())
    return value(left.as_int() + right.as_int());
  if (!left.is_map() || !right.is_map())
    return right.is_null() ? left : right;
  auto out = left;
  for (const auto& e : right.entries())
    out = out.with(e.key(), sum_of_counts(left[e.key()], e.val));
  return out;
}

// -- message_state

void message_state::add(const value& message) {
  const auto& m = message.payload();
  for (auto& piece : pieces_of(message)) {
    if (piece.kind == piece_kind::text)
      text += piece.text;
    else if (piece.kind == piece_kind::reasoning)
      reasoning += piece.text;
    else {
      auto& call = calls_[piece.index];
      call.id += piece.id;
      call.name += piece.name;
      call.args += piece.text;
    }
    pieces.push_back(std::move(piece));
  }
  ended = m["chunk"] != value(true) || m["chunk_position"] == value("last");
  if (m["chunk"] != value(true))
    as_sent_ = message;
  else
    add_members(m);
}

void message_state::add_members(const value& members) {
  usage_ = sum_of_counts(usage_, members["usage"]);
  if (members["content"].is_list())
    add_blocks(members["content"]);
  for (const auto& e : members.entries()) {
    auto key = e.key();
    if (key == "content" || key == "chunk" || key == "chunk_position" || key == "usage"
        || key == "tool_call_chunks" || e.val.is_null())
      continue;
    members_ = members_.with(key, key == "additional_kwargs" && members_[key].is_map()
                                    ? sum_of_counts(members_[key], e.val)
                                    : e.val);
  }
}

void message_state::add_blocks(const value& blocks) {
  for (const auto& block : blocks.items()) {
    const auto& index = block["index"];
    auto before = std::ranges::find_if(blocks_, [&index](const value& known) {
      return !index.is_null() && known["index"] == index;
    });
    if (before == blocks_.end())
      blocks_.push_back(block);
    else
      *before = joined_block(*before, block);
  }
}

value message_state::content() const {
  if (blocks_.empty())
    return value(text);
  std::vector<value> out;
  for (const auto& block : blocks_)
    out.push_back(block.is_map() ? block.without("index") : block);
  return value::list(std::move(out));
}

std::optional<message_piece> message_state::take_piece() {
  if (pieces.empty()) {
    if (failure)
      throw *failure;
    return std::nullopt;
  }
  auto piece = std::move(pieces.front());
  pieces.pop_front();
  return piece;
}

value message_state::whole() const {
  if (failure)
    throw *failure;
  if (as_sent_)
    return *as_sent_;
  auto out = members_.with("content", content());
  if (!reasoning.empty() && blocks_.empty())
    out = out.with("additional_kwargs",
                   (out["additional_kwargs"].is_map() ? out["additional_kwargs"] : value::map())
                     .with(thoughts, value(reasoning)));
  std::vector<value> good;
  std::vector<value> bad;
  for (const auto& [index, call] : calls_) {
    auto args = call.args.empty() ? value::map() : from_json(call.args, json_form::plain);
    bool fits = args && args->is_map();
    (fits ? good : bad)
      .push_back(value::map({{"args", fits ? *args : value(call.args)},
                             {"id", call.id},
                             {"name", call.name},
                             {"type", fits ? "tool_call" : "invalid_tool_call"}}));
  }
  if (!good.empty())
    out = out.with("tool_calls", value::list(std::move(good)));
  if (!bad.empty())
    out = out.with("invalid_tool_calls", value::list(std::move(bad)));
  if (!usage_.is_null())
    out = out.with("usage", usage_);
  return value::extension(value_kind::message, std::move(out));
}

// -- message_book

void message_book::take(result<std::optional<stream_part>> part) {
  if (part && *part) {
    if ((*part)->mode == stream_mode::messages)
      take_message(**part);
    else if ((*part)->data.contains("result"))
      end_messages_of(text_of((*part)->data["id"]));
    return;
  }
  over_ = true;
  if (!part)
    failure_ = part.error();
  for (auto& [key, message] : open_) {
    message->failure = failure_;
    message->ended = !failure_;
  }
  open_.clear();
}

coro<void> message_book::take_one(context& ctx) {
  std::optional<error> failed;
  std::optional<stream_part> part;
  try {
    auto reading = parts.next(ctx);
    part = co_await reading;
  } catch (const error& e) {
    failed = e;
  }
  if (failed)
    take(*failed);
  else
    take(std::move(part));
}

void message_book::take_message(const stream_part& part) {
  const auto& message = part.data[0];
  if (!message.is(value_kind::message)) // a removal
    return;
  const auto& from = part.data[1];
  auto id = text_of(message.payload()["id"]);
  auto task_ns = text_of(from["langgraph_checkpoint_ns"]);
  auto [at, is_new] = open_.try_emplace(task_ns + '\n' + id);
  if (is_new) {
    at->second = std::make_shared<message_state>();
    auto& state = *at->second;
    state.id = std::move(id);
    state.role = text_of(message.payload()["role"]);
    state.node = text_of(from["langgraph_node"]);
    state.ns = part.ns;
    state.task_ns = std::move(task_ns);
    fresh.push_back(at->second);
  }
  at->second->add(message);
  if (at->second->ended)
    open_.erase(at);
}

// A task that ended sends nothing more, nor do the tasks within it.
void message_book::end_messages_of(std::string_view task_id) {
  std::erase_if(open_, [task_id](auto& entry) {
    if (entry.second->task_ns.find(task_id) == std::string::npos)
      return false;
    entry.second->ended = true;
    return true;
  });
}

std::shared_ptr<message_state> message_book::take_fresh() {
  if (fresh.empty()) {
    if (failure_)
      throw *failure_;
    return nullptr;
  }
  auto next = std::move(fresh.front());
  fresh.pop_front();
  return next;
}

} // namespace troupe
