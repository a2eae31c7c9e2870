// Choosing an answer by what a request has in it.
#include "tests/provider/conversation.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace troupe::test {

namespace {

// The text of a message's content, in either form; of a tool's answer, what it holds.
std::string text_of(const value& content) {
  if (content.is_string())
    return content.as<std::string>();
  std::string out;
  for (const auto& block : content.items())
    out += text_of(block.contains("content") ? block["content"] : block["text"]);
  return out;
}

bool is_tool_answer(const value& message) {
  auto blocks = message["content"].items();
  return message["role"] == value("tool") || std::ranges::any_of(blocks, [](const value& b) {
           return b["type"] == value("tool_result");
         });
}

value last_message(const seen_request& request) {
  auto messages = request.body["messages"].items();
  return messages.empty() ? value{} : messages.back();
}

// Something of this schema.
value sample_of(const value& schema, const std::string& text) {
  if (!schema["enum"].empty())
    return schema["enum"][0];
  const auto& type = schema["type"];
  if (type == value("integer") || type == value("number"))
    return 1;
  if (type == value("boolean"))
    return true;
  if (type == value("array"))
    return value::list();
  if (type != value("object"))
    return text;
  auto out = value::map();
  for (const auto& name : schema["required"].items())
    out = out.with(name.as_string(), sample_of(schema["properties"][name.as_string()], text));
  return out;
}

model_call call_of(const value& offered, const std::string& text) {
  bool wrapped = offered.contains("function");
  const auto& definition = wrapped ? offered["function"] : offered;
  auto schema = definition[wrapped ? "parameters" : "input_schema"];
  return {.id = "call_1",
          .name = definition["name"].is_string() ? definition["name"].as<std::string>() : "",
          .arguments = to_json(sample_of(schema.with("type", "object"), text))};
}

std::string words_for(std::string said, std::size_t words) {
  if (words == 0)
    return said.empty() ? "…" : said;
  std::string out;
  for (std::size_t i = 0; i < words; ++i)
    out += "word ";
  return out;
}

delivery at_pace(const pace& how) {
  return {.first_event = how.first, .each_event = how.each};
}

std::string string_of(const value& v) {
  return v.is_string() ? v.as<std::string>() : std::string{};
}

responder reply_of(const value& reply, const pace& how) {
  if (reply.contains("raw"))
    return raw({send_bytes{string_of(reply["raw"])}, hang_up{}});
  if (reply.contains("status")) {
    std::vector<header> headers;
    for (const auto& h : reply["headers"].entries())
      headers.emplace_back(std::string{h.key()}, string_of(h.val));
    return fails(static_cast<int>(reply["status"].as_int()), string_of(reply["message"]),
                 std::move(headers));
  }
  model_answer answer{.text = string_of(reply["text"]),
                      .thinking = string_of(reply["thinking"]),
                      .stop = string_of(reply["stop"])};
  for (const auto& c : reply["tool_calls"].items())
    answer.calls.push_back(
      {.id = c.contains("id") ? string_of(c["id"]) : "call_" + std::to_string(answer.calls.size()),
       .name = string_of(c["name"]),
       .arguments = to_json(c["args"].is_null() ? value::map() : c["args"])});
  return says(std::move(answer), at_pace(how));
}

std::size_t turns_in(const seen_request& request) {
  return static_cast<std::size_t>(
    std::ranges::count_if(request.body["messages"].items(),
                          [](const value& m) { return m["role"] == value("assistant"); }));
}

} // namespace

responder converses(pace how) {
  return [how](const seen_request& request) {
    auto last = last_message(request);
    auto said = text_of(last["content"]);
    model_answer answer;
    if (is_tool_answer(last))
      answer.text = "The tool says: " + said;
    else if (const auto& tools = request.body["tools"]; !tools.empty())
      answer.calls.push_back(call_of(tools[0], said));
    else
      answer.text = words_for(std::move(said), how.words);
    return says(std::move(answer), at_pace(how))(request);
  };
}

result<responder> scripted_by(const value& script, pace how) {
  std::vector<responder> replies;
  try {
    for (const auto& reply : script.at("replies").items())
      replies.push_back(reply_of(reply, how));
  } catch (const error& e) {
    return error{errc::invalid_value, "read a provider's script: " + e.message()};
  }
  if (replies.empty())
    return error{errc::invalid_value, "read a provider's script: `replies` is empty"};
  bool by_request = script["by"] == value("request");
  auto asked = std::make_shared<std::size_t>(0); // of the server's one thread
  return responder{[=, replies = std::move(replies)](const seen_request& request) {
    auto i = by_request ? (*asked)++ : turns_in(request);
    return replies[i % replies.size()](request);
  }};
}

} // namespace troupe::test
