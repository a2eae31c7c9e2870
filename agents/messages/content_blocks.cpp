// content_blocks: the content of a message as LangChain's standard blocks, whatever provider wrote
// it. Pure.
#include "agents/messages/content_blocks.hpp"
#include "agents/messages/json_text.hpp"
#include "agents/messages/responses_blocks.hpp"

#include <troupe/agents/messages.hpp>

#include <algorithm>
#include <array>
#include <vector>

namespace troupe {
namespace {

constexpr std::array<std::string_view, 14> standard_types{"text",
                                                          "reasoning",
                                                          "tool_call",
                                                          "tool_call_chunk",
                                                          "invalid_tool_call",
                                                          "image",
                                                          "video",
                                                          "server_tool_call",
                                                          "server_tool_call_chunk",
                                                          "server_tool_result",
                                                          "audio",
                                                          "file",
                                                          "text-plain",
                                                          "non_standard"};

bool is_media(std::string_view type) {
  return type == "image" || type == "video" || type == "audio" || type == "file";
}

// ---- pictures, sounds, files --------------------------------------------------------------------

// "data:image/png;base64,…" as base64 and its type; any other address as an address.
renamed_block& put_address(renamed_block& out, std::string_view url) {
  constexpr std::string_view mark = ";base64,";
  auto at = url.find(mark);
  if (!url.starts_with("data:") || at == url.npos)
    return out.put("url", url);
  return out.put("base64", url.substr(at + mark.size())).put("mime_type", url.substr(5, at - 5));
}

// OpenAI's form: the picture, sound or file stands in a member named like the block.
value from_openai_image(const value& block) {
  const auto& given = block["image_url"];
  const auto& url = given.is_map() ? given["url"] : given;
  if (!url.is_string())
    return non_standard_block(block);
  renamed_block out{block};
  put_address(out.as("image").drop("image_url"), url.as_string());
  if (given.is_map())
    out.extra("detail", given["detail"]);
  return out.done();
}

value from_openai_audio(const value& block) {
  const auto& given = block["input_audio"];
  if (!given["data"].is_string())
    return non_standard_block(block);
  return renamed_block{block}
    .as("audio")
    .drop("input_audio")
    .put("base64", given["data"])
    .put("mime_type", "audio/" + (given["format"].is_string() ? text_in(given["format"]) : "wav"))
    .done();
}

value from_openai_file(const value& block) {
  const auto& given = block["file"];
  renamed_block out{block};
  out.as("file").drop("file");
  if (given["file_id"].is_string())
    out.put("file_id", given["file_id"]);
  else if (given["file_data"].is_string())
    put_address(out, given["file_data"].as_string());
  else
    return non_standard_block(block);
  if (given["filename"].is_string())
    out.put("extras", value::map({{"filename", given["filename"]}}));
  return out.done();
}

// Anthropic's form: {type, source: {type, …}}.
value from_source(const value& block, std::string_view type) {
  const auto& source = block["source"];
  auto kind = text_in(source["type"]);
  renamed_block out{block};
  out.drop("source");
  if (kind == "base64" && source["data"].is_string())
    out.as(type).put("base64", source["data"]).put("mime_type", source["media_type"]);
  else if (kind == "url" && source["url"].is_string())
    out.as(type).put("url", source["url"]);
  else if (kind == "file" && source["file_id"].is_string())
    out.as(type).put("file_id", source["file_id"]);
  else if (kind == "text" && source["data"].is_string())
    out.as("text-plain")
      .put("text", source["data"])
      .put("mime_type", source["media_type"].is_string() ? source["media_type"] : "text/plain")
      .take("title", "title")
      .take("context", "context");
  else
    return non_standard_block(block);
  return out.done();
}

// LangChain's older form: {type, source_type: url|base64|id|text, …}.
value from_source_type(const value& block, std::string_view type) {
  auto kind = text_in(block["source_type"]);
  renamed_block out{block};
  out.drop("source_type");
  if (kind == "url")
    return out.as(type).take("url", "url").take("mime_type", "mime_type").done();
  if (kind == "base64")
    return out.as(type).take("data", "base64").take("mime_type", "mime_type").done();
  if (kind == "id")
    return out.as(type).take("id", "file_id").done();
  if (kind == "text")
    return out.as("text-plain")
      .take("text", "text")
      .put("mime_type", block["mime_type"].is_string() ? block["mime_type"] : "text/plain")
      .drop("mime_type")
      .done();
  return non_standard_block(block);
}

// ---- what models say ----------------------------------------------------------------------------

value from_citation(const value& citation) {
  if (citation["source_content"].is_list())
    return converse_citation(citation);
  auto type = text_in(citation["type"]);
  if (!type.ends_with("_location") || citation["cited_text"].is_null()
      || (type == "web_search_result_location" && citation["url"].is_null()))
    return value::map({{"type", "non_standard_annotation"}, {"value", citation}});
  auto title = citation["title"].is_null() ? "document_title" : "title";
  return renamed_block{citation}
    .as("citation")
    .take("cited_text", "cited_text")
    .take("url", "url")
    .take(title, "title")
    .done();
}

value from_text(const value& block) {
  if (block["annotations"].is_list())
    return block.with("annotations", standard_annotations(block["annotations"]));
  if (!block["citations"].is_list())
    return block;
  if (block["citations"].empty())
    return block.without("citations");
  std::vector<value> annotations;
  std::ranges::transform(block["citations"].items(), std::back_inserter(annotations),
                         from_citation);
  return block.without("citations").with("annotations", value::list(std::move(annotations)));
}

// The input of a provider's own tool; a part of a stream has it as text.
value input_of(const value& block) {
  if (!block["input"].empty() || !block["partial_json"].is_string())
    return block["input"].is_null() ? value::map() : block["input"];
  auto read = read_arguments(text_in(block["partial_json"]));
  return read && read->is_map() ? *read : value::map();
}

value from_server_call(const value& block) {
  renamed_block out{block};
  out.as("server_tool_call").drop("name").drop("input").drop("partial_json");
  if (block["type"] == value("mcp_tool_use"))
    out.put("name", "remote_mcp").extra("tool_name", block["name"]);
  else
    out.put("name",
            block["name"] == value("code_execution") ? value("code_interpreter") : block["name"]);
  return out.put("args", input_of(block)).done();
}

value from_server_result(const value& block) {
  const auto& content = block["content"];
  bool failed = block["is_error"] == value(true) || !text_in(content["error_code"]).empty()
                || text_in(content["type"]).ends_with("_tool_result_error");
  return renamed_block{block}
    .as("server_tool_result")
    .extra("block_type", block["type"])
    .take("tool_use_id", "tool_call_id")
    .put("status", failed ? "error" : "success")
    .drop("is_error")
    .take("content", "output")
    .done();
}

value call_block(const value& call, std::string_view type) {
  return call.with("type", type);
}

value standard_block(const value& block, bool said) {
  if (block.is_string())
    return text_block(block.as_string());
  auto type = text_in(block["type"]);
  if (type == "text")
    return from_text(block);
  if (block["source"].is_map() && (is_media(type) || type == "document"))
    return from_source(block, type == "document" ? "file" : type);
  if (block["source_type"].is_string() && is_media(type))
    return from_source_type(block, type);
  if (type == "file" && block["file"].is_map())
    return from_openai_file(block);
  if (std::ranges::find(standard_types, type) != standard_types.end())
    return block;
  if (type == "image_url")
    return from_openai_image(block);
  if (type == "input_audio")
    return from_openai_audio(block);
  if (type == "thinking")
    return renamed_block{block}.as("reasoning").take("thinking", "reasoning").done();
  if (type == "tool_use")
    return renamed_block{block}
      .as("tool_call")
      .take("name", "name")
      .drop("input")
      .drop("partial_json")
      .put("args", input_of(block))
      .done();
  if (type == "server_tool_use" || type == "mcp_tool_use")
    return from_server_call(block);
  if (type.ends_with("_tool_result") && block["tool_use_id"].is_string())
    return from_server_result(block);
  auto cloud = cloud_block(block, said);
  return cloud.is_null() ? non_standard_block(block) : cloud;
}

// Calls are taken from the message's `tool_calls`, even where a block differs.
void add_shown_calls(std::vector<value>& blocks, const value& calls) {
  for (const auto& call : calls.items()) {
    auto at = std::ranges::find_if(blocks, [&call](const value& b) {
      return b["type"] == value("tool_call") && b["id"] == call["id"];
    });
    if (at == blocks.end())
      blocks.push_back(call_block(call, "tool_call"));
    else
      *at = at->with("name", call["name"]).with("args", call["args"]);
  }
}

// Adds the parts of an assistant's message that stand beside its content.
void add_said_beside(std::vector<value>& blocks, const value& message) {
  const auto& thoughts = message_member(message, "additional_kwargs")["reasoning_content"];
  if (thoughts.is_string() && !thoughts.empty())
    blocks.insert(blocks.begin(), value::map({{"type", "reasoning"}, {"reasoning", thoughts}}));
  add_shown_calls(blocks, message_tool_calls(message));
  for (const auto& call : message_member(message, "tool_call_chunks").items())
    blocks.push_back(call_block(call, "tool_call_chunk"));
}

// Google names the sources of an answer once, not for each text.
void add_sources(std::vector<value>& blocks, const value& grounding) {
  auto citations = grounding_citations(grounding);
  auto first =
    std::ranges::find_if(blocks, [](const value& block) { return block["type"] == value("text"); });
  if (!citations.empty() && first != blocks.end())
    *first = first->with("annotations", citations);
}

} // namespace

value non_standard_block(const value& block) {
  auto out = value::map({{"type", "non_standard"}, {"value", block}});
  if (!block.is_map() || !block.contains("index"))
    return out;
  return out.with("value", block.without("index")).with("index", block["index"]);
}

renamed_block& renamed_block::as(std::string_view type) {
  out_.emplace_back("type", type);
  used_.emplace_back("type");
  return *this;
}

renamed_block& renamed_block::put(std::string_view name, value v) {
  out_.emplace_back(std::string{name}, std::move(v));
  return *this;
}

renamed_block& renamed_block::take(std::string_view from, std::string_view name) {
  used_.push_back(from);
  const auto& v = (*from_)[from];
  return v.is_null() ? *this : put(name, v);
}

renamed_block& renamed_block::drop(std::string_view name) {
  used_.push_back(name);
  return *this;
}

renamed_block& renamed_block::extra(std::string_view name, value v) {
  if (!v.is_null())
    extras_ = extras_.with(name, std::move(v));
  return *this;
}

value renamed_block::done() {
  for (const auto& e : from_->entries()) {
    if (e.val.is_null() || std::ranges::find(used_, e.key()) != used_.end())
      continue;
    if (e.key() == "id" || e.key() == "index")
      out_.emplace_back(std::string{e.key()}, e.val);
    else
      extras_ = extras_.with(e.key(), e.val);
  }
  if (!extras_.empty())
    out_.emplace_back("extras", std::move(extras_));
  return value::map(std::move(out_));
}

value content_blocks(const value& message) {
  const auto& content = message_member(message, "content");
  bool is_standard = message_member(message, "response_metadata")["output_version"] == value("v1");
  if (is_standard && content.is_list())
    return content;
  std::vector<value> out;
  if (content.is_string() && !content.empty())
    out.push_back(text_block(content.as_string()));
  bool said = message_role(message) == "assistant";
  for (const auto& block : content.items())
    if (!said || !add_responses_blocks(out, block))
      out.push_back(standard_block(block, said));
  if (said) {
    add_said_beside(out, message);
    add_sources(out, message_member(message, "response_metadata")["grounding_metadata"]);
  }
  return value::list(std::move(out));
}

} // namespace troupe
