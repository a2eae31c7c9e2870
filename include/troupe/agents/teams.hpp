// Teams: agents that work together; their handoffs, and what each sees of the others' work.
//
//     auto team = troupe::create_supervisor({.agents = {math, research}, .model = model})
//                   .compile({.name = "team"});
#pragma once

#include <troupe/agents/react_agent.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

/// An agent of a team, and where it runs.
/// Shape:  any graph over `messages`, also a team; its name (compile_options::name) is the agent's.
/// Errors: none.
/// Source: langgraph_supervisor/supervisor.py, create_supervisor(agents).
struct team_member {
  compiled_graph graph;
  troupe::placement placement = {};

  team_member(compiled_graph agent, troupe::placement where = {})
    : graph{std::move(agent)},
      placement{std::move(where)} {}
};

// ---- tools that lead out of an agent --------------------------------------------------------

/// The name of a handoff, and its trace in the conversation.
/// Shape:  `name` empty: "transfer_to_" and the agent's name in small letters, `_` for blanks;
///         `description` empty: "Ask agent 'NAME' for help". Without `add_handoff_messages` the
///         call and its answer are left out. In a swarm, they always stay.
/// Errors: see create_handoff_tool.
/// Source: langgraph_supervisor/handoff.py, create_handoff_tool.
struct handoff_options {
  std::string agent;
  std::string name = {};
  std::string description = {};
  bool add_handoff_messages = true;
};

/// A tool that hands the conversation over to another agent: a node of the graph around the calling
/// agent.
/// Order:  it runs after the other calls of its answer (the reference loses their results). Several
///         handoffs of one answer all run, side by side. Each agent then gets its own copy of the
///         conversation, with only its own handoff call.
/// Errors: throws error{invalid_graph} for an invalid tool name. A run fails with parent_command
///         without a graph around the agent, and with ValueError without an assistant message.
/// Source: langgraph_supervisor/handoff.py, create_handoff_tool.
tool create_handoff_tool(handoff_options options);

/// As create_handoff_tool, for a swarm: all messages of the agent's turn go along, and the target
/// becomes `active_agent`. The first of several handoffs in one answer is obeyed; the others are
/// answered with an error (the reference leaves them unanswered, and fails).
/// Errors: as create_handoff_tool.
/// Source: langgraph_swarm/handoff.py, create_handoff_tool.
tool create_swarm_handoff_tool(handoff_options options);

/// A tool of a supervisor, "forward_message": the last message of an agent becomes the answer
/// verbatim, and the run ends.
/// Errors: none.
/// Source: langgraph_supervisor/handoff.py, create_forward_message_tool.
tool create_forward_message_tool(std::string supervisor_name = "supervisor");

/// An agent as a tool: it gets a task in a separate conversation, and its last message is the
/// result.
/// Shape:  one argument, `task`. `name` as of a tool.
/// Errors: throws error{invalid_graph} as a tool. A run fails with the agent's error. The agent's
///         questions are asked as the tool's own.
/// Source: troupe; langchain's multi-agent guide, "tool calling".
tool agent_as_tool(compiled_graph agent, std::string name, std::string description);

/// An agent as a model. Code that asks a model (ask_model, tool_runner, with_fallbacks, a node of
/// another agent) asks the agent, as part of its own task.
/// Shape:  `agent`: any graph over `messages`, which are those of the request. Its last message is
///         the answer, with the summed `usage` of all its answers, without that of tools and inner
///         agents. With a response_schema the answer is its `structured_response`. Settings and
///         headers of the request are ignored. `name` empty: "graph:" and the graph's name.
/// Order:  it gives no parts, since only its end shows which message is the answer. Readers of the
///         `messages` stream with subgraphs see its messages as they arrive.
/// Errors: throws error{invalid_graph} for a graph without an input `messages`. A call fails with
///         the agent's error, and with
///         - ValueError for a request with tools, which a graph can't be given
///         - ValueError for a response_schema when the agent gives no structured_response
///         - invalid_value when its last message is not an assistant's
///         The agent's questions are asked as those of the task.
/// Source: troupe; adk-rust, GraphAgent; langgraph/pregel/remote.py, RemoteGraph as a Runnable.
chat_model_ptr agent_as_model(compiled_graph agent, std::string name = {});

// ---- names in messages ----------------------------------------------------------------------

