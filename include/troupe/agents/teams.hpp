// Agents that work together: who may hand over to whom, and what the others are told.
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
/// Source: langgraph_supervisor/supervisor.py, agents.
struct team_member {
  compiled_graph graph;
  troupe::placement placement = {};

  team_member(compiled_graph agent, troupe::placement where = {})
    : graph{std::move(agent)},
      placement{std::move(where)} {}
};

// ---- tools that lead out of an agent --------------------------------------------------------

/// What a handoff is called, and what is left of it in the conversation.
/// Shape:  `name` empty: "transfer_to_" and the agent's name in small letters, `_` for blanks;
///         `description` empty: "Ask agent 'NAME' for help". Without `add_handoff_messages` the
///         call and its answer are left out. In a swarm, they always stay.
struct handoff_options {
  std::string agent;
  std::string name = {};
  std::string description = {};
  bool add_handoff_messages = true;
};

/// A tool that hands the conversation over to an agent beside the one that calls it: a node of the
/// graph around it.
/// Order:  it runs when the other calls of its answer have (the reference loses their results).
///         Several of one answer all run, side by side: each agent is then given the conversation
///         with its own call alone, a copy that only it sees.
/// Errors: throws error{invalid_graph} for a name that is none of a tool. Of a run: parent_command
///         without a graph around the agent; ValueError without an assistant's message.
/// Source: langgraph_supervisor/handoff.py, create_handoff_tool.
tool create_handoff_tool(handoff_options options);

/// The same for a swarm: all that was said in the agent's turn goes along, and the agent becomes
/// `active_agent`. Of several in one answer the first is obeyed, the others are answered with an
/// error (the reference leaves them unanswered, and fails).
/// Source: langgraph_swarm/handoff.py, create_handoff_tool.
tool create_swarm_handoff_tool(handoff_options options);

/// A tool of a supervisor, "forward_message": the last message of an agent becomes the answer, word
/// for word, and the run ends.
/// Source: langgraph_supervisor/handoff.py, create_forward_message_tool.
tool create_forward_message_tool(std::string supervisor_name = "supervisor");

/// An agent as a tool: given a task, in a conversation of its own, it says its last message.
/// Shape:  one argument, `task`. `name` as of a tool.
/// Errors: throws error{invalid_graph} as a tool. Of a run: what the agent fails with. Its
///         questions are asked as the tool's own.
/// Source: troupe; langchain's multi-agent guide, "tool calling".
tool agent_as_tool(compiled_graph agent, std::string name, std::string description);

/// An agent as a model: whatever asks a model (ask_model, tool_runner, with_fallbacks, a node of
/// another agent) asks the agent, as part of its own task.
/// Shape:  `agent`: any graph over `messages`; it is given those of the request. Its last message
///         is the answer, with the `usage` of all answers it gave on the way added up; what tools,
///         and agents within, used besides is not in it. With a response_schema the answer is its
///         `structured_response`. Settings and headers of the request are for a provider: they are
///         not looked at. `name` empty: "graph:" and the graph's.
/// Order:  it gives no parts, since only at its end it is known which message is the answer. Who
///         reads the `messages` stream with subgraphs sees all that it says as it comes.
/// Errors: throws error{invalid_graph} for a graph without an input `messages`. Of a call: what the
///         agent fails with; ValueError for a request with tools, which a graph can't be given,
///         and for one with a response_schema when it answers by none; invalid_value when its last
///         message is no assistant's. Its questions are asked as those of the task.
/// Source: troupe; adk-rust, GraphAgent; langgraph/pregel/remote.py, RemoteGraph as a Runnable.
chat_model_ptr agent_as_model(compiled_graph agent, std::string name = {});

// ---- names in messages ----------------------------------------------------------------------

/// How a model is told who said what.
enum class agent_name_mode : std::uint8_t {
  none,   ///< as the provider does it, from the member `name`
  inline_ ///< `<name>…</name><content>…</content>` in the text of assistants' messages
};
/// `model`, shown names in this way; such marks are taken out of its answers, which are not
/// streamed in parts.
/// Source: langgraph_supervisor/agent_name.py, with_agent_name.
chat_model_ptr with_agent_name(chat_model_ptr model, agent_name_mode mode);

// ---- supervisor -----------------------------------------------------------------------------

/// What of an agent's work the others see.
enum class output_mode : std::uint8_t {
  last_message, ///< its last message; when that is a tool's, the one before it too
  full_history, ///< all it said and its tools answered
};

/// A team with a supervisor, who decides who works next; agents return to it.
/// Shape:  `tools`: of the supervisor, beside the handoffs; if some of them are handoffs
///         (create_handoff_tool), all are given here. `handoff_tool_prefix` in place of
///         "transfer_to_". `add_handoff_back_messages` unset: as add_handoff_messages. Without
///         `parallel_tool_calls` the model is told so by the setting of that name.
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
/// supervisor answers without a handoff. A team with a name of its own may be an agent of another.
/// Errors: throws error{invalid_graph} of class ValueError for agents without names, or two of one
///         name (the supervisor's included), and handoffs of one's own that do not cover all.
/// Source: langgraph_supervisor/supervisor.py, create_supervisor.
state_graph<> create_supervisor(supervisor_options options);

// ---- swarm ----------------------------------------------------------------------------------

/// A route to the agent that the channel `active_agent` names; to the default one as long as it
/// names none.
///     g.add_conditional_edges(troupe::START, troupe::active_agent_router{names, "a"}, names);
/// Errors: of class ValueError for an agent that is not among them.
/// Source: langgraph_swarm/swarm.py, add_active_agent_router.
struct active_agent_router {
  std::vector<std::string> agents;
  std::string default_active_agent;
  std::string operator()(const state_view& state) const;
};

/// Shape:  `agents` have swarm handoffs to one another; whoever speaks last is spoken to next.
struct swarm_options {
  std::vector<team_member> agents;
  std::string default_active_agent;
  schema state = {}; ///< channels beside `messages` and `active_agent`
};

/// The swarm, to be compiled: START, the active agent, and whoever that hands over to.
/// Errors: throws error{invalid_graph} of class ValueError without agents, for agents without names
///         or two of one name, and a default agent that is not among them.
/// Source: langgraph_swarm/swarm.py, create_swarm.
state_graph<> create_swarm(swarm_options options);

/// A swarm of agents each of which may hand over to every other.
/// Errors: as create_swarm and create_react_agent.
/// Source: troupe; LangGraph's multi-agent guide, "network".
struct network_options {
  std::vector<react_agent_options> agents;
  std::string default_active_agent = {}; ///< empty: the first
  schema state = {};
};
state_graph<> create_network(network_options options);

} // namespace troupe
