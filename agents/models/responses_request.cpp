// responses_request: requests of OpenAI's Responses API.
#include "agents/messages/json_text.hpp"
#include "agents/models/openai_wire.hpp"
#include "agents/models/responses_wire.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace troupe {
namespace {

using responses_members = std::vector<value::map_init>;

bool is_kind(const value& block, std::string_view type) {
  return block.is_map() && block["type"] == value(type);
}

// ---- what people and tools say ------------------------------------------------------------------

// A block in OpenAI's chat form as a part of an input message.
value input_part(const value& block) {
  if (is_kind(block, "text"))
    return value::map({{"type", "input_text"}, {"text", block["text"]}});
  if (is_kind(block, "image_url")) {
    const auto& image = block["image_url"];
    auto out =
      value::map({{"type", "input_image"}, {"image_url", image.is_map() ? image["url"] : image}});
    return image["detail"].is_string() ? out.with("detail", image["detail"]) : out;
  }
  if (is_kind(block, "file")) {
    auto out = value::map({{"type", "input_file"}});
    for (const auto& e : block["file"].entries())
      out = out.with(e.key(), e.val);
    return out;
  }
  return block.without("cache_control").without("index");
}

value input_content(const value& content) {
  if (!content.is_list())
    return content;
  std::vector<value> out;
  for (const auto& block : content.items())
    if (!is_responses_item(block))
      out.push_back(input_part(block));
  return value::list(std::move(out));
}

// Messages besides answers are written by way of the chat form, which knows all kinds of blocks.
void add_said(std::vector<value>& out, const value& message) {
  auto chat = messages_to_openai(value::list({message}));
  for (const auto& one : chat.items()) {
    if (one["role"] == value("tool"))
      out.push_back(value::map({{"type", "function_call_output"},
                                {"call_id", one["tool_call_id"]},
                                {"output", input_content(one["content"])}}));
    else
      out.push_back(
        value::map({{"role", one["role"]}, {"content", input_content(one["content"])}}));
  }
}

// ---- answers ------------------------------------------------------------------------------------

value output_text(const value& text, const value& annotations) {
  return value::map({{"type", "output_text"},
                     {"text", text},
                     {"annotations", annotations.is_list() ? annotations : value::list()}});
}

value without_indices(const value& list) {
  std::vector<value> out;
  for (const auto& item : list.items())
    out.push_back(item.without("index"));
  return value::list(std::move(out));
}

value function_call(const value& id, const value& name, const value& arguments) {
  return value::map(
    {{"type", "function_call"}, {"call_id", id}, {"name", name}, {"arguments", arguments}});
}

// The items of one answer, in order.
class answer_items {
public:
  explicit answer_items(std::vector<value>& out, const value& message)
    : out_{out},
      message_{message} {}

  void add() {
    const auto& content = message_member(message_, "content");
    if (content.is_string())
      add_text(content, {}, {});
    for (const auto& block : content.items())
      add_block(block);
    if (auto refusal = message_member(message_, "additional_kwargs")["refusal"];
        refusal.is_string())
      add_part(value::map({{"type", "refusal"}, {"refusal", refusal}}), {});
    end_message();
    for (const auto& call : message_tool_calls(message_).items())
      if (!is_sent(call["id"]))
        out_.push_back(function_call(call["id"], call["name"], spaced_json(call["args"])));
    for (const auto& call : message_member(message_, "invalid_tool_calls").items())
      if (!is_sent(call["id"]))
        out_.push_back(function_call(call["id"], call["name"], call["args"]));
  }

private:
  void add_block(const value& block) {
    if (block.is_string())
      return add_text(block, {}, {});
    if (is_kind(block, "text"))
      return add_text(block["text"], block["annotations"], block["id"]);
    if (!is_responses_item(block))
      return;
    end_message();
    if (is_kind(block, "function_call"))
      return add_call(block);
    auto item = block.without("index");
    if (is_kind(block, "reasoning"))
      item = item.with("summary", without_indices(block["summary"]));
    out_.push_back(std::move(item));
  }

  // The block has the provider's id of the item; the message knows what is called now.
  void add_call(const value& block) {
    for (const auto& call : message_tool_calls(message_).items())
      if (call["id"] == block["call_id"])
        return put_call(block, call["name"], spaced_json(call["args"]));
    for (const auto& call : message_member(message_, "invalid_tool_calls").items())
      if (call["id"] == block["call_id"])
        return put_call(block, call["name"], call["args"]);
  }

  void put_call(const value& block, const value& name, const value& arguments) {
    auto same = read_arguments(text_in(block["arguments"]));
    auto now = read_arguments(text_in(arguments));
    auto item = block.without("index").with("name", name);
    out_.push_back(same && now && *same == *now ? item : item.with("arguments", arguments));
    sent_.push_back(block["call_id"]);
  }

  void add_text(const value& text, const value& annotations, const value& id) {
    if (!text_in(text).empty())
      add_part(output_text(text, annotations), id);
  }

  // Texts with one id are parts of one message.
  void add_part(value part, const value& id) {
    if (!parts_.empty() && id != id_)
      end_message();
    id_ = id;
    parts_.push_back(std::move(part));
  }

