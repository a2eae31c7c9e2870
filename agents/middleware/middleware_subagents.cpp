// Middleware for sub-agents: agents to which another one gives tasks.
#include <troupe/agents/middleware.hpp>

#include "agents/messages/message_lists.hpp"
#include "agents/subagent_run.hpp"

#include <algorithm>
#include <map>
#include <memory>

namespace troupe {
namespace {

using agents_by_name = std::map<std::string, compiled_graph, std::less<>>;

std::string agent_list(const std::vector<subagent>& agents) {
  std::string out;
  for (const auto& a : agents)
    out += "\n- " + a.name + ": " + a.description;
  return out;
}

value task_schema(const std::vector<subagent>& agents) {
  std::vector<value> names;
  for (const auto& a : agents)
    names.emplace_back(a.name);
  auto text = value::map(
    {{"type", "string"}, {"description", "The task, with all that the agent has to know"}});
  auto which = value::map({{"type", "string"}, {"enum", value::list(std::move(names))}});
  return value::map({{"type", "object"},
                     {"properties", value::map({{"description", text}, {"subagent_type", which}})},
                     {"required", value::list({"description", "subagent_type"})}});
}

coro<tool_output> give_task(std::shared_ptr<const agents_by_name> agents, value args,
                            tool_runtime& runtime) {
  const auto& [name, graph] = *agents->find(args["subagent_type"].as_string());
  auto run = run_subagent(graph, name, args["description"].as<std::string>(), runtime);
  auto said = co_await run;
  co_return tool_output{value(said)};
}

tool task_tool(const std::vector<subagent>& agents) {
  auto known = std::make_shared<agents_by_name>();
  for (const auto& a : agents)
    if (!known->emplace(a.name, a.graph).second)
      throw error{errc::invalid_graph, "make subagents: two have the same name: " + a.name};
  tool_body body;
  body.coroutine = [known = std::shared_ptr<const agents_by_name>{known}](value args,
                                                                          tool_runtime& runtime) {
    return give_task(known, std::move(args), runtime);
  };
  return {"task",
          "Gives a task to another agent and returns its answer. Agents:" + agent_list(agents),
          task_schema(agents), std::move(body)};
}

constexpr const char* task_prompt =
  "## `task`\n\nYou have a tool `task` that gives a task to another agent. It begins with nothing "
  "but your description, works on its own, and gives you its last message, which the user does "
  "not see. Use it for work of several steps that stands by itself, several at once where they "
  "do not depend on one another; do small things yourself. These agents are there:";

} // namespace

middleware subagents(std::vector<subagent> agents) {
  if (agents.empty())
    throw error{errc::invalid_graph, "make subagents: the list is empty"};
  middleware out;
  out.name = "subagents";
  out.tools = {task_tool(agents)};
  out.wrap_model_call = [section = task_prompt + agent_list(agents)](model_call call,
                                                                     model_executor run) {
    call.system_message = with_section(call.system_message, section);
    return run(std::move(call));
  };
  return out;
}

} // namespace troupe
