// teams: a supervisor and its agents, and agents that hand over to one another.
#include <troupe/agents/teams.hpp>

#include "agents/messages/failure.hpp"
#include "agents/messages/message_lists.hpp"
#include "agents/team_names.hpp"

#include <algorithm>

namespace troupe {
namespace {

error no_team(std::string text) {
  return {errc::invalid_graph, std::move(text), "ValueError"};
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

// The agents' names, and `taken`, which no agent may have.
std::vector<std::string> names_of(const std::vector<team_member>& agents,
                                  const std::string& taken = {}) {
  std::vector<std::string> out;
  for (const auto& a : agents) {
    const auto& name = a.graph.name();
    if (name.empty() || name == "agent" || name == "graph") // the default names: none was given
      throw no_team("Please specify a name when you create your agent, either via "
                    "`create_react_agent({.name = agent_name, …})` or via "
                    "`graph.compile({.name = agent_name})`.");
    if (contains(out, name) || name == taken)
      throw no_team("Agent with name '" + name + "' already exists. Agent names must be unique.");
    out.push_back(name);
  }
  return out;
}

schema state_with(const schema& more, schema channels) {
  for (const auto& channel : more.channels) {
    auto known = std::ranges::find(channels.channels, channel.first,
                                   [](const auto& c) { return c.first; });
    if (known == channels.channels.end())
      channels.channels.push_back(channel);
    else
      known->second = channel.second;
  }
  return channels;
}

// ---- the supervisor -------------------------------------------------------------------------

std::vector<std::string> destinations_in(const std::vector<tool>& tools) {
  std::vector<std::string> out;
  for (const auto& t : tools)
    if (t.runs_here() && !t.options().handoff_to.empty() && t.options().handoff_to != END)
      out.push_back(t.options().handoff_to);
  return out;
}

// The supervisor's tools: the caller's, and a handoff to each agent.
std::vector<tool> tools_of(const supervisor_options& options,
                           const std::vector<std::string>& names) {
  auto out = options.tools;
  auto own = destinations_in(out);
  std::string missing;
  for (const auto& name : names)
    if (own.empty()) {
      auto prefix = options.handoff_tool_prefix.empty() ? "transfer_to_"
                                                        : options.handoff_tool_prefix;
      out.push_back(create_handoff_tool({.agent = name,
                                         .name = transfer_name(prefix, name),
                                         .add_handoff_messages = options.add_handoff_messages}));
    } else if (!contains(own, name)) {
      missing += (missing.empty() ? "" : ", ") + ('\'' + name + '\'');
    }
  if (!missing.empty())
    throw no_team("When providing custom handoff tools, you must provide them for all subagents. "
                  "Missing handoff tools for agents {"
                  + missing + "}.");
  return out;
}

chat_model_ptr model_of(const supervisor_options& options, chat_model_ptr model) {
  if (!options.parallel_tool_calls)
    model = bind_settings(std::move(model), value::map({{"parallel_tool_calls", false}}));
  return with_agent_name(std::move(model), options.include_agent_name);
}

coro<chat_model_ptr> chosen_model(const supervisor_options& options, const state_view& state,
                                  context& ctx) {
  auto choice = options.model.chosen()(state, ctx);
  auto model = co_await choice;
  if (!model)
    throw value_error("The model function of the supervisor returned no model");
  co_return model_of(options, std::move(model));
}

agent_model model_of(const std::shared_ptr<const supervisor_options>& options) {
  if (!options->model.chosen())
    return options->model.fixed() ? agent_model{model_of(*options, options->model.fixed())}
                                  : agent_model{};
  return
    [options](const state_view& state, context& ctx) { return chosen_model(*options, state, ctx); };
}

compiled_graph supervisor_of(const std::shared_ptr<const supervisor_options>& options,
                             const std::vector<std::string>& names) {
  return create_react_agent({.model = model_of(options),
                             .tools = tools_of(*options, names),
                             .prompt = options->prompt,
                             .name = options->supervisor_name,
                             .pre_model_hook = options->pre_model_hook,
                             .post_model_hook = options->post_model_hook,
                             .response_format = options->response_format,
                             .state = options->state});
}

// ---- its agents -----------------------------------------------------------------------------

struct member {
  compiled_graph graph;
  output_mode mode;
  bool hands_back;
  std::string supervisor;
};

value marked_as_back(const value& message) {
  return with_message_id(value::extension(
    value_kind::message,
    message.payload().with("response_metadata", value::map({{handoff_back_mark, true}}))));
}

// The messages that report the agent's end to a model that saw it called.
value back_messages(const member& m) {
  auto name = transfer_name("transfer_back_to_", m.supervisor);
  auto id = random_id();
  auto call = ai_message("Transferring back to " + m.supervisor, {{.name = name, .id = id}});
  call = value::extension(value_kind::message, call.payload().with("name", m.graph.name()));
  auto answer = tool_message("Successfully transferred back to " + m.supervisor, id, name);
  return value::list({marked_as_back(call), marked_as_back(answer)});
}

value shown_of(const member& m, const value& messages) {
  if (m.mode == output_mode::full_history || messages.empty())
    return messages;
  auto all = messages.items();
  bool tools = message_role(all.back()) == "tool";
  auto last = all.last(std::min<std::size_t>(all.size(), tools ? 2 : 1));
  return value::list({last.begin(), last.end()});
}

coro<node_output> run_member(std::shared_ptr<const member> m, state_view state, context& ctx) {
  auto input = state.by_field() ? run_input(state.to_update()) : run_input(state.to_value());
  auto run = ctx.run(m->graph, input);
  auto out = co_await run;
  auto messages = shown_of(*m, out["messages"].is_list() ? out["messages"] : value::list());
  if (m->hands_back)
    messages = messages.append_all(back_messages(*m).items());
  node_output told;
  told.parts.emplace_back(
    state_update{(out.is_map() ? out : value::map()).with("messages", messages)});
  co_return told;
}

// ---- the swarm ------------------------------------------------------------------------------

// The agent's tools, and a handoff to each other agent of the network.
std::vector<tool> with_handoffs(std::vector<tool> tools, const std::vector<std::string>& names,
                                const std::string& self) {
  for (const auto& name : names)
    if (name != self)
      tools.push_back(create_swarm_handoff_tool({.agent = name}));
  return tools;
}

} // namespace

state_graph<> create_supervisor(supervisor_options options) {
  auto names = names_of(options.agents, options.supervisor_name);
  bool back = options.add_handoff_back_messages.value_or(options.add_handoff_messages);
  schema base{{"messages", add_messages}};
  if (!options.response_format.schema.is_null())
    base.channels.emplace_back("structured_response", last_value);
  state_graph<> g{state_with(options.state, base)};
  auto kept = std::make_shared<const supervisor_options>(std::move(options));
  node_options head;
  head.destinations = names;
  head.destinations.emplace_back(END);
  g.add_node(kept->supervisor_name, supervisor_of(kept, names), std::move(head));
  g.add_edge(START, kept->supervisor_name);
  for (const auto& a : kept->agents) {
    auto m = std::make_shared<const member>(
      member{a.graph, kept->output_mode, back, kept->supervisor_name});
    node_options how;
    how.placement = a.placement;
    how.calls = {a.graph};
    g.add_node(
      a.graph.name(),
      [m](const state_view& state, context& ctx) { return run_member(m, state, ctx); },
      std::move(how));
    g.add_edge(a.graph.name(), kept->supervisor_name);
  }
  return g;
}

std::string active_agent_router::operator()(const state_view& state) const {
  const auto& named = state["active_agent"];
  auto name = named.is_string() ? named.as<std::string>() : default_active_agent;
  if (!contains(agents, name))
    throw value_error("route to the active agent: unknown agent `" + name + '`');
  return name;
}

state_graph<> create_swarm(swarm_options options) {
  if (options.agents.empty())
    throw no_team("agents list cannot be empty");
  auto names = names_of(options.agents);
  if (!contains(names, options.default_active_agent))
    throw no_team("Default active agent '" + options.default_active_agent
                  + "' not found in agent names " + to_json(value::of(names)));
  state_graph<> g{
    state_with(options.state, {{"messages", add_messages}, {"active_agent", last_value}})};
  for (const auto& a : options.agents) {
    node_options how;
    how.placement = a.placement;
    for (const auto& name : names)
      if (name != a.graph.name())
        how.destinations.push_back(name);
    g.add_node(a.graph.name(), a.graph, std::move(how));
  }
  g.add_conditional_edges(START, active_agent_router{names, options.default_active_agent}, names);
  return g;
}

state_graph<> create_network(network_options options) {
  std::vector<std::string> names;
  for (const auto& a : options.agents)
    names.push_back(a.name);
  swarm_options swarm{.agents = {},
                      .default_active_agent = options.default_active_agent,
                      .state = std::move(options.state)};
  if (swarm.default_active_agent.empty() && !names.empty())
    swarm.default_active_agent = names.front();
  for (auto& a : options.agents) {
    a.tools = with_handoffs(std::move(a.tools), names, a.name);
    swarm.agents.emplace_back(create_react_agent(std::move(a)));
  }
  return create_swarm(std::move(swarm));
}

} // namespace troupe
