// Middleware for tool calls: which calls may run, and answers in place of a tool's.
#include <troupe/agents/middleware.hpp>

#include "agents/messages/history.hpp"
#include "agents/messages/json_text.hpp"
#include "agents/messages/message_lists.hpp"
#include "agents/tools/tool_results.hpp"

#include <algorithm>
#include <memory>

namespace troupe {
namespace {

// ---- policy ---------------------------------------------------------------------------------

using policy_ptr = std::shared_ptr<const tool_policy_options>;

bool is_enabled(const tool_policy_options& policy, const value& name, const value& state) {
  return !policy.enabled || !name.is_string() || policy.enabled(name.as<std::string>(), state);
}

value enabled_tools(const tool_policy_options& policy, const value& tools, const value& state) {
  std::vector<value> out;
  for (const auto& t : tools.items())
    if (is_enabled(policy, t["name"], state))
      out.push_back(t);
  return value::list(std::move(out));
}

std::optional<std::string> refusal_of(const tool_policy_options& policy, const value& call,
                                      const value& state) {
  if (!is_enabled(policy, call["name"], state))
    return "the tool is disabled";
  return policy.refusal ? policy.refusal(call, state) : std::nullopt;
}

coro<tool_output> run_allowed(policy_ptr policy, tool_call_request request, tool_executor run) {
  const auto& call = request.call();
  if (auto why = refusal_of(*policy, call, request.state()))
    co_return tool_output{failed_tool_message(
      "Error: the call of tool '" + text_in(call["name"]) + "' is not allowed: " + *why, call)};
  auto called = run(std::move(request));
  auto out = co_await called;
  co_return out;
}

// ---- emulation ------------------------------------------------------------------------------

std::string emulation_prompt(const tool_call_request& request) {
  const auto& call = request.call();
  return "You are emulating a tool call for testing purposes.\n\nTool: " + text_in(call["name"])
         + "\nDescription: "
         + (request.tool() ? request.tool()->description() : "No description available")
         + "\nArguments: " + spaced_json(call["args"])
         + "\n\nGenerate a realistic response that this tool would return given these "
           "arguments.\nReturn ONLY the tool's output, no explanation or preamble. Introduce "
           "variation into your responses.";
}

coro<tool_output> emulate(chat_model_ptr model, tool_call_request request) {
  model_request asked{value::list({human_message(emulation_prompt(request))})};
  auto answer = model->invoke(std::move(asked), request.runtime().task());
  auto said = co_await answer;
  co_return tool_output{tool_message(message_member(said, "content"), text_in(request.call()["id"]),
                                     text_in(request.call()["name"]))};
}

} // namespace

middleware tool_policy(tool_policy_options options) {
  auto policy = std::make_shared<const tool_policy_options>(std::move(options));
  middleware out;
  out.name = "tool_policy";
  out.wrap_model_call = [policy](model_call call, model_executor run) {
    call.request.tools = enabled_tools(*policy, call.request.tools, call.state);
    return run(std::move(call));
  };
  out.wrap_tool_call = [policy](tool_call_request request, tool_executor run) {
    return run_allowed(policy, std::move(request), std::move(run));
  };
  return out;
}

middleware patch_tool_calls() {
  middleware out;
  out.name = "patch_tool_calls";
  out.before_agent = [](const state_view& state) {
    auto patch = patch_of_tool_calls(state["messages"]);
    return patch.empty() ? value{} : value::map({{"messages", value::list(std::move(patch))}});
  };
  return out;
}

middleware tool_emulator(chat_model_ptr model, std::vector<std::string> tools) {
  middleware out;
  out.name = "tool_emulator";
  out.wrap_tool_call = [model = std::move(model),
                        tools = std::move(tools)](tool_call_request request, tool_executor run) {
    if (!tools.empty() && !names(tools, request.call()["name"]))
      return run(std::move(request));
    return emulate(model, std::move(request));
  };
  return out;
}

} // namespace troupe
