// mcp_tools: definitions of tools, and their calls.
#include "server/protocol/mcp_tools.hpp"

#include "agents/mcp/mcp_offers.hpp"
#include "agents/mcp/mcp_server_session.hpp"
#include "graph/plain_json.hpp"
#include "server/protocol/python_text.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

namespace troupe::server {
namespace {

constexpr std::size_t tool_name_bytes_max = 100; // of MCP's 128; the rest is for a part of an id
constexpr std::size_t id_part_bytes = 8;
constexpr std::string_view questions_member = "__interrupt__";

std::string tool_name_of(const assistant_record& assistant, std::set<std::string>& taken) {
  auto name = assistant.name.substr(0, tool_name_bytes_max);
  for (auto& c : name)
    if (!is_mcp_tool_name({&c, 1}))
      c = '_';
  if (name.empty())
    name = "assistant";
  if (!taken.insert(name).second) {
    name += '_' + assistant.assistant_id.substr(0, id_part_bytes);
    if (!taken.insert(name).second)
      name = assistant.assistant_id; // which is unique
  }
  return name;
}

std::string description_of(const assistant_record& assistant) {
  const auto& given = assistant.description;
  if (given.is_string() && !given.empty())
    return std::string{given.as_string()};
  return "Tool based on the " + assistant.name + " assistant";
}

value schema_of_talk(const value& input) {
  auto message = value::map({{"type", "string"},
                             {"title", "Messages"},
                             {"description", "The user message to send to the agent."}});
  return value::map({{"type", "object"},
                     {"title", input["title"]},
                     {"properties", value::map({{"messages", message}})},
                     {"required", value::list({"messages"})}});
}

} // namespace

std::vector<assistant_tool> tools_of(const std::vector<assistant_and_graph>& assistants) {
  const auto hints = value::map({{"readOnlyHint", false},
                                 {"destructiveHint", false},
                                 {"idempotentHint", false},
                                 {"openWorldHint", true}});
  std::vector<assistant_tool> out;
  std::set<std::string> names;
  for (const auto& [assistant, graph] : assistants) {
    auto name = tool_name_of(assistant, names);
    auto shown = mcp_graph_tool_of(graph, name, description_of(assistant), false);
    assistant_tool made{.assistant = assistant,
                        .definition = shown.definition.without("outputSchema")
                                        .with("title", assistant.name)
                                        .with("annotations", hints),
                        .talks = shown.input["properties"].contains("messages"),
                        .is_whole = shown.is_whole};
    if (made.talks)
      made.definition = made.definition.with("inputSchema", schema_of_talk(shown.input));
    out.push_back(std::move(made));
  }
  return out;
}

value input_of_call(const assistant_tool& tool, const value& arguments) {
  if (!tool.is_whole)
    return arguments["input"];
  const auto& said = arguments["messages"];
  if (!tool.talks || !said.is_string())
    return arguments;
  auto message = value::map({{"role", "user"}, {"content", said}});
  return arguments.with("messages", value::list({message}));
}

void output_of_events::take(const run_event& event) {
  if (event.name == "error")
    error_ = event.data;
  else if (event.name == "values")
    take_values(event.data);
}

// Each question of a step has an event of its own, with the state or alone.
void output_of_events::take_values(const std::string& json) {
  auto read = json.find(questions_member) == json.npos ? value{}
                                                       : from_json(json, json_form::plain).value();
  if (!read.contains(questions_member)) {
    values_ = json;
    questions_.clear();
    return;
  }
  for (const auto& one : read[questions_member].items())
    if (std::ranges::find(questions_, one) == questions_.end())
      questions_.push_back(one);
  if (auto state = read.without(questions_member); !state.empty())
    values_ = to_plain_json(state);
}

value output_of_events::output() const {
  auto read = [](const std::string& json) {
    return json.empty() ? value{} : from_json(json, json_form::plain).value();
  };
  if (!error_.empty())
    return value::map({{"__error__", read(error_)}});
  auto out = read(values_);
  if (questions_.empty())
    return out;
  return (out.is_map() ? out : value::map()).with(questions_member, value::list(questions_));
}

value result_of_call(const value& output) {
  const auto& failure = output["__error__"];
  bool failed = failure.is_map() || output.is_null();
  auto text = failure.is_map()   ? failure["error"].as<std::string>()
              : output.is_null() ? "the run was cancelled"
                                 : python_text(output);
  auto content = value::list({value::map({{"type", "text"}, {"text", text}})});
  auto out = value::map({{"content", std::move(content)}});
  return failed ? out.with("isError", true) : out;
}

} // namespace troupe::server
