// anthropic_request: requests of Anthropic's Messages API.
#include "agents/messages/failure.hpp"
#include "agents/messages/json_text.hpp"
#include "agents/models/anthropic_wire.hpp"
#include "agents/models/responses_wire.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <map>

namespace troupe {
namespace {

using request_members = std::vector<value::map_init>;

bool is_block(const value& block, std::string_view type) {
  return block.is_map() && block["type"] == value(type);
}

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") == text.npos;
}

// ---- ids ----------------------------------------------------------------------------------------

bool is_allowed_id(std::string_view id) {
  return !id.empty() && std::ranges::all_of(id, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'
           || c == '-';
  });
}

value allowed_id(const value& id) {
  auto text = text_in(id);
  if (is_allowed_id(text))
    return id;
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr);
  constexpr const char* digits = "0123456789abcdef";
  std::string out = "toolu_";
  for (std::size_t i = 0; i < 12; ++i) {
    out += digits[digest[i] >> 4];
    out += digits[digest[i] & 15];
  }
  return out;
}

// ---- blocks -------------------------------------------------------------------------------------

// "data:image/png;base64,…" as a source; any other address as an address.
value source_of_url(std::string_view url) {
  constexpr std::string_view mark = ";base64,";
  auto at = url.find(mark);
  if (!url.starts_with("data:") || at == url.npos)
    return value::map({{"type", "url"}, {"url", url}});
  return value::map({{"type", "base64"},
                     {"media_type", url.substr(5, at - 5)},
                     {"data", url.substr(at + mark.size())}});
}

value with_cache_mark(value block, const value& given) {
  const auto& mark = given["cache_control"];
  return mark.is_null() ? block : block.with("cache_control", mark);
}

value image_source(const value& block) {
  if (block["source"].is_map())
    return block["source"];
  if (is_block(block, "image_url"))
    return source_of_url(
      text_in(block["image_url"].is_map() ? block["image_url"]["url"] : block["image_url"]));
  if (block["base64"].is_string())
    return value::map(
      {{"type", "base64"},
       {"media_type", block["mime_type"].is_string() ? block["mime_type"] : value("image/png")},
       {"data", block["base64"]}});
  if (block["file_id"].is_string())
    return value::map({{"type", "file"}, {"file_id", block["file_id"]}});
  return source_of_url(text_in(block["url"]));
}

// A standard file or text as a document; null when it has no content to send.
value document_of(const value& block) {
  value source;
  if (block["text"].is_string())
    source = value::map({{"type", "text"}, {"media_type", "text/plain"}, {"data", block["text"]}});
  else if (block["base64"].is_string())
    source = value::map({{"type", "base64"},
                         {"media_type", block["mime_type"].is_string() ? block["mime_type"]
                                                                       : value("application/pdf")},
                         {"data", block["base64"]}});
  else if (block["url"].is_string())
    source = value::map({{"type", "url"}, {"url", block["url"]}});
  else if (block["file_id"].is_string())
    source = value::map({{"type", "file"}, {"file_id", block["file_id"]}});
  else
    return {};
  auto out = value::map({{"type", "document"}, {"source", std::move(source)}});
  for (const auto* name : {"title", "context"})
    if (block[name].is_string())
      out = out.with(name, block[name]);
  return with_cache_mark(out, block);
}

// A model's thought, if the provider signed it.
value thought_to_send(const value& text, const value& signature) {
  if (!signature.is_string())
    return {};
  return value::map({{"type", "thinking"}, {"thinking", text_in(text)}, {"signature", signature}});
}

value with_kept(value block, const value& from) {
  for (const auto* name : kept_of_calls)
    if (!from[name].is_null())
      block = block.with(name, from[name]);
  return block;
}

// A call of the provider's own tool; other programs store its input as it was streamed.
value provider_call(const value& block) {
  if (!block["partial_json"].is_string())
    return block;
  auto input = read_arguments(text_in(block["partial_json"]));
  auto out = block.without("partial_json");
  return block["input"].empty() && input && input->is_map() ? out.with("input", *input) : out;
}

value tool_result(const value& block);

