// agent_model: asking the model of an agent, and reading its answer.
#include "agents/agent_model.hpp"

#include "agents/messages/failure.hpp"
#include "agents/messages/history.hpp"
#include "agents/messages/malformed_calls.hpp"
#include "agents/structured_tools.hpp"
#include "agents/wrappers.hpp"

#include <algorithm>

namespace troupe {
namespace {

// The options of the agent that its model node uses.
struct model_node {
  chat_model_ptr model;
  value tools;
  value system_message;
  response_format format;
  std::optional<structured_tools> answer_tools; // nullopt when only the provider handles the
                                                // schema
  std::string name;
  model_wrapper wrap;
  std::vector<std::string> known_tools;
  std::size_t malformed_max = 0;
  bool wraps_tools = false;
  bool keeps_data = false; // in `structured_response`
};
using model_node_ptr = std::shared_ptr<const model_node>;

std::string joined(const std::vector<std::string>& names) {
  std::string out;
  for (const auto& name : names)
    out += (out.empty() ? "'" : ", '") + name + '\'';
  return '[' + out + ']';
}

// Refuses tools that only the request knows: the model could call them, but nothing would run them.
void require_known_tools(const model_node& node, const value& tools) {
  if (node.wraps_tools)
    return;
  std::vector<std::string> unknown;
  for (const auto& t : tools.items())
    if (t["name"].is_string() && t.contains("parameters")
        && std::ranges::find(node.known_tools, t["name"].as_string()) == node.known_tools.end())
      unknown.push_back(t["name"].as<std::string>());
  if (!unknown.empty())
    throw value_error("Middleware added tools that the agent doesn't know how to execute.\n\n"
                      "Unknown tools: "
                      + joined(unknown) + "\nRegistered tools: " + joined(node.known_tools));
}

bool asks_by_tool(const response_format& format, const chat_model& model) {
  if (format.strategy == structured_strategy::automatic)
    return model.profile()["structured_output"] == value(false);
  return format.strategy == structured_strategy::tool;
}

// The tools of the schema that a request asks for; a wrapper may have replaced the agent's schema.
std::optional<structured_tools> tools_of(const model_node& node, const value& schema) {
  if (node.answer_tools && schema == node.format.schema)
    return node.answer_tools;
  auto format = node.format;
  format.schema = schema;
  if (schema.is_null() || format.strategy == structured_strategy::provider)
    return std::nullopt;
  return structured_tools{format};
}

void read_data(const model_node& node, const value& schema,
               const std::optional<structured_tools>& tools, const value& before,
               model_response& response) {
  if (schema.is_null())
    return;
  if (!message_tool_calls(response.answer).empty()) {
    auto read = tools ? tools->read(before, response.answer) : structured_tools::reading{};
    response.structured_response = std::move(read.data);
    response.tool_messages = std::move(read.messages);
    return;
  }
  if (node.format.strategy == structured_strategy::tool)
    throw node_error{
      "StructuredOutputValidationError",
      "The model answered with text and did not call the tool that takes the structured response."};
  response.structured_response = structured_answer(response.answer, schema);
}

// Whether the model gets the errors of its calls, and is asked again.
bool is_lost(const model_node& node, const value& answer) {
  return node.malformed_max > 0 && is_malformed(answer) && !malformed_call_errors(answer).empty();
}

// Asks the model, and reads the data in its answer. Wrappers see the data, and its errors.
coro<model_response> ask(const model_node& node, model_call call) {
  require_known_tools(node, call.request.tools);
  auto request = std::move(call.request);
  auto schema = request.response_schema;
  auto tools = tools_of(node, schema);
  if (!schema.is_null() && asks_by_tool(node.format, *call.model)) {
    request.response_schema = {};
    request.response_strict = std::nullopt;
    request.tools = request.tools.append_all(tools->definitions());
    request.tool_choice = "any";
  }
  if (!call.system_message.is_null())
    request.messages = value::list({call.system_message}).append_all(request.messages.items());
  auto model = call.model;
  for (const auto& put_around : call.around)
    model = put_around(model);
  auto asked = ask_model(*model, std::move(request), call.ctx());
  auto answer = co_await asked;
  model_response out{with_distinct_calls(answer)};
  if (!is_lost(node, out.answer))
    read_data(node, schema, tools, call.state["messages"], out);
  co_return out;
}

coro<node_output> run_model(model_node_ptr node, state_view state, context& ctx) {
  auto messages = state["messages"];
  auto repaired = repaired_history(messages);
  model_request request{repaired ? *repaired : messages};
  request.tools = node->tools;
  request.response_schema = node->format.schema;
  request.response_strict = node->format.strict;
  model_call call{node->model, std::move(request), node->system_message, state.to_value(), ctx};
  model_executor run = [&node](model_call c) { return ask(*node, std::move(c)); };
  auto asked = node->wrap ? node->wrap(std::move(call), run) : run(std::move(call));
  auto response = co_await asked;
  auto answer = with_distinct_calls(response.answer);
  if (!node->name.empty())
    answer = value::extension(value_kind::message, answer.payload().with("name", node->name));
  std::vector<value> written, refused;
  if (node->malformed_max > 0)
    refused = malformed_call_errors(answer);
  if (auto count = malformed_in_a_row(messages) + 1;
      is_lost(*node, answer) && count >= node->malformed_max)
    throw malformed_too_often(answer, count);
  if (repaired) {
    written.push_back(remove_message(REMOVE_ALL_MESSAGES));
    written.insert(written.end(), repaired->items().begin(), repaired->items().end());
  }
  written.push_back(answer);
  written.insert(written.end(), refused.begin(), refused.end());
  written.insert(written.end(), response.tool_messages.begin(), response.tool_messages.end());
  state_update update;
  // Without data the channel is reset, so that the data of an earlier turn does not end this one.
  if (node->keeps_data
      && (!node->format.schema.is_null() || !response.structured_response.is_null()
          || !state["structured_response"].is_null()))
    update.set("structured_response", response.structured_response);
  update.set("messages", value::list(std::move(written)));
  node_output out;
  out.parts.emplace_back(std::move(update));
  if (!response.update.empty())
    out.parts.emplace_back(std::move(response.update));
  co_return out;
}

} // namespace

bool has_structured_response(const agent_options& options) {
  return !options.response_format.schema.is_null()
         || std::ranges::any_of(options.middleware, [](const middleware& m) {
              return static_cast<bool>(m.wrap_model_call);
            });
}

std::string provider_of(const chat_model& model) {
  auto name = model.name();
  return name.substr(0, name.find(':'));
}

node_body model_node_of(const agent_options& options) {
  auto node = std::make_shared<model_node>();
  node->model = options.model;
  node->tools = tool_definitions(options.tools);
  if (!options.system_prompt.empty())
    node->system_message = system_message(options.system_prompt);
  node->format = options.response_format;
  if (!node->format.schema.is_null() && node->format.strategy != structured_strategy::provider)
    node->answer_tools.emplace(node->format);
  for (const auto& t : options.tools)
    if (node->answer_tools && node->answer_tools->knows(t.name()))
      throw error{errc::invalid_graph,
                  "create an agent: its response_format and a tool are both called `" + t.name()
                    + '`'};
  node->name = options.name;
  node->wrap = composed<model_call, model_executor>(options.middleware,
                                                    &middleware::wrap_model_call);
  node->malformed_max = options.malformed_answers_max;
  for (const auto& t : options.tools)
    node->known_tools.push_back(t.name());
  node->keeps_data = has_structured_response(options);
  node->wraps_tools = static_cast<bool>(options.tool_node.wrap_tool_call);
  node_body out;
  out.coroutine = [node = model_node_ptr{std::move(node)}](const state_view& state, context& ctx) {
    return run_model(node, state, ctx);
  };
  return out;
}

} // namespace troupe
