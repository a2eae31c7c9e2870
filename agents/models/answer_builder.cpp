// answer_builder: adding up blocks and calls.
#include "agents/models/answer_builder.hpp"

#include "agents/messages/json_text.hpp"

#include <troupe/agents/model_providers.hpp>

namespace troupe {
namespace {

using answer_members = std::vector<value::map_init>;

void put_count(answer_members& out, const char* name, std::int64_t count) {
  if (count >= 0)
    out.emplace_back(name, count);
}

} // namespace

// ---- pieces -------------------------------------------------------------------------------------

answer_builder::block& answer_builder::block_at(std::int64_t index, std::string_view type) {
  has_content_ = true;
  auto it = blocks_.find(index);
  if (it == blocks_.end()) {
    if (blocks_.size() + calls_.size() >= limits::model_blocks_max)
      throw broken_answer("it has too many blocks");
    it = blocks_.try_emplace(index).first;
    it->second.known = value::map({{"type", type}});
    it->second.text_name = type;
  }
  return it->second;
}

void answer_builder::give(answer_members members) {
  if (!form_.gives_parts)
    return;
  members.emplace_back("role", "assistant");
  members.emplace_back("id", form_.id);
  members.emplace_back("chunk", true);
  auto part = value::map(std::move(members));
  if (!part.contains("content"))
    part = part.with("content", form_.as_blocks ? value::list() : value(""));
  parts_.push_back(value::extension(value_kind::message, std::move(part)));
}

void answer_builder::give_block(std::int64_t index, value piece) {
  if (!form_.gives_parts)
    return;
  give({{"content", value::list({piece.with("index", index)})}});
}

void answer_builder::add_text(std::int64_t index, std::string_view piece) {
  if (piece.empty()) // announced, without content
    return;
  block_at(index, "text").text += piece;
  if (form_.as_blocks)
    give_block(index, value::map({{"type", "text"}, {"text", piece}}));
  else
    give({{"content", piece}});
}

void answer_builder::add_thinking(std::int64_t index, std::string_view piece) {
  if (piece.empty())
    return;
  form_.as_blocks = true;
  block_at(index, "thinking").text += piece;
  give_block(index, value::map({{"type", "thinking"}, {"thinking", piece}}));
}

void answer_builder::begin_summary(std::int64_t index) {
  form_.as_blocks = true;
  if (blocks_.contains(index))
    return;
  auto& at = block_at(index, "reasoning");
  at.text_name.clear();
  at.known = at.known.with("summary", value::list());
  give_block(index, at.known);
}

void answer_builder::add_summary(std::int64_t index, std::int64_t part, std::string_view piece) {
  begin_summary(index);
  blocks_[index].summary[part] += piece;
  auto text = value::map({{"type", "summary_text"}, {"text", piece}, {"index", part}});
  give_block(index, value::map({{"type", "reasoning"}, {"summary", value::list({text})}}));
}

void answer_builder::set_signature(std::int64_t index, std::string_view signature) {
  form_.as_blocks = true;
  auto& at = block_at(index, "thinking");
  at.known = at.known.with("signature", signature);
  give_block(index, value::map({{"type", "thinking"}, {"thinking", ""}, {"signature", signature}}));
}

void answer_builder::add_block(std::int64_t index, value block) {
  form_.as_blocks = true;
  auto& at = block_at(index, "");
  at.text_name.clear();
  at.known = block;
  give_block(index, std::move(block));
}

void answer_builder::set_in_block(std::int64_t index, std::string_view name, value v) {
  form_.as_blocks = true;
  auto& at = block_at(index, "");
  at.known = at.known.with(name, v);
  give_block(index, value::map({{"type", at.known["type"]}, {std::string{name}, std::move(v)}}));
}

void answer_builder::append_to_block(std::int64_t index, std::string_view name, value item) {
  form_.as_blocks = true;
  auto& at = block_at(index, "text");
  const auto& before = at.known[name];
  auto items = before.is_list() ? before : value::list();
  at.known = at.known.with(name, items.append(item));
  give_block(index, value::map({{"type", "text"}, {std::string{name}, value::list({item})}}));
}

void answer_builder::add_extra_text(const std::string& name, std::string_view piece) {
  has_content_ = true;
  extra_[name] += piece;
  give({{"additional_kwargs", value::map({{name, piece}})}});
}

void answer_builder::set_extra(const std::string& name, value v) {
  whole_extra_ = whole_extra_.with(name, std::move(v));
}

void answer_builder::begin_call(std::int64_t index, std::string_view id, std::string_view name,
                                value extras) {
  has_content_ = true;
  if (blocks_.size() + calls_.size() >= limits::model_blocks_max)
    throw broken_answer("it has too many calls");
  auto& one = calls_[index];
  one.id = id;
  one.name = name;
  auto piece = value::map(
    {{"type", "tool_call_chunk"}, {"name", name}, {"args", ""}, {"id", id}, {"index", index}});
  if (!extras.empty())
    piece = piece.with("extras", extras);
  one.extras = std::move(extras);
  give({{"tool_call_chunks", value::list({std::move(piece)})}});
}

void answer_builder::add_arguments(std::int64_t index, std::string_view piece) {
  calls_[index].arguments += piece;
  give({{"tool_call_chunks", value::list({value::map({{"type", "tool_call_chunk"},
                                                      {"name", nullptr},
                                                      {"args", piece},
                                                      {"id", nullptr},
                                                      {"index", index}})})}});
}

void answer_builder::set_metadata(const std::string& name, value v) {
  if (!v.is_null())
    metadata_ = metadata_.with(name, std::move(v));
}

// ---- the whole ----------------------------------------------------------------------------------

value answer_builder::whole_block(const block& at, std::int64_t index) const {
  auto out = at.text_name.empty() ? at.known : at.known.with(at.text_name, at.text);
  std::vector<value> summary;
  for (const auto& [part, text] : at.summary) {
    auto one = value::map({{"type", "summary_text"}, {"text", text}});
    summary.push_back(form_.gives_parts ? one.with("index", part) : one);
  }
  if (!summary.empty())
    out = out.with("summary", value::list(std::move(summary)));
  return form_.gives_parts ? out.with("index", index) : out;
}

value answer_builder::content() const {
  if (!form_.as_blocks && (form_.gives_parts || blocks_.size() < 2)) {
    std::string text;
    for (const auto& [index, at] : blocks_)
      if (at.text_name == "text")
        text += at.text;
    return text;
  }
  std::vector<value> out;
  for (const auto& [index, at] : blocks_)
    out.push_back(whole_block(at, index));
  return value::list(std::move(out));
}

value answer_builder::finish() {
  answer_members last{{"chunk_position", "last"}};
  answer_members whole{{"role", "assistant"}, {"id", form_.id}, {"content", content()}};
  std::vector<value> good;
  std::vector<value> bad;
  for (const auto& [index, one] : calls_) {
    auto read = call_of(one.id, one.name, one.arguments);
    if (!one.extras.empty())
      read.call = read.call.with("extras", one.extras);
    (read.valid ? good : bad).push_back(std::move(read.call));
  }
  if (!good.empty())
    whole.emplace_back("tool_calls", value::list(std::move(good)));
  if (!bad.empty())
    whole.emplace_back("invalid_tool_calls", value::list(std::move(bad)));
  auto extra = whole_extra_;
  for (const auto& [name, text] : extra_)
    extra = extra.with(name, text);
  if (!extra.empty())
    whole.emplace_back("additional_kwargs", std::move(extra));
  if (!whole_extra_.empty())
    last.emplace_back("additional_kwargs", whole_extra_);
  for (auto* members : {&last, &whole}) {
    if (!usage_.is_null())
      members->emplace_back("usage", usage_);
    if (!metadata_.empty())
      members->emplace_back("response_metadata", metadata_);
  }
  give(std::move(last));
  return value::extension(value_kind::message, value::map(std::move(whole)));
}

read_call call_of(std::string_view id, std::string_view name, std::string_view arguments) {
  answer_members call{{"id", id}, {"name", name}};
  auto args = read_arguments(arguments);
  if (args && args->is_map()) {
    call.emplace_back("type", "tool_call");
    call.emplace_back("args", *args);
    return {true, value::map(std::move(call))};
  }
  call.emplace_back("type", "invalid_tool_call");
  call.emplace_back("args", arguments);
  call.emplace_back("error", "Function " + std::string{name} + " arguments:\n\n"
                               + std::string{arguments} + "\n\nare not valid JSON. "
                               + (args ? "They are not an object." : args.error().message()));
  return {false, value::map(std::move(call))};
}

value usage_value(const token_usage& usage) {
  answer_members read;
  put_count(read, "audio", usage.audio_input);
  put_count(read, "cache_read", usage.cache_read);
  put_count(read, "cache_creation", usage.cache_creation);
  put_count(read, "ephemeral_5m_input_tokens", usage.cache_creation_5m);
  put_count(read, "ephemeral_1h_input_tokens", usage.cache_creation_1h);
  answer_members written;
  put_count(written, "audio", usage.audio_output);
  put_count(written, "reasoning", usage.reasoning);
  answer_members out{{"input_tokens", usage.input},
                     {"output_tokens", usage.output},
                     {"total_tokens", usage.total >= 0 ? usage.total : usage.input + usage.output}};
  if (!read.empty())
    out.emplace_back("input_token_details", value::map(std::move(read)));
  if (!written.empty())
    out.emplace_back("output_token_details", value::map(std::move(written)));
  return value::map(std::move(out));
}

std::int64_t count_in(const value& v, std::int64_t otherwise) {
  constexpr std::int64_t most = std::int64_t{1} << 52; // sums of such numbers stay integers
  return v.is_int() && v.as_int() >= 0 && v.as_int() <= most ? v.as_int() : otherwise;
}

} // namespace troupe