// A block in the form of the API; null to leave it out.
value block_to_send(const value& block) {
  if (block.is_string())
    return is_blank(block.as_string()) ? value{} : text_block(block.as_string());
  if (is_block(block, "text")) {
    auto text = text_in(block["text"]);
    if (is_blank(text))
      return {};
    auto out = text_block(text);
    if (block["citations"].is_list() && !block["citations"].empty())
      out = out.with("citations", block["citations"]);
    return with_cache_mark(out, block);
  }
  if (is_block(block, "image") || is_block(block, "image_url"))
    return with_cache_mark(value::map({{"type", "image"}, {"source", image_source(block)}}), block);
  if (is_block(block, "thinking"))
    return thought_to_send(block["thinking"], block["signature"]);
  if (is_block(block, "reasoning"))
    return thought_to_send(block["reasoning"], block["extras"]["signature"]);
  if (is_block(block, "file") || is_block(block, "text-plain"))
    return document_of(block);
  if (is_block(block, "redacted_thinking"))
    return value::map({{"type", "redacted_thinking"}, {"data", block["data"]}});
  if (is_block(block, "tool_use"))
    return with_kept(
      with_cache_mark(
        value::map({{"type", "tool_use"},
                    {"id", allowed_id(block["id"])},
                    {"name", block["name"]},
                    {"input", block["input"].is_map() ? block["input"] : value::map()}}),
        block),
      block);
  if (is_block(block, "tool_result"))
    return tool_result(block);
  if (is_block(block, "tool_call") || !block.is_map() || is_responses_item(block))
    return {};
  return provider_call(block.without("index"));
}

std::vector<value> blocks_to_send(const value& content) {
  std::vector<value> out;
  auto add = [&out](const value& block) {
    if (auto sent = block_to_send(block); !sent.is_null())
      out.push_back(std::move(sent));
  };
  if (content.is_list())
    for (const auto& block : content.items())
      add(block);
  else
    add(content);
  return out;
}

value result_content(const value& content) {
  return content.is_list() ? value::list(blocks_to_send(content)) : content;
}

value tool_result(const value& block) {
  auto out = block.without("index").with("tool_use_id", allowed_id(block["tool_use_id"]));
  return block.contains("content") ? out.with("content", result_content(block["content"])) : out;
}

// ---- messages -----------------------------------------------------------------------------------

value result_of_tool(const value& message) {
  return value::map({{"type", "tool_result"},
                     {"tool_use_id", allowed_id(message_member(message, "tool_call_id"))},
                     {"content", result_content(message_member(message, "content"))},
                     {"is_error", message_member(message, "status") == value("error")}});
}

// Adds the calls that stand in no block of the content. Calls in blocks get the message's current
// names and arguments.
void add_sent_calls(std::vector<value>& blocks, const value& message) {
  auto put = [&blocks](const value& call, bool is_valid) {
    auto id = allowed_id(call["id"]);
    auto input = call["args"].is_map() ? call["args"] : value::map();
    auto at = std::ranges::find_if(blocks, [&id](const value& b) {
      return is_block(b, "tool_use") && b["id"] == id;
    });
    if (at == blocks.end())
      blocks.push_back(with_kept(
        value::map({{"type", "tool_use"}, {"id", id}, {"name", call["name"]}, {"input", input}}),
        call["extras"]));
    else if (is_valid)
      *at = at->with("name", call["name"]).with("input", input);
  };
  for (const auto& call : message_tool_calls(message).items())
    put(call, true);
  for (const auto& call : message_member(message, "invalid_tool_calls").items())
    put(call, false);
}

struct turn {
  std::string_view role;
  std::vector<value> blocks;
};

void strip_end(std::vector<value>& blocks) {
  if (blocks.empty() || !is_block(blocks.back(), "text"))
    return;
  auto text = text_in(blocks.back()["text"]);
  text.resize(text.find_last_not_of(" \t\r\n") + 1);
  blocks.back() = blocks.back().with("text", text);
}

// Whether another provider's model wrote the message. Some other providers serve Anthropic's
// models.
bool is_of_others(const value& message) {
  constexpr std::array<std::string_view, 4> own{"anthropic", "bedrock", "bedrock_converse",
                                                "google_vertexai"};
  auto provider = text_in(message_member(message, "response_metadata")["model_provider"]);
  return !provider.empty() && std::ranges::find(own, provider) == own.end();
}

class conversation_writer {
public:
  void add(const value& message) {
    if (!is_message(message))
      throw error{errc::invalid_value,
                  "write messages for Anthropic: not a message, but a value of the kind "
                    + std::string{to_string(message.kind())}};
    auto role = message_role(message);
    if (role == "system")
      return add_system(message_member(message, "content"));
    if (role == "assistant")
      return add_answer(message);
    auto blocks = role == "tool" ? std::vector<value>{}
                                 : blocks_to_send(message_member(message, "content"));
    if (role == "tool")
      blocks.push_back(result_of_tool(message));
    if (turns_.empty() || turns_.back().role != "user")
      turns_.push_back({"user", {}});
    for (auto& block : blocks)
      turns_.back().blocks.push_back(with_toolset(std::move(block)));
  }

  value system() {
    if (system_.size() == 1 && system_[0].size() == 2) // only type and text: sent as a plain text
      return system_[0]["text"];
    return system_.empty() ? value{} : value::list(system_);
  }

