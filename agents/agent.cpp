// create_agent: an agent with middleware, as a graph.
//
// Invariants:
//  - a hook that may jump has no static edge: its command names the next node. Only the last node
//    of a round has a route, which reads `jump_to`; no other node writes that channel.
#include <troupe/agents/agent.hpp>

#include "agents/agent_model.hpp"
#include "agents/messages/failure.hpp"
#include "agents/messages/history.hpp"
#include "agents/team_names.hpp"
#include "agents/tools/tool_results.hpp"
#include "agents/wrappers.hpp"

#include <algorithm>
#include <array>

namespace troupe {
namespace {

constexpr const char* jump_to = "jump_to";

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// The nodes at which a round begins, and at which the agent ends.
struct agent_places {
  std::string round; // the first before_model, or the model
  std::string exit;  // the first after_agent to run, or END

  std::string target(std::string_view jump) const {
    return jump == "model" ? round : jump == "tools" ? "tools" : exit;
  }
};

// ---- hooks ----------------------------------------------------------------------------------

// Takes `jump_to` out of what a hook returned.
std::optional<std::string> take_jump(node_output& out, const std::string& node,
                                     const std::vector<std::string>& allowed) {
  std::optional<std::string> jump;
  for (auto& part : out.parts) {
    auto* update = std::get_if<state_update>(&part);
    auto* c = std::get_if<command>(&part);
    if (c && c->update)
      update = &*c->update;
    if (!update)
      continue;
    std::vector<state_update::entry> kept;
    for (const auto& [channel, v] : update->entries())
      if (channel != jump_to)
        kept.emplace_back(channel, v);
      else if (v.is_string())
        jump = v.as<std::string>();
    *update = state_update{std::move(kept)};
  }
  if (jump && !contains(allowed, *jump))
    throw value_error("hook `" + node + "`: its jump to `" + *jump + "` is not allowed");
  return jump;
}

// The end of a hook: turns a jump into a command, or into a write that the route after the node
// reads.
struct hook_ending {
  std::string node;
  std::vector<std::string> jumps;
  std::optional<std::string> next; // nullopt: a route follows
  agent_places where;

  node_output finish(node_output out) const {
    auto jump = take_jump(out, node, jumps);
    if (!next) {
      if (jump)
        out.parts.emplace_back(state_update{}.set(jump_to, *jump));
      return out;
    }
    if (!jumps.empty())
      out.parts.emplace_back(command{.update = std::nullopt,
                                     .goto_ = jump ? where.target(*jump) : *next,
                                     .resume = std::nullopt,
                                     .graph = {}});
    return out;
  }
};

coro<node_output> run_hook(const node_body& body, const hook_ending& ending,
                           const state_view& state, context& ctx) {
  auto run = body.coroutine(state, ctx);
  auto out = co_await run;
  auto finished = ending.finish(std::move(out));
  co_return finished;
}

node_body wrapped(node_body body, hook_ending ending) {
  node_body out;
  if (body.coroutine)
    out.coroutine = [body = std::move(body), ending = std::move(ending)](const state_view& state,
                                                                         context& ctx) {
      return run_hook(body, ending, state, ctx);
    };
  else
    out.plain = [body = std::move(body), ending = std::move(ending)](const state_view& state,
                                                                     context& ctx) {
      return ending.finish(body.plain(state, ctx));
    };
  return out;
}

// ---- the tools ------------------------------------------------------------------------------

coro<node_output> run_due(const tool_node& node, const tool_turns& turns, const state_view& input,
                          context& ctx) {
  // Input by field means that some calls of an answer have run, and the waiting ones are left.
  auto open = input.by_field() ? unanswered_calls(input["messages"]) : std::vector<value>{};
  auto due = due_calls(open, turns);
  auto seen = due.size() == open.size() ? input : state_view{input_of_calls(due)};
  auto run = node(seen, ctx);
  auto out = co_await run;
  co_return out;
}

// The tool node; of calls that waited for their turn, it runs those whose turn it is.
struct due_calls_node {
  using reads_graph_state = void;
  tool_node node;
  tool_turns turns;

