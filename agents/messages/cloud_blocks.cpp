// cloud_blocks: blocks of Google's Gemini API and of Amazon's Bedrock Converse API.
#include "agents/messages/content_blocks.hpp"
#include "agents/messages/json_text.hpp"

#include <openssl/evp.h>

#include <string>

namespace troupe {
namespace {

constexpr std::int64_t outcome_ok = 1; // Google's OUTCOME_OK

// Bytes as base64 text; a value from JSON is text already.
value as_base64(const value& bytes) {
  if (!bytes.is_bytes())
    return bytes;
  auto data = bytes.as_bytes();
  std::string out((data.size() + 2) / 3 * 4 + 1, '\0'); // one more for OpenSSL's final NUL
  auto size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                              reinterpret_cast<const unsigned char*>(data.data()),
                              static_cast<int>(data.size()));
  out.resize(static_cast<std::size_t>(size));
  return out;
}

// {document: {format, source, …}} or {image: {format, source, …}}.
value from_converse_media(const value& block, std::string_view kind) {
  const auto& media = block[kind];
  const auto& source = media["source"];
  auto format = text_in(media["format"]);
  renamed_block out{media};
  out.drop("format").drop("source");
  if (kind == "image" && !format.empty() && source.contains("bytes"))
    return out.as("image")
      .put("base64", as_base64(source["bytes"]))
      .put("mime_type", "image/" + format)
      .done();
  if (kind == "document" && format == "pdf" && source.contains("bytes"))
    return out.as("file")
      .put("base64", as_base64(source["bytes"]))
      .put("mime_type", "application/pdf")
      .done();
  if (kind == "document" && format == "txt" && source.contains("text"))
    return out.as("text-plain").put("text", source["text"]).put("mime_type", "text/plain").done();
  return {};
}

// A thought of Bedrock's API: {text, signature} or {redacted_content}.
value from_converse_thought(const value& block) {
  const auto& thought = block["reasoning_content"];
  renamed_block out{block};
  out.as("reasoning").drop("reasoning_content");
  if (!text_in(thought["text"]).empty())
    out.put("reasoning", thought["text"]);
  for (const auto* name : {"signature", "redacted_content"})
    out.extra(name, thought[name]);
  return out.done();
}

value or_text(const value& v, std::string_view otherwise) {
  return v.is_null() ? value(otherwise) : v;
}

value with_index(std::vector<value::map_init> members, const value& from) {
  if (!from["index"].is_null())
    members.emplace_back("index", from["index"]);
  return value::map(std::move(members));
}

value from_program(const value& block) {
  return with_index({{"type", "server_tool_call"},
                     {"name", "code_interpreter"},
                     {"id", or_text(block["id"], "")},
                     {"args", value::map({{"code", or_text(block["executable_code"], "")},
                                          {"language", or_text(block["language"], "python")}})}},
                    block);
}

value from_program_result(const value& block, bool said) {
  auto outcome = block["outcome"].is_null() ? value(outcome_ok) : block["outcome"];
  auto extras = value::map({{"outcome", outcome}});
  return with_index({{"type", "server_tool_result"},
                     {"tool_call_id", or_text(block["tool_call_id"], "")},
                     {"status", outcome == value(outcome_ok) ? "success" : "error"},
                     {"output", or_text(block["code_execution_result"], "")},
                     {"extras", said ? extras.with("block_type", block["type"]) : extras}},
                    block);
}

value from_function_call(const value& block) {
  return with_index({{"type", "tool_call"},
                     {"name", block["name"]},
                     {"args", block["args"].is_map() ? block["args"] : value::map()},
                     {"id", or_text(block["id"], "")}},
                    block);
}

// The source of one piece of Google's answer: a page, or a place.
value grounding_citation(const value& support, const value& number, const value& metadata) {
  const auto& chunk = metadata["grounding_chunks"][static_cast<std::size_t>(number.as_int())];
  auto google = value::map(
    {{"web_search_queries",
      metadata["web_search_queries"].is_list() ? metadata["web_search_queries"] : value::list()},
     {"grounding_chunk_index", number},
     {"confidence_scores",
      support["confidence_scores"].is_list() ? support["confidence_scores"] : value::list()}});
  if (const auto& place = chunk["maps"]["placeId"]; !place.is_null())
    google = google.with("place_id", place);
  std::vector<value::map_init> out{{"type", "citation"},
                                   {"extras", value::map({{"google_ai_metadata", google}})}};
  auto put = [&out](const char* name, const value& v) {
    if (!v.is_null())
      out.emplace_back(name, v);
  };
  const auto& page = chunk["maps"]["uri"].is_null() ? chunk["web"] : chunk["maps"];
  put("url", page["uri"]);
  put("title", page["title"]);
  const auto& segment = support["segment"];
  put("start_index", segment["start_index"]);
  put("end_index", segment["end_index"]);
  put("cited_text", segment["text"]);
  return value::map(std::move(out));
}

} // namespace

value cloud_block(const value& block, bool said) {
  auto type = text_in(block["type"]);
  if (type.empty() && block.size() == 1) {
    if (auto text = text_in(block["text"]); !text.empty())
      return value::map({{"type", "text"}, {"text", text}});
    return from_converse_media(block, block.contains("image") ? "image" : "document");
  }
  if (type == "reasoning_content")
    return from_converse_thought(block);
  if (type == "file_data" && block["file_uri"].is_string())
    return renamed_block{block}
      .as("file")
      .take("file_uri", "url")
      .take("mime_type", "mime_type")
      .done();
  if (type == "function_call" && block["name"].is_string() && !block.contains("arguments"))
    return from_function_call(block);
  if (type == "executable_code")
    return from_program(block);
  if (type == "code_execution_result")
    return from_program_result(block, said);
  return {};
}

value converse_citation(const value& citation) {
  std::string text;
  for (const auto& piece : citation["source_content"].items())
    text += text_in(piece["text"]);
  return renamed_block{citation}
    .as("citation")
    .drop("source_content")
    .take("title", "title")
    .put("cited_text", text)
    .done();
}

value grounding_citations(const value& metadata) {
  std::vector<value> out;
  auto chunks = static_cast<std::int64_t>(metadata["grounding_chunks"].items().size());
  for (const auto& support : metadata["grounding_supports"].items())
    for (const auto& number : support["grounding_chunk_indices"].items())
      if (number.is_int() && number.as_int() >= 0 && number.as_int() < chunks)
        out.push_back(grounding_citation(support, number, metadata));
  return value::list(std::move(out));
}

} // namespace troupe