  value messages() {
    std::vector<value> out;
    for (std::size_t i = 0; i < turns_.size(); ++i) {
      auto& one = turns_[i];
      if (i + 1 == turns_.size() && one.role == "assistant")
        strip_end(one.blocks);
      if (one.blocks.empty() && one.role == "assistant" && i + 1 < turns_.size())
        continue;
      bool one_text = one.blocks.size() == 1 && is_block(one.blocks[0], "text")
                      && one.blocks[0].size() == 2;
      out.push_back(value::map(
        {{"role", one.role},
         {"content", one_text ? one.blocks[0]["text"] : value::list(std::move(one.blocks))}}));
    }
    return value::list(std::move(out));
  }

private:
  void add_answer(const value& message) {
    auto blocks = blocks_to_send(message_member(message, "content"));
    if (is_of_others(message)) // Anthropic could not check the signature of such a thought
      std::erase_if(blocks, [](const value& block) { return is_block(block, "thinking"); });
    add_sent_calls(blocks, message);
    for (const auto& block : blocks)
      if (is_block(block, "tool_use") && block["toolset_name"].is_string())
        toolsets_[text_in(block["id"])] = block["toolset_name"];
    turns_.push_back({"assistant", std::move(blocks)});
  }

  // A result names the toolset of its call.
  value with_toolset(value block) const {
    auto at = toolsets_.find(text_in(block["tool_use_id"]));
    if (at == toolsets_.end() || !is_block(block, "tool_result") || block.contains("toolset_name"))
      return block;
    return block.with("toolset_name", at->second);
  }

  void add_system(const value& content) {
    if (!system_.empty() && !turns_.empty())
      throw value_error("Received multiple non-consecutive system messages.");
    auto blocks = blocks_to_send(content);
    system_.insert(system_.end(), blocks.begin(), blocks.end());
  }

  std::vector<value> system_;
  std::vector<turn> turns_;
  std::map<std::string, value> toolsets_; // by the ids of calls
};

// ---- tools --------------------------------------------------------------------------------------

value tool_to_send(const value& definition) {
  auto tool = read_definition(definition);
  if (!tool.is_function)
    return definition;
  if (const auto& type = tool.extras["type"]; type.is_string() && type != value("custom"))
    return tool.extras.with("name", tool.name); // the provider's own tool: the provider knows the
                                                // rest
  auto out = tool.extras.with("name", tool.name).with("input_schema", tool.parameters);
  return text_in(tool.description).empty() ? out : out.with("description", tool.description);
}

value choice_to_send(const value& choice, const value& parallel) {
  bool alone = parallel == value(false);
  value out;
  if (choice.is_map())
    out = choice;
  else if (auto word = text_in(choice); word == "auto" || word == "any" || word == "none")
    out = value::map({{"type", word}});
  else if (word == "required" || choice == value(true))
    out = value::map({{"type", "any"}});
  else if (!word.empty())
    out = value::map({{"type", "tool"}, {"name", word}});
  if (alone && out.is_null())
    out = value::map({{"type", "auto"}});
  return alone && out["type"] != value("none") ? out.with("disable_parallel_tool_use", true) : out;
}

} // namespace

value anthropic_request(std::string_view model, const chat_model_options& options,
                        const model_request& asked, bool stream) {
  constexpr std::int64_t tokens_default = 4096;
  auto settings = merged_settings(options, asked);
  conversation_writer conversation;
  for (const auto& message : asked.messages.items())
    conversation.add(message);
  request_members out{{"model", model},
                      {"max_tokens", options.max_tokens.value_or(tokens_default)},
                      {"messages", conversation.messages()}};
  if (auto system = conversation.system(); !system.is_null())
    out.emplace_back("system", system);
  if (stream)
    out.emplace_back("stream", true);
  if (options.temperature)
    out.emplace_back("temperature", *options.temperature);
  std::vector<value> tools;
  for (const auto& definition : asked.tools.items())
    tools.push_back(tool_to_send(definition));
  if (!tools.empty()) {
    out.emplace_back("tools", value::list(std::move(tools)));
    if (auto choice = choice_to_send(asked.tool_choice, settings["parallel_tool_calls"]);
        !choice.is_null())
      out.emplace_back("tool_choice", std::move(choice));
  }
  auto body = value::map(std::move(out));
  for (const auto& e : settings.entries()) {
    if (e.key() == "stop")
      body = body.with("stop_sequences", e.val.is_string() ? value::list({e.val}) : e.val);
    else if (e.key() != "parallel_tool_calls")
      body = body.with(e.key(), e.val);
  }
  if (!asked.response_schema.is_null()) {
    const auto& given = body["output_config"];
    body =
      body.with("output_config",
                (given.is_map() ? given : value::map())
                  .with("format", value::map({{"type", "json_schema"},
                                              {"schema", closed_schema(asked.response_schema)}})));
  }
  return body;
}

} // namespace troupe