  coro<node_output> operator()(const state_view& input, context& ctx) const {
    return run_due(node, turns, input, ctx);
  }
};

// ---- the graph ------------------------------------------------------------------------------

error refused(const char* of_class, std::string text) {
  return {errc::invalid_graph, std::move(text), of_class};
}

void add_channels(schema& to, const schema& from) {
  for (const auto& [name, spec] : from.channels) {
    auto known = std::ranges::find(to.channels, name, [](const auto& c) { return c.first; });
    if (known == to.channels.end())
      to.channels.emplace_back(name, spec);
    else
      known->second = spec;
  }
}

struct hook_node {
  std::string name;
  const agent_hook* hook;
};

class agent_construction {
public:
  explicit agent_construction(agent_options options) : options_{std::move(options)} { check(); }

  compiled_graph build() {
    collect();
    schema state{{"messages", add_messages}};
    if (has_structured_response(options_))
      state.channels.emplace_back("structured_response", last_value);
    for (const auto& m : options_.middleware)
      add_channels(state, m.state);
    add_channels(state, options_.state);
    auto all = state;
    all.channels.emplace_back(jump_to, ephemeral);
    for (const auto& m : options_.middleware)
      add_channels(all, m.hidden);
    state_graph<> graph{all};
    graph.input_schema(state);
    graph.output_schema(state);
    if (options_.context_schema.check)
      graph.context_schema(options_.context_schema.json, options_.context_schema.check);
    add_nodes(graph);
    add_edges(graph);
    return graph.compile(
      {.name = options_.name.empty() ? "agent" : options_.name,
       .interrupt_before = options_.interrupt_before,
       .interrupt_after = options_.interrupt_after,
       .checkpointer = options_.checkpointer,
       .metadata = options_.name.empty() ? value{} : value::map({{agent_name_mark, options_.name}}),
       .recursion_limit = options_.recursion_limit,
       .finish_steps = true});
  }

private:
  void check() const {
    if (!options_.model)
      throw refused("ValueError", "create an agent: it has no model");
    std::vector<std::string> names;
    for (const auto& m : options_.middleware) {
      if (contains(names, m.name))
        throw refused("AssertionError", "Please remove duplicate middleware instances.: " + m.name);
      names.push_back(m.name);
      for (const auto* hook : {&m.before_agent, &m.before_model, &m.after_model, &m.after_agent})
        for (const auto& jump : hook->jumps)
          if (jump != "model" && jump != "tools" && jump != "end")
            throw refused("ValueError", "create an agent: middleware `" + m.name + "` jumps to `"
                                          + jump + "`; it may be model, tools or end");
    }
  }

  void collect() {
    for (const auto& m : options_.middleware) {
      options_.tools.insert(options_.tools.end(), m.tools.begin(), m.tools.end());
      if (m.before_agent)
        before_agent_.push_back({m.name + ".before_agent", &m.before_agent});
      if (m.before_model)
        before_model_.push_back({m.name + ".before_model", &m.before_model});
      if (m.after_model)
        after_model_.insert(after_model_.begin(), {m.name + ".after_model", &m.after_model});
      if (m.after_agent)
        after_agent_.insert(after_agent_.begin(), {m.name + ".after_agent", &m.after_agent});
    }
    where_.round = before_model_.empty() ? "model" : before_model_.front().name;
    where_.exit = after_agent_.empty() ? END : after_agent_.front().name;
    auto wrapper = composed<tool_call_request, tool_executor>(options_.middleware,
                                                              &middleware::wrap_tool_call);
    turns_ = turns_of(options_.tools);
    has_tools_ = wrapper || std::ranges::any_of(options_.tools, &tool::runs_here);
    if (wrapper)
      options_.tool_node.wrap_tool_call = std::move(wrapper);
  }

  // The node after `i`, within its chain or after the chain.
  static std::string after(const std::vector<hook_node>& chain, std::size_t i,
                           const std::string& behind) {
    return i + 1 < chain.size() ? chain[i + 1].name : behind;
  }

  void add_chain(state_graph<>& graph, const std::vector<hook_node>& chain,
                 const std::optional<std::string>& behind) {
    for (std::size_t i = 0; i < chain.size(); ++i) {
      const auto& [name, hook] = chain[i];
      bool last = i + 1 == chain.size();
      auto next = last ? behind : std::optional{chain[i + 1].name};
      node_options options;
      options.input_schema = hook->body.reads();
      if (next && !hook->jumps.empty()) {
        options.destinations.push_back(*next);
        for (const auto& jump : hook->jumps)
          options.destinations.push_back(where_.target(jump));
      }
      if (contains(hook->jumps, "tools") && !has_tools_)
        throw refused("ValueError",
                      "create an agent: `" + name + "` jumps to tools, but the agent has none");
      graph.add_node(name, wrapped(hook->body.get(), {name, hook->jumps, next, where_}),
                     std::move(options));
      if (next && hook->jumps.empty())
        graph.add_edge(name, *next);
    }
  }

