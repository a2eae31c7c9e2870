// structured_tools: making the tools, and checking calls for them.
#include "agents/structured_tools.hpp"

#include "agents/messages/json_text.hpp"

#include <troupe/agents/schema_check.hpp>

#include <algorithm>
#include <ranges>

namespace troupe {
namespace {

constexpr const char* validation_error = "StructuredOutputValidationError";
constexpr const char* multiple_error = "MultipleStructuredOutputsError";

std::string title_of(const value& schema, std::string otherwise) {
  const auto& title = schema["title"];
  return title.is_string() && !title.empty() ? title.as<std::string>() : std::move(otherwise);
}

// The reason why arguments do not fit the schema; empty when they do.
std::string misfit(const std::string& name, const value& schema, const value& data) {
  auto wrong = check_schema(schema, data);
  if (wrong.empty())
    return {};
  return "Failed to parse structured output for tool '" + name + "': Failed to parse data to "
         + name + ": " + (wrong[0].path.empty() ? "" : wrong[0].path + ": ") + wrong[0].message
         + '.';
}

std::string several(const std::vector<value>& calls) {
  std::string names;
  for (const auto& call : calls)
    names += (names.empty() ? "" : ", ") + text_in(call["name"]);
  return "Model incorrectly returned multiple structured responses (" + names
         + ") when only one is expected.";
}

value answer_to(const value& call, const std::string& text) {
  return tool_message(text, text_in(call["id"]), text_in(call["name"]));
}

} // namespace

structured_tools::structured_tools(const response_format& format)
  : tool_message_{format.tool_message},
    attempts_max_{std::max<std::size_t>(1, format.attempts_max)},
    handle_errors_{format.handle_errors} {
  auto add = [this](const value& schema, std::string name) {
    if (knows(name))
      throw error{errc::invalid_graph,
                  "create an agent: two schemas of its response_format are called `" + name + '`'};
    const auto& about = schema["description"];
    definitions_.push_back(value::map({{"name", name},
                                       {"description", about.is_string() ? about : value("")},
                                       {"parameters", schema}}));
    schemas_.emplace_back(std::move(name), schema);
  };
  const auto& several = format.schema["oneOf"];
  if (several.is_list())
    for (const auto& schema : several.items())
      add(schema, title_of(schema, "response_" + std::to_string(schemas_.size() + 1)));
  else
    add(format.schema, title_of(format.schema, "response"));
}

bool structured_tools::knows(std::string_view name) const {
  return std::ranges::any_of(schemas_, [name](const auto& s) { return s.first == name; });
}

std::vector<value> structured_tools::calls_of(const value& answer) const {
  std::vector<value> out;
  for (const auto& call : message_tool_calls(answer).items())
    if (call["name"].is_string() && knows(call["name"].as_string()))
      out.push_back(call);
  return out;
}

// The failures since the last question: after an answer that fits, the agent would have ended.
std::size_t structured_tools::failures_in(const value& conversation) const {
  std::size_t out = 0;
  for (const auto& m : conversation.items() | std::views::reverse) {
    if (message_role(m) == "user")
      break;
    out += message_role(m) == "assistant" && !calls_of(m).empty() ? 1 : 0;
  }
  return out;
}

structured_tools::reading structured_tools::read(const value& before, const value& answer) const {
  auto calls = calls_of(answer);
  if (calls.empty())
    return {};
  std::string why;
  if (calls.size() == 1) {
    auto name = text_in(calls[0]["name"]);
    auto schema = std::ranges::find(schemas_, name, [](const auto& s) { return s.first; })->second;
    const auto& data = calls[0]["args"];
    why = misfit(name, schema, data);
    if (why.empty()) {
      auto text = tool_message_.empty() ? "Returning structured response: " + spaced_json(data)
                                        : tool_message_;
      return {data, {answer_to(calls[0], text)}};
    }
  } else {
    why = several(calls);
  }
  const auto* type = calls.size() == 1 ? validation_error : multiple_error;
  if (failures_in(before) + 1 >= attempts_max_)
    throw node_error{type, why};
  auto text = handle_errors_.content_or(error{errc::node_failed, why, type},
                                        "Error: " + why + "\n Please fix your mistakes.");
  if (!text)
    throw node_error{type, why};
  reading out;
  for (const auto& call : calls)
    out.messages.push_back(answer_to(call, *text));
  return out;
}

} // namespace troupe
