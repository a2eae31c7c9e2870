// Handoffs: tools that lead out of an agent.
//
// Invariants:
//  - in every conversation that is handed on, each call has its answer.
//  - with several handoffs in a turn, an agent gets copies of messages with new ids.
#include <troupe/agents/teams.hpp>

#include "agents/messages/failure.hpp"
#include "agents/messages/history.hpp"
#include "agents/messages/json_text.hpp"
#include "agents/subagent_run.hpp"
#include "agents/team_names.hpp"

#include <algorithm>
#include <span>

namespace troupe {
namespace {

constexpr const char* destination_mark = "__handoff_destination";

// The last answer of a conversation, and its calls.
struct last_turn {
  value before;                // the messages before it
  value answer;                // the assistant's message
  value results;               // the messages after it
  std::vector<value> answered; // its answered calls
  std::vector<value> others;   // its open calls except this one
};

value as_list(std::span<const value> items) {
  return value::list({items.begin(), items.end()});
}

last_turn turn_of(const value& messages, const value& call) {
  auto all = messages.items();
  auto last = std::ranges::find_if(all.rbegin(), all.rend(),
                                   [](const value& m) { return message_role(m) == "assistant"; });
  if (last == all.rend())
    throw value_error("No AIMessage found in input");
  auto i = static_cast<std::size_t>(all.rend() - last) - 1;
  last_turn out{as_list(all.first(i)), all[i], as_list(all.subspan(i + 1)), {}, {}};
  for (const auto& c : message_tool_calls(out.answer).items()) {
    if (std::ranges::any_of(out.results.items(),
                            [&c](const value& m) { return is_answer_to(m, c); }))
      out.answered.push_back(c);
    else if (c["id"] != call["id"])
      out.others.push_back(c);
  }
  return out;
}

// The message with only these calls, also in its blocks.
value with_calls(const value& answer, const std::vector<value>& calls) {
  auto payload = answer.payload().with("tool_calls", value::list({calls.begin(), calls.end()}));
  if (const auto& content = payload["content"]; content.is_list()) {
    std::vector<value> kept;
    for (const auto& block : content.items()) {
      bool other =
        block["type"] == value("tool_use")
        && std::ranges::none_of(calls, [&block](const value& c) { return c["id"] == block["id"]; });
      if (!other)
        kept.push_back(block);
    }
    payload = payload.with("content", value::list(std::move(kept)));
  }
  return value::extension(value_kind::message, std::move(payload));
}

// The answer with this call alone. Its text is dropped if another copy, with the answered calls,
// has it already.
value call_alone(const last_turn& turn, const value& call) {
  auto out = with_calls(turn.answer, {call});
  if (!turn.answered.empty())
    out = value::extension(value_kind::message, out.payload().with("content", ""));
  return with_message_id(
    value::extension(value_kind::message, out.payload().without("id").without("usage")));
}

value marked(const value& message, const char* name, value mark) {
  return value::extension(value_kind::message,
                          message.payload().with("response_metadata",
                                                 value::map({{name, std::move(mark)}})));
}

value transferred(const handoff_options& to, const value& call) {
  auto said = tool_message("Successfully transferred to " + to.agent, text_in(call["id"]), to.name);
  return with_message_id(marked(said, destination_mark, value(to.agent)));
}

command to_parent(destinations to, std::optional<state_update> update) {
  return {.update = std::move(update),
          .goto_ = std::move(to),
          .resume = std::nullopt,
          .graph = command::PARENT};
}

// The only open call: the conversation continues in the graph around this one.
command hand_over(const handoff_options& to, const value& state, const last_turn& turn,
                  const value& call) {
  auto messages = state["messages"];
  if (to.add_handoff_messages)
    messages = messages.append(transferred(to, call));
  else if (turn.answered.empty())
    messages = turn.before.append_all(turn.results.items());
  else
    messages =
      turn.before.append(with_calls(turn.answer, turn.answered)).append_all(turn.results.items());
  return to_parent(to.agent, state_update{state.with("messages", std::move(messages))});
}

// One of several handoffs: only its agent gets this call, the others get theirs.
command hand_out(const handoff_options& to, const value& state, const last_turn& turn,
                 const value& call) {
  std::optional<state_update> update;
  auto messages = turn.before;
  if (!turn.answered.empty()) {
    messages =
      messages.append(with_calls(turn.answer, turn.answered)).append_all(turn.results.items());
    update = state_update{}.set("messages", messages);
  }
  if (to.add_handoff_messages)
    messages = messages.append(call_alone(turn, call)).append(transferred(to, call));
  return to_parent(send{to.agent, state.with("messages", std::move(messages))}, std::move(update));
}

bool is_handoff_call(const tool_runtime& runtime, const value& call) {
  return std::ranges::any_of(runtime.tools(), [&call](const tool& t) {
    return value(t.name()) == call["name"] && !t.options().handoff_to.empty();
  });
}

tool_output swarm_handoff(const handoff_options& to, const tool_runtime& runtime) {
  const auto& call = runtime.call();
  auto turn = turn_of(runtime.state()["messages"], call);
  for (const auto& c : message_tool_calls(turn.answer).items()) {
    if (c["id"] == call["id"])
      break;
    if (is_handoff_call(runtime, c)
        && std::ranges::find(turn.others, c) != turn.others.end()) // it answers this call, too
      return "Not transferred to " + to.agent + ": another handoff of this turn came first.";
  }
  auto messages = runtime.state()["messages"].append(transferred(to, call));
  for (const auto& c : turn.others)
    messages = messages.append(with_message_id(tool_message(
      "Not done: the conversation was handed over to " + to.agent + " in the same turn.",
      text_in(c["id"]), text_in(c["name"]), "error")));
  return to_parent(
    to.agent,
    state_update{
      runtime.state().with("messages", std::move(messages)).with("active_agent", to.agent)});
}

template <class F> tool handoff_tool(handoff_options options, F run) {
  if (options.name.empty())
    options.name = transfer_name("transfer_to_", options.agent);
  if (options.description.empty())
    options.description = "Ask agent '" + options.agent + "' for help";
  auto name = options.name;
  auto description = options.description;
  tool_options how{.lane = lane::standard};
  how.handoff_to = options.agent;
  return {std::move(name), std::move(description),
          [to = std::move(options), run](tool_runtime& runtime) -> tool_output {
            return run(to, runtime);
          },
          std::move(how)};
}

// ---- forwarding -----------------------------------------------------------------------------

bool is_handoff_back(const value& message) {
  return message_member(message, "response_metadata")[handoff_back_mark] == value(true);
}

std::string lower(std::string text) {
  for (auto& c : text)
    if (c >= 'A' && c <= 'Z')
      c = static_cast<char>(c - 'A' + 'a');
  return text;
}

tool_output forward(const std::string& supervisor, const std::string& from, const value& state) {
  auto all = state["messages"].items();
  std::vector<std::string> names;
  for (auto at = all.rbegin(); at != all.rend(); ++at) {
    const auto& name = message_member(*at, "name");
    if (message_role(*at) != "assistant" || !name.is_string())
      continue;
    auto who = name.as<std::string>();
    if (std::ranges::find(names, who) == names.end())
      names.push_back(who);
    if (lower(who) != lower(from) || is_handoff_back(*at))
      continue;
    auto said = ai_message(message_member(*at, "content"));
    said = with_message_id(
      value::extension(value_kind::message, said.payload().with("name", supervisor)));
    return to_parent(END, state_update{state.with("messages", value::list({said}))});
  }
  std::ranges::sort(names);
  return "Could not find message from source agent " + from
         + ". Found names: " + to_json(value::of(names));
}

} // namespace

tool create_handoff_tool(handoff_options options) {
  return handoff_tool(std::move(options),
                      [](const handoff_options& to, const tool_runtime& runtime) -> tool_output {
                        auto turn = turn_of(runtime.state()["messages"], runtime.call());
                        auto go = turn.others.empty() ? hand_over : hand_out;
                        return go(to, runtime.state(), turn, runtime.call());
                      });
}

tool create_swarm_handoff_tool(handoff_options options) {
  return handoff_tool(std::move(options), swarm_handoff);
}

tool create_forward_message_tool(std::string supervisor_name) {
  tool_options how{.lane = lane::standard};
  how.handoff_to = END;
  return {"forward_message",
          "Gives the user the last message of an agent, word for word. Use it when there is "
          "nothing to add to what the agent said.",
          [supervisor = std::move(supervisor_name)](
            arg<"from_agent", std::string, "The agent whose message is forwarded"> from,
            tool_runtime& runtime) { return forward(supervisor, *from, runtime.state()); },
          std::move(how)};
}

tool agent_as_tool(compiled_graph agent, std::string name, std::string description) {
  auto named = name;
  return {std::move(name), std::move(description),
          [agent = std::move(agent),
           named](arg<"task", std::string, "The task, with everything the agent must know"> task,
                  tool_runtime& runtime) {
            return run_subagent(agent, named, *std::move(task), runtime);
          }};
}

coro<std::string> run_subagent(const compiled_graph& agent, const std::string& name,
                               std::string task, tool_runtime& runtime) {
  run_input given{value{{"messages", value::list({human_message(task)})}}};
  auto whose = value::map({{agent_name_mark, name}, {tool_call_mark, runtime.tool_call_id()}});
  auto run = runtime.task().run(agent, given, whose);
  auto out = co_await run;
  const auto& said = out["messages"];
  co_return said.is_list() && !said.empty() ? message_text(said[said.size() - 1]) : to_json(out);
}

} // namespace troupe
