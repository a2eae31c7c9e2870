// openai_request: requests of OpenAI's chat completions.
#include "agents/messages/json_text.hpp"
#include "agents/models/openai_echo.hpp"
#include "agents/models/openai_wire.hpp"
#include "agents/models/responses_wire.hpp"

#include <algorithm>

namespace troupe {
namespace {

using body_members = std::vector<value::map_init>;

bool has_type(const value& block, std::string_view type) {
  return block.is_map() && block["type"] == value(type);
}

value sent_block(const value& block) {
  if (has_type(block, "text"))
    return text_block(text_in(block["text"]));
  return block.without("index").without("cache_control");
}

// Whether a block is of a type that only another provider, or the Responses API, knows.
bool is_foreign(const value& block) {
  constexpr std::string_view foreign[] = {
    "redacted_thinking", "server_tool_use",  "web_search_tool_result", "document",
    "tool_call",         "server_tool_call", "server_tool_result",     "reasoning_content",
    "function_call",     "non_standard"};
  return is_responses_item(block)
         || std::ranges::any_of(foreign, [&](auto type) { return has_type(block, type); });
}

value sent_content(const value& content) {
  if (!content.is_list())
    return content;
  std::vector<value> out;
  for (const auto& block : content.items())
    if (!is_foreign(block))
      out.push_back(sent_block(block));
  return value::list(std::move(out));
}

// The next assistant's message from place `at`; null without one.
value next_answer(const value& messages, std::size_t& at) {
  auto all = messages.items();
  while (at < all.size() && message_role(all[at]) != "assistant")
    ++at;
  return at < all.size() ? all[at++] : value{};
}

// Calls whose arguments are not JSON are sent back as they came.
value sent_answer(value out, const value& message) {
  auto calls = out["tool_calls"].is_list() ? out["tool_calls"] : value::list();
  for (const auto& call : message_member(message, "invalid_tool_calls").items())
    calls = calls.append(value::map(
      {{"type", "function"},
       {"id", call["id"]},
       {"function", value::map({{"name", call["name"]}, {"arguments", call["args"]}})}}));
  if (calls.empty())
    return out;
  out = out.with("tool_calls", calls);
  return out["content"].empty() ? out.with("content", nullptr) : out;
}

value sent_message(const value& plain) {
  auto out = plain.with("content", sent_content(plain["content"]));
  return plain["role"] == value("tool") ? out.without("name") : out;
}

// Whether the model is a reasoning one (o1, o3-mini …), which takes system messages as a
// developer's.
bool knows_developers(std::string_view model) {
  return model.size() >= 2 && model[0] == 'o' && model[1] >= '0' && model[1] <= '9';
}

value sent_messages(std::string_view model, const value& messages, std::string_view endpoint) {
  auto plain = messages_to_openai(messages);
  std::vector<value> out;
  std::size_t at = 0;
  bool developers = knows_developers(model);
  for (const auto& one : plain.items()) {
    auto sent = sent_message(one);
    if (one["role"] == value("assistant")) {
      auto message = next_answer(messages, at);
      sent = with_echo(sent_answer(std::move(sent), message), message, endpoint);
    }
    out.push_back(developers && sent["role"] == value("system") ? sent.with("role", "developer")
                                                                : std::move(sent));
  }
  return value::list(std::move(out));
}

value sent_tool(const value& definition) {
  auto tool = read_definition(definition);
  if (!tool.is_function)
    return definition;
  auto function = value::map({{"name", tool.name}, {"parameters", tool.parameters}});
  if (!text_in(tool.description).empty())
    function = function.with("description", tool.description);
  if (!tool.extras["strict"].is_null())
    function = function.with("strict", tool.extras["strict"]);
  return value::map({{"type", "function"}, {"function", std::move(function)}});
}

value sent_choice(const value& choice) {
  auto word = text_in(choice);
  if (word == "any" || choice == value(true))
    return "required";
  if (choice.is_map() || word.empty() || word == "auto" || word == "none" || word == "required")
    return choice;
  return value::map({{"type", "function"}, {"function", value::map({{"name", word}})}});
}

// Whether the provider can enforce the schema: no further members, and all of them required.
bool is_strict(const value& schema) {
  if (schema.is_list())
    return std::ranges::all_of(schema.items(), is_strict);
  if (!schema.is_map())
    return true;
  const auto& properties = schema["properties"];
  if (properties.is_map()
      && (schema["additionalProperties"] != value(false)
          || schema["required"].size() != properties.size()))
    return false;
  return std::ranges::all_of(schema.entries(), [](const auto& e) { return is_strict(e.val); });
}

} // namespace

value openai_schema(const value& schema, std::optional<bool> strict) {
  auto title = text_in(schema["title"]);
  std::erase_if(title, [](char c) {
    return !((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'
             || c == '-');
  });
  title.resize(std::min<std::size_t>(title.size(), 64));
  return value::map({{"name", title.empty() ? "response" : title},
                     {"schema", schema},
                     {"strict", strict.value_or(is_strict(schema))}});
}

http_headers openai_headers(const std::string& key, const chat_model_options& options,
                            const model_request& asked) {
  http_headers out;
  if (!key.empty())
    out.emplace_back("Authorization", "Bearer " + key);
  for (const auto* more : {&options.headers, &asked.headers})
    out.insert(out.end(), more->begin(), more->end());
  return out;
}

value openai_request(std::string_view model, const chat_model_options& options,
                     const model_request& asked, bool stream, bool own_address) {
  auto endpoint = own_address ? std::string{} : endpoint_of(options.base_url);
  body_members out{{"model", model},
                   {"messages", sent_messages(model, asked.messages, endpoint)},
                   {"stream", stream}};
  if (stream) // without it, a stream has no usage
    out.emplace_back("stream_options", value::map({{"include_usage", true}}));
  if (options.temperature)
    out.emplace_back("temperature", *options.temperature);
  if (options.max_tokens)
    out.emplace_back(own_address ? "max_completion_tokens" : "max_tokens", *options.max_tokens);
  std::vector<value> tools;
  for (const auto& definition : asked.tools.items())
    tools.push_back(sent_tool(definition));
  if (!tools.empty()) {
    out.emplace_back("tools", value::list(std::move(tools)));
    if (!asked.tool_choice.is_null())
      out.emplace_back("tool_choice", sent_choice(asked.tool_choice));
  }
  if (!asked.response_schema.is_null())
    out.emplace_back(
      "response_format",
      value::map({{"type", "json_schema"},
                  {"json_schema", openai_schema(asked.response_schema, asked.response_strict)}}));
  auto body = value::map(std::move(out));
  auto settings = merged_settings(options, asked).without("cache_control");
  for (const auto& e : settings.entries()) {
    if (e.key() == "max_tokens" && own_address)
      body = body.with("max_completion_tokens", e.val);
    else if (e.key() != "parallel_tool_calls" || body.contains("tools"))
      body = body.with(e.key(), e.val);
  }
  return body;
}

} // namespace troupe