  void end_message() {
    if (parts_.empty())
      return;
    auto item = value::map({{"type", "message"},
                            {"role", "assistant"},
                            {"content", value::list(std::exchange(parts_, {}))}});
    out_.push_back(id_.is_string() ? item.with("id", id_) : item);
  }

  bool is_sent(const value& id) const { return std::ranges::find(sent_, id) != sent_.end(); }

  std::vector<value>& out_;
  const value& message_;
  std::vector<value> parts_;
  value id_;
  std::vector<value> sent_;
};

// The place after the last answer that the provider has stored, and its id; nullopt without one.
std::optional<std::pair<std::size_t, value>> stored_answer(const value& messages) {
  for (auto i = messages.size(); i-- > 0;) {
    const auto& id = message_member(messages[i], "response_metadata")["id"];
    if (message_role(messages[i]) == "assistant" && id.is_string()
        && id.as_string().starts_with("resp_"))
      return std::pair{i + 1, id};
  }
  return std::nullopt;
}

value input_items(const value& messages, std::size_t first) {
  std::vector<value> out;
  for (const auto& message : messages.items().subspan(first))
    if (message_role(message) == "assistant")
      answer_items{out, message}.add();
    else
      add_said(out, message);
  return value::list(std::move(out));
}

// ---- tools and settings -------------------------------------------------------------------------

value responses_tool(const value& definition) {
  auto tool = read_definition(definition);
  if (!tool.is_function)
    return definition;
  auto out = value::map({{"type", "function"},
                         {"name", tool.name},
                         {"parameters", tool.parameters},
                         {"strict", tool.extras["strict"] == value(true)}});
  if (tool.extras["defer_loading"] == value(true))
    out = out.with("defer_loading", true);
  return text_in(tool.description).empty() ? out : out.with("description", tool.description);
}

// Forces a function by its name, or the provider's tool of this type.
value responses_choice(const value& choice, const value& tools) {
  auto word = text_in(choice);
  if (word == "any" || choice == value(true))
    return "required";
  if (choice["type"] == value("function") && choice["function"].is_map())
    return value::map({{"type", "function"}, {"name", choice["function"]["name"]}});
  if (choice.is_map() || word.empty() || word == "auto" || word == "none" || word == "required")
    return choice;
  bool is_type = std::ranges::any_of(tools.items(), [&](const value& t) {
    return is_kind(t, word) && t["name"].is_null();
  });
  return is_type ? value::map({{"type", word}})
                 : value::map({{"type", "function"}, {"name", word}});
}

value with_inner(const value& body, const char* member, std::string_view name, const value& v) {
  const auto& given = body[member];
  return body.with(member, (given.is_map() ? given : value::map()).with(name, v));
}

value with_setting(const value& body, std::string_view name, const value& v) {
  if (name == "max_tokens" || name == "max_completion_tokens")
    return body.with("max_output_tokens", v);
  if (name == "reasoning_effort")
    return with_inner(body, "reasoning", "effort", v);
  if (name == "verbosity")
    return with_inner(body, "text", "verbosity", v);
  if (name == "cache_control" || (name == "parallel_tool_calls" && !body.contains("tools")))
    return body;
  if ((name == "text" || name == "reasoning") && v.is_map()) {
    auto out = body;
    for (const auto& e : v.entries())
      out = with_inner(out, name == "text" ? "text" : "reasoning", e.key(), e.val);
    return out;
  }
  return body.with(name, v);
}

} // namespace

bool is_responses_item(const value& block) {
  auto type = block.is_map() ? text_in(block["type"]) : std::string{};
  if (type == "reasoning")
    return block["summary"].is_list() || block["encrypted_content"].is_string();
  if (type == "function_call")
    return block["call_id"].is_string();
  if (type == "tool_call" || type == "server_tool_call")
    return false;
  return type.ends_with("_call") || type.starts_with("mcp_list_") || type == "mcp_approval_request"
         || type == "compaction";
}

value responses_request(std::string_view model, const chat_model_options& options,
                        const model_request& asked, bool stream) {
  std::size_t first = 0;
  responses_members out{{"model", model}, {"stream", stream}};
  if (auto stored = options.use_previous_response_id ? stored_answer(asked.messages)
                                                     : std::nullopt) {
    first = stored->first;
    out.emplace_back("previous_response_id", stored->second);
  }
  out.emplace_back("input", input_items(asked.messages, first));
  if (options.temperature)
    out.emplace_back("temperature", *options.temperature);
  if (options.max_tokens)
    out.emplace_back("max_output_tokens", *options.max_tokens);
  std::vector<value> tools;
  for (const auto& definition : asked.tools.items())
    tools.push_back(responses_tool(definition));
  if (!tools.empty()) {
    auto list = value::list(std::move(tools));
    if (!asked.tool_choice.is_null())
      out.emplace_back("tool_choice", responses_choice(asked.tool_choice, list));
    out.emplace_back("tools", std::move(list));
  }
  auto body = value::map(std::move(out));
  auto settings = merged_settings(options, asked);
  for (const auto& e : settings.entries())
    body = with_setting(body, e.key(), e.val);
  if (!asked.response_schema.is_null())
    body = with_inner(
      body, "text", "format",
      openai_schema(asked.response_schema, asked.response_strict).with("type", "json_schema"));
  return body;
}

} // namespace troupe