/// How a model sees the names of speakers.
/// Errors: none.
/// Source: langgraph_supervisor/agent_name.py, AgentNameMode.
enum class agent_name_mode : std::uint8_t {
  none,   ///< by the member `name`, as the provider shows it
  inline_ ///< `<name>…</name><content>…</content>` in the text of assistants' messages
};
/// `model`, with names shown in this way. The marks are removed from its answers, which are not
/// streamed in parts.
/// Errors: none here; a call fails as one of `model`.
/// Source: langgraph_supervisor/agent_name.py, with_agent_name.
chat_model_ptr with_agent_name(chat_model_ptr model, agent_name_mode mode);

// ---- supervisor -----------------------------------------------------------------------------

/// The part of an agent's work that the others see.
/// Errors: none.
/// Source: langgraph_supervisor/supervisor.py, OutputMode.
enum class output_mode : std::uint8_t {
  last_message, ///< its last message; when that is a tool's, also the one before it
  full_history, ///< all its messages and those of its tools
};

/// A team with a supervisor, which decides which agent works next; agents return to it.
/// Shape:  `tools`: of the supervisor, besides the handoffs. If some of them are handoffs
///         (create_handoff_tool), the list must have all handoffs. `handoff_tool_prefix` replaces
///         "transfer_to_". `add_handoff_back_messages` unset: as add_handoff_messages. Without
///         `parallel_tool_calls`, the setting of that name is sent to the model as false.
/// Errors: see create_supervisor.
/// Source: langgraph_supervisor/supervisor.py, create_supervisor.
struct supervisor_options {
  std::vector<team_member> agents;
  agent_model model;
  std::vector<tool> tools = {};
  agent_prompt prompt = {};
  agent_response response_format = {};
  any_body pre_model_hook = {};
  any_body post_model_hook = {};
  bool parallel_tool_calls = false;
  schema state = {}; ///< channels beside `messages`
  troupe::output_mode output_mode = troupe::output_mode::last_message;
  bool add_handoff_messages = true;
  std::string handoff_tool_prefix = {};
  std::optional<bool> add_handoff_back_messages = std::nullopt;
  std::string supervisor_name = "supervisor";
  agent_name_mode include_agent_name = agent_name_mode::none;
};

/// The team, to be compiled: START, the supervisor, an agent, the supervisor and again, until the
/// supervisor answers without a handoff. A team with a name may be an agent of another team.
/// Errors: throws error{invalid_graph} of class ValueError for
///         - agents without names, or two of one name (the supervisor's included)
///         - own handoffs that do not cover all agents
/// Source: langgraph_supervisor/supervisor.py, create_supervisor.
state_graph<> create_supervisor(supervisor_options options);

// ---- swarm ----------------------------------------------------------------------------------

/// A route to the agent named by the channel `active_agent`, or to the default one while the
/// channel is empty.
///     g.add_conditional_edges(troupe::START, troupe::active_agent_router{names, "a"}, names);
/// Errors: fails with ValueError for an agent that is not in `agents`.
/// Source: langgraph_swarm/swarm.py, add_active_agent_router.
struct active_agent_router {
  std::vector<std::string> agents;
  std::string default_active_agent;
  std::string operator()(const state_view& state) const;
};

/// The parts of a swarm.
/// Shape:  `agents` have swarm handoffs to one another; the last speaker gets the user's next
///         message.
/// Errors: see create_swarm.
/// Source: langgraph_swarm/swarm.py, create_swarm.
struct swarm_options {
  std::vector<team_member> agents;
  std::string default_active_agent;
  schema state = {}; ///< channels besides `messages` and `active_agent`
};

/// The swarm, to be compiled: START, the active agent, and the agents it hands over to.
/// Errors: throws error{invalid_graph} of class ValueError
///         - without agents, and for agents without names or two of one name
///         - for a default agent that is not among them
/// Source: langgraph_swarm/swarm.py, create_swarm.
state_graph<> create_swarm(swarm_options options);

/// A swarm in which each agent may hand over to every other.
/// Errors: as create_swarm and create_react_agent.
/// Source: troupe; LangGraph's multi-agent guide, "network".
struct network_options {
  std::vector<react_agent_options> agents;
  std::string default_active_agent = {}; ///< empty: the first
  schema state = {};
};
/// The network, to be compiled.
/// Errors: see network_options.
/// Source: troupe; LangGraph's multi-agent guide, "network".
state_graph<> create_network(network_options options);

} // namespace troupe
