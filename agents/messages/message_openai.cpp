// message_openai: a conversation in OpenAI's chat form.
#include "agents/messages/json_text.hpp"

#include <troupe/agents/messages.hpp>

#include <algorithm>
#include <vector>

namespace troupe {
namespace {

using members = std::vector<value::map_init>;

bool is_type(const value& block, std::string_view type) {
  return block["type"] == value(type);
}

value openai_call(const value& id, const value& name, const value& args) {
  return value::map({{"type", "function"},
                     {"id", id},
                     {"function", value::map({{"name", name}, {"arguments", spaced_json(args)}})}});
}

// A picture in any form, as {"image_url": {"url"}}.
value openai_image(const value& block) {
  const auto& source = block["source"]; // Anthropic's form
  const auto& data = source.is_map() ? source["data"] : block["base64"];
  const auto& mime = source.is_map() ? source["media_type"] : block["mime_type"];
  auto url = source.is_map() && source["url"].is_string() ? source["url"] : block["url"];
  if (data.is_string())
    url = "data:" + (mime.is_string() ? text_in(mime) : "image/png") + ";base64," + text_in(data);
  return value::map({{"type", "image_url"}, {"image_url", value::map({{"url", url}})}});
}

std::string data_address(const value& block, const char* mime_default) {
  const auto& mime = block["mime_type"];
  return "data:" + (mime.is_string() ? text_in(mime) : mime_default) + ";base64,"
         + text_in(block["base64"]);
}

// A standard sound or file; unchanged when it has no data.
value openai_media(const value& block) {
  if (is_type(block, "audio") && block["base64"].is_string()) {
    auto format = text_in(block["mime_type"]);
    format = format.starts_with("audio/") ? format.substr(6) : "wav";
    return value::map(
      {{"type", "input_audio"},
       {"input_audio",
        value::map({{"data", block["base64"]}, {"format", format == "mpeg" ? "mp3" : format}})}});
  }
  auto file = value::map();
  if (block["base64"].is_string())
    file = file.with("file_data", data_address(block, "application/pdf"));
  else if (block["file_id"].is_string())
    file = file.with("file_id", block["file_id"]);
  else
    return block;
  const auto& name = block["extras"]["filename"];
  if (name.is_string())
    file = file.with("filename", name);
  return value::map({{"type", "file"}, {"file", std::move(file)}});
}

struct spoken {
  std::vector<value> blocks;  // the blocks of the message itself
  std::vector<value> calls;   // tool_use blocks
  std::vector<value> results; // tool_result blocks, messages of their own
};

value openai_content(const value& content);

spoken read_blocks(const value& content) {
  spoken out;
  for (const auto& block : content.items()) {
    if (block.is_string())
      out.blocks.push_back(text_block(block.as_string()));
    else if (is_type(block, "text") && block["text"].is_string()) // without cache marks
      out.blocks.push_back(text_block(block["text"].as_string()));
    else if (is_type(block, "image"))
      out.blocks.push_back(openai_image(block));
    else if (is_type(block, "audio") || is_type(block, "file"))
      out.blocks.push_back(openai_media(block));
    else if (is_type(block, "text-plain") && block["text"].is_string())
      out.blocks.push_back(text_block(block["text"].as_string()));
    else if (is_type(block, "tool_use"))
      out.calls.push_back(openai_call(block["id"], block["name"],
                                      block["input"].is_map() ? block["input"] : value::map()));
    else if (is_type(block, "tool_result"))
      out.results.push_back(value::map({{"role", "tool"},
                                        {"tool_call_id", block["tool_use_id"]},
                                        {"content", openai_content(block["content"])}}));
    else if (!is_type(block, "thinking") && !is_type(block, "reasoning"))
      out.blocks.push_back(block);
  }
  return out;
}

value joined(std::vector<value> blocks) {
  auto plain = [](const value& b) { return is_type(b, "text") && b["text"].is_string(); };
  if (!std::ranges::all_of(blocks, plain))
    return value::list(std::move(blocks));
  std::string out;
  for (const auto& block : blocks) {
    if (&block != blocks.data())
      out += '\n';
    out += block["text"].as_string();
  }
  return out;
}

// A text, or blocks when there is more than text.
value openai_content(const value& content) {
  return content.is_list() ? joined(read_blocks(content).blocks) : content;
}

std::string_view openai_role(const value& message) {
  const auto& said = message_member(message, "additional_kwargs")["__openai_role__"];
  return said.is_string() ? said.as_string() : message_role(message);
}

bool stands_in(const std::vector<value>& calls, const value& id) {
  return std::ranges::any_of(calls, [&id](const value& call) { return call["id"] == id; });
}

// A call of OpenAI's form in the form of messages.
value given_call(const value& call) {
  const auto& function = call["function"];
  return value::map(
    {{"type", "tool_call"},
     {"id", call["id"]},
     {"name", function["name"]},
     {"args", from_json(function["arguments"].as_string(), json_form::plain).value()}});
}

// A message whose content is in OpenAI's form; its tool results become messages before it.
void add_normalized(std::vector<value>& out, const value& message) {
  const auto& content = message_member(message, "content");
  if (!is_message(message) || !content.is_list()) {
    out.push_back(message);
    return;
  }
  auto said = read_blocks(content);
  for (const auto& result : said.results)
    out.push_back(coerce_message(result));
  if (!said.results.empty() && said.blocks.empty() && said.calls.empty())
    return;
  auto plain = message.payload().with("content", joined(std::move(said.blocks)));
  auto calls = message_tool_calls(message);
  for (const auto& call : said.calls)
    if (std::ranges::none_of(calls.items(),
                             [&call](const value& c) { return c["id"] == call["id"]; }))
      calls = calls.append(given_call(call));
  if (!calls.empty())
    plain = plain.with("tool_calls", calls);
  out.push_back(value::extension(value_kind::message, std::move(plain)));
}

value normalized(const value& update) {
  std::vector<value> out;
  if (!update.is_list())
    add_normalized(out, coerce_message(update));
  else
    for (const auto& form : update.items())
      add_normalized(out, coerce_message(form));
  return value::list(std::move(out));
}

void add_message(std::vector<value>& out, const value& message) {
  if (!is_message(message))
    throw error{errc::invalid_value,
                "write messages for OpenAI: not a message: " + to_json(message)};
  const auto& content = message_member(message, "content");
  auto said = read_blocks(content);
  for (auto& result : said.results)
    out.push_back(std::move(result));
  if (!said.results.empty() && said.blocks.empty() && said.calls.empty())
    return;
  members one{{"role", openai_role(message)},
              {"content", content.is_list() ? joined(std::move(said.blocks)) : content}};
  auto calls = std::move(said.calls);
  for (const auto& call : message_tool_calls(message).items())
    if (!stands_in(calls, call["id"]))
      calls.push_back(openai_call(call["id"], call["name"], call["args"]));
  if (!calls.empty())
    one.emplace_back("tool_calls", value::list(std::move(calls)));
  for (const auto* name : {"name", "tool_call_id"})
    if (const auto& v = message_member(message, name); !v.is_null())
      one.emplace_back(name, v);
  out.push_back(value::map(std::move(one)));
}

} // namespace

channel_spec add_messages_as_openai() {
  return reduce(
    "add_messages",
    [](const value& current, const value& update) {
      return (*add_messages.op)(current, update.is_null() ? update : normalized(update));
    },
    value::list());
}

value messages_to_openai(const value& messages) {
  std::vector<value> out;
  for (const auto& message : messages.items())
    add_message(out, message);
  return value::list(std::move(out));
}

} // namespace troupe