  void add_nodes(state_graph<>& graph) {
    graph.add_node("model", model_node_of(options_));
    // When calls have turns, the route of `tools` decides which calls wait for others of their
    // answer.
    if (has_tools_)
      graph.add_node("tools", due_calls_node{tool_node{options_.tools, options_.tool_node}, turns_},
                     late_calls_answered(options_.tool_node, options_.tool_timeout, turns_,
                                         turns_.empty() ? where_.round : "tools"));
    add_chain(graph, before_agent_, where_.round);
    add_chain(graph, before_model_, "model");
    add_chain(graph, after_model_, std::nullopt);
    add_chain(graph, after_agent_, END);
  }

  void add_edges(state_graph<>& graph) {
    graph.add_edge(START, before_agent_.empty() ? where_.round : before_agent_.front().name);
    if (!after_model_.empty())
      graph.add_edge("model", after_model_.front().name);
    auto ends_round = after_model_.empty() ? std::string{"model"} : after_model_.back().name;
    std::vector<std::string> targets{where_.round, where_.exit};
    if (has_tools_)
      targets.emplace_back("tools");
    graph.add_conditional_edges(
      ends_round,
      [where = where_, tools = has_tools_, turns = turns_](const state_view& state) {
        return after_round(where, tools, turns, state);
      },
      targets);
    if (!has_tools_)
      return;
    std::vector<std::string> behind{where_.round, where_.exit};
    if (!turns_.empty())
      behind.emplace_back("tools");
    auto known = tools_that([](const tool&) { return true; });
    auto direct = tools_that([](const tool& t) { return t.options().return_direct; });
    graph.add_conditional_edges(
      "tools",
      [where = where_, known, direct, turns = turns_](const state_view& state) {
        bool again = runs_tools_again(state["messages"], turns);
        return again ? "tools" : after_tools(where, known, direct, state);
      },
      behind);
  }

  template <class Is> std::vector<std::string> tools_that(Is is) const {
    std::vector<std::string> out;
    for (const auto& t : options_.tools)
      if (t.runs_here() && is(t))
        out.push_back(t.name());
    return out;
  }

  static std::vector<destination> after_round(const agent_places& where, bool tools,
                                              const tool_turns& turns, const state_view& state) {
    if (const auto& jump = state[jump_to]; jump.is_string())
      return {destination{where.target(jump.as_string())}};
    const auto& messages = state["messages"];
    auto open = unanswered_calls(messages);
    if (!open.empty() && tools) {
      auto due = due_calls(open, turns);
      if (has_handoff(due, turns.handoffs))
        return {sent_together(due)};
      std::vector<destination> out;
      for (const auto& call : due)
        out.push_back(sent_together({call}));
      return out;
    }
    // When hooks after the model have answered all calls, the model continues.
    bool answered = open.empty() && !has_data(state)
                    && message_role(messages[messages.size() - 1]) == "tool";
    return {destination{answered ? where.round : where.exit}};
  }

  // Whether the last answer of the model had the structured data.
  static bool has_data(const state_view& state) { return !state["structured_response"].is_null(); }

  // The agent ends when an answer had the data, or when all tools that ran for the last answer have
  // return_direct.
  static std::string after_tools(const agent_places& where, const std::vector<std::string>& known,
                                 const std::vector<std::string>& direct, const state_view& state) {
    if (has_data(state))
      return where.exit;
    auto ran = tools_that_ran(state["messages"]);
    std::erase_if(ran, [&known](const std::string& name) { return !contains(known, name); });
    bool all_direct = !ran.empty() && std::ranges::all_of(ran, [&direct](const std::string& name) {
      return contains(direct, name);
    });
    return all_direct ? where.exit : where.round;
  }

  agent_options options_;
  agent_places where_;
  tool_turns turns_;
  bool has_tools_ = false;
  std::vector<hook_node> before_agent_;
  std::vector<hook_node> before_model_;
  std::vector<hook_node> after_model_;
  std::vector<hook_node> after_agent_;
};

} // namespace

compiled_graph create_agent(agent_options options) {
  return agent_construction{std::move(options)}.build();
}

} // namespace troupe
