// create_react_agent: the prebuilt agent.
//
// Invariants:
//  - only answers of the model and of tools, and errors in place of tools' answers, are written to
//    `messages`.
//  - no unanswered call of the history is sent to a model.
#include <troupe/agents/react_agent.hpp>

#include "agents/messages/failure.hpp"
#include "agents/messages/history.hpp"
#include "agents/messages/malformed_calls.hpp"
#include "agents/tools/tool_results.hpp"

#include <algorithm>

namespace troupe {
namespace {

constexpr const char* sorry = "Sorry, need more steps to process this request.";
constexpr const char* model_input = "llm_input_messages";
constexpr const char* pre_hook = "pre_model_hook";
constexpr const char* post_hook = "post_model_hook";
constexpr const char* structured = "generate_structured_response";

bool has(const std::vector<std::string>& names, const value& name) {
  return name.is_string() && std::ranges::find(names, name.as_string()) != names.end();
}

// The data that the nodes of one agent share.
struct agent {
  react_agent_options options;
  value tools;                            // definitions, for a model without bound tools
  std::vector<std::string> direct;        // tools with return_direct
  std::vector<std::string> handoffs;      // tools that lead out of the agent
  std::vector<std::string> one_at_a_time; // their calls are one task
  std::string entry;                      // the node at which each round begins
  bool sends_calls() const noexcept { return options.version == "v2"; }
};
using agent_ptr = std::shared_ptr<const agent>;

// ---- the model ------------------------------------------------------------------------------

coro<chat_model_ptr> model_of(const agent& a, const state_view& state, context& ctx) {
  if (!a.options.model.chosen())
    co_return a.options.model.fixed();
  auto choice = a.options.model.chosen()(state, ctx);
  auto model = co_await choice;
  if (!model)
    throw value_error("The model function of the agent returned no model");
  co_return model;
}

// The state for the model's prompt: messages that a hook put in place of the others stand there.
state_view model_state(const state_view& state) {
  const auto& told = state[model_input];
  if (!told.is_list() || told.empty())
    return state;
  return state_view{state.to_value().without(model_input).with("messages", told)};
}

// The state with an answer to each call that could not be read; the channel `messages` itself stays
// unchanged.
state_view sendable_state(const state_view& state) {
  auto repaired = with_malformed_answered(state["messages"]);
  return repaired ? state_view{state.to_value().with("messages", *repaired)} : state;
}

value with_name(const value& answer, const std::string& name) {
  if (name.empty())
    return message_member(answer, "name").is_null()
             ? answer
             : value::extension(value_kind::message, answer.payload().without("name"));
  return value::extension(value_kind::message, answer.payload().with("name", name));
}

bool needs_more_steps(const agent& a, const value& answer, std::int64_t remaining) {
  const auto& calls = message_tool_calls(answer);
  bool all_direct = std::ranges::all_of(calls.items(),
                                        [&a](const value& c) { return has(a.direct, c["name"]); });
  return (remaining < 1 && all_direct) || (remaining < 2 && !calls.empty());
}

value apology(const value& answer) {
  auto id = message_member(answer, "id");
  return ai_message(sorry, {}, id.is_string() ? id.as_string() : std::string_view{});
}

// The answer. Before it stand the answers whose calls could not be read, with the errors that the
// model got.
coro<std::vector<value>> ask_until_readable(const agent& a, chat_model& model,
                                            model_request request, context& ctx) {
  std::vector<value> out;
  for (std::size_t count = 1;; ++count) {
    auto asked = request;
    auto call = ask_model(model, std::move(asked), ctx);
    auto said = co_await call;
    auto answer = with_distinct_calls(said);
    if (needs_more_steps(a, answer, ctx.remaining_steps()))
      answer = apology(answer);
    out.push_back(with_name(answer, a.options.name));
    if (a.options.malformed_answers_max == 0)
      co_return out;
    auto refused = malformed_call_errors(answer);
    out.insert(out.end(), refused.begin(), refused.end());
    if (refused.empty() || !is_malformed(answer))
      co_return out;
    if (count >= a.options.malformed_answers_max)
      throw malformed_too_often(answer, count);
    request.messages = request.messages.append(answer).append_all(refused);
  }
}

coro<node_output> call_model(agent_ptr a, state_view given, context& ctx) {
  auto state = model_state(given);
  const auto& messages = state["messages"];
  if (!messages.is_list())
    throw value_error("Expected input to call_model to have 'messages' key, but got "
                      + to_json(given.to_value()));
  require_answered_calls(messages);
  model_request request{a->options.prompt.messages(sendable_state(state), ctx)};
  request.tools = a->tools;
  auto choice = model_of(*a, given, ctx);
  auto model = co_await choice;
  auto asked = ask_until_readable(*a, *model, std::move(request), ctx);
  auto answers = co_await asked;
  node_output out;
  out.parts.emplace_back(state_update{}.set("messages", value::list(std::move(answers))));
  co_return out;
}

coro<node_output> respond(agent_ptr a, state_view state, context& ctx) {
  const auto& format = a->options.response_format;
  auto messages = state["messages"];
  if (!format.prompt.empty())
    messages = value::list({system_message(format.prompt)}).append_all(messages.items());
  model_request request{std::move(messages)};
  request.response_schema = format.schema;
  auto choice = model_of(*a, state, ctx);
  auto model = co_await choice;
  if (auto plain = model->unbound())
    model = plain;
  auto call = ask_structured(*model, std::move(request), ctx);
  auto data = co_await call;
  node_output out;
  out.parts.emplace_back(state_update{}.set("structured_response", data));
  co_return out;
}

// ---- routes ---------------------------------------------------------------------------------

std::vector<destination> one(std::string node) {
  return {destination{std::move(node)}};
}

std::vector<destination> sends_of(const agent& a, const std::vector<value>& calls,
                                  const state_view& state) {
  if (has_handoff(calls, a.handoffs))
    return {sent_together(calls)};
  auto seen = state.to_value();
  std::vector<destination> out;
  std::vector<value> in_order;
  for (const auto& call : calls)
    if (has(a.one_at_a_time, call["name"]))
      in_order.push_back(call);
    else
      out.emplace_back(send{"tools", tool_call_with_context(call, seen)});
  if (!in_order.empty())
    out.push_back(sent_together(in_order));
  return out;
}

std::vector<destination> at_the_end(const agent& a) {
  return one(a.options.response_format.schema.is_null() ? END : structured);
}

std::vector<destination> after_model(const agent& a, const state_view& state) {
  auto messages = state["messages"].items();
  auto said = std::ranges::find_if( // after it there may be errors of calls that could not be read
    messages.rbegin(), messages.rend(), [](const value& m) { return message_role(m) != "tool"; });
  const auto& calls = message_tool_calls(said == messages.rend() ? messages.back() : *said);
  if (calls.empty())
    return a.options.post_model_hook ? one(post_hook) : at_the_end(a);
  std::vector<value> all{calls.items().begin(), calls.items().end()};
  auto due = due_calls(all, {a.handoffs});
  if (!a.sends_calls())
    return due.size() == all.size() ? one("tools") : std::vector<destination>{sent_together(due)};
  if (a.options.post_model_hook)
    return one(post_hook);
  return sends_of(a, due, state);
}

std::vector<destination> after_hook(const agent& a, const state_view& state) {
  const auto& messages = state["messages"];
  auto open = unanswered_calls(messages);
  if (!open.empty())
    return sends_of(a, due_calls(open, {a.handoffs}), state);
  if (message_role(messages[messages.size() - 1]) == "tool")
    return one(a.entry);
  return at_the_end(a);
}

std::vector<destination> after_tools(const agent& a, const state_view& state) {
  if (has_handoff(unanswered_calls(state["messages"]), a.handoffs))
    return one("tools");
  auto messages = state["messages"].items();
  auto at = std::ranges::find_if(messages.rbegin(), messages.rend(),
                                 [](const value& m) { return message_role(m) != "tool"; });
  auto has_run = [&](const value& m) { // a call that could not be read has not run
    if (at == messages.rend())
      return true;
    const auto& unread = message_member(*at, "invalid_tool_calls");
    return std::ranges::none_of(unread.items(),
                                [&m](const value& call) { return is_answer_to(m, call); });
  };
  for (auto m = messages.rbegin(); m != at; ++m)
    if (has(a.direct, message_member(*m, "name")) && has_run(*m))
      return one(END);
  if (at != messages.rend())
    for (const auto& call : message_tool_calls(*at).items())
      if (has(a.direct, call["name"]))
        return one(END);
  return one(a.entry);
}

// ---- the graph ------------------------------------------------------------------------------

error refused_agent(std::string text) {
  return {errc::invalid_graph, std::move(text), "ValueError"};
}

bool declares(const schema& s, std::string_view name) {
  return std::ranges::any_of(s.channels, [name](const auto& c) { return c.first == name; });
}

schema state_of(const react_agent_options& options) {
  schema out;
  auto add = [&](const char* name, const channel_spec& spec) {
    if (!declares(options.state, name))
      out.channels.emplace_back(name, spec);
  };
  add("messages", add_messages);
  add("remaining_steps", remaining_steps);
  out.channels.insert(out.channels.end(), options.state.channels.begin(),
                      options.state.channels.end());
  if (!options.response_format.schema.is_null())
    add("structured_response", last_value);
  return out;
}

void require_same_tools(const value& bound, const std::vector<tool>& tools) {
  if (bound.size() != tools.size())
    throw refused_agent("Number of tools in the model.bind_tools() and tools passed to "
                        "create_react_agent must match Got "
                        + std::to_string(tools.size()) + " tools, expected "
                        + std::to_string(bound.size()));
  for (const auto& t : tools)
    if (std::ranges::none_of(bound.items(), [&t](const value& b) {
          return (b["name"].is_string() ? b["name"] : b["type"]) == value(t.name());
        }))
      throw refused_agent("Missing tools '{'" + t.name() + "'}' in the model.bind_tools()");
}

agent_ptr prepare(react_agent_options options) {
  if (options.version != "v1" && options.version != "v2")
    throw refused_agent("Invalid version " + options.version
                        + ". Supported versions are 'v1' and 'v2'.");
  if (!options.model.fixed() && !options.model.chosen())
    throw refused_agent("create an agent: it has no model");
  auto a = std::make_shared<agent>();
  a->tools = value::list();
  if (const auto& model = options.model.fixed()) {
    auto bound = model->bound_tools();
    if (bound.is_null())
      a->tools = tool_definitions(options.tools);
    else
      require_same_tools(bound, options.tools);
  }
  for (const auto& t : options.tools) {
    if (t.runs_here() && t.options().return_direct)
      a->direct.push_back(t.name());
  }
  auto turns = turns_of(options.tools);
  a->handoffs = std::move(turns.handoffs);
  a->one_at_a_time = std::move(turns.one_at_a_time);
  a->entry = options.pre_model_hook ? pre_hook : "agent";
  a->options = std::move(options);
  return a;
}

class construction {
public:
  explicit construction(agent_ptr a)
    : a_{std::move(a)},
      state_{state_of(a_->options)},
      graph_{state_} {}

  compiled_graph build() {
    const auto& context = a_->options.context_schema;
    if (context.check)
      graph_.context_schema(context.json, context.check);
    bool tools = std::ranges::any_of(a_->options.tools, &tool::runs_here);
    add_model();
    if (tools)
      add_tools();
    add_hooks();
    if (tools)
      add_routes();
    else
      add_straight_edges();
    return graph_.compile({.name = a_->options.name.empty() ? "agent" : a_->options.name,
                           .interrupt_before = a_->options.interrupt_before,
                           .interrupt_after = a_->options.interrupt_after,
                           .checkpointer = a_->options.checkpointer,
                           .finish_steps = true});
  }

private:
  using nodes = std::vector<std::string>;

  void add_model() {
    node_options options;
    if (a_->options.pre_model_hook && !declares(state_, model_input)) {
      options.input_schema = state_;
      options.input_schema->channels.emplace_back(model_input, last_value);
    }
    graph_.add_node(
      "agent",
      [a = a_](const state_view& state, context& ctx) { return call_model(a, state, ctx); },
      std::move(options));
    graph_.add_edge(START, a_->entry);
    if (!a_->options.response_format.schema.is_null())
      graph_.add_node(structured, [a = a_](const state_view& state, context& ctx) {
        return respond(a, state, ctx);
      });
  }

  void add_hooks() {
    add_hook(pre_hook, a_->options.pre_model_hook);
    add_hook(post_hook, a_->options.post_model_hook);
    if (a_->options.pre_model_hook)
      graph_.add_edge(pre_hook, "agent");
    if (a_->options.post_model_hook)
      graph_.add_edge("agent", post_hook);
  }

  void add_hook(const char* name, const any_body& hook) {
    if (!hook)
      return;
    node_options options;
    options.input_schema = hook.reads();
    graph_.add_node(name, hook.get(), std::move(options));
  }

  void add_tools() {
    // Handoffs wait for the other calls of their turn; the route of `tools` decides that.
    graph_.add_node("tools", tool_node{a_->options.tools, a_->options.tool_node},
                    late_calls_answered(a_->options.tool_node, a_->options.tool_timeout,
                                        {a_->handoffs},
                                        a_->handoffs.empty() ? a_->entry : "tools"));
  }

  void add_straight_edges() {
    const char* last = a_->options.post_model_hook ? post_hook : "agent";
    if (!a_->options.response_format.schema.is_null())
      graph_.add_edge(last, structured);
  }

  template <class F> void add_route(const char* from, F route, path_map to) {
    graph_.add_route(
      from, [a = a_, route](const state_view& state, context&) { return route(*a, state); }, state_,
      std::move(to), {});
  }

  void add_routes() {
    std::string last = a_->options.response_format.schema.is_null() ? END : structured;
    if (a_->options.post_model_hook) {
      add_route(post_hook, after_hook, nodes{a_->entry, "tools", last});
      add_route("agent", after_model, path_map{}); // the edge to the hook is drawn
    } else {
      add_route("agent", after_model, nodes{"tools", last});
    }
    nodes behind{a_->entry};
    if (!a_->direct.empty())
      behind.emplace_back(END);
    if (!a_->handoffs.empty())
      behind.emplace_back("tools");
    if (behind.size() == 1)
      graph_.add_edge("tools", a_->entry);
    else
      add_route("tools", after_tools, behind);
  }

  agent_ptr a_;
  schema state_;
  state_graph<> graph_;
};

} // namespace

value agent_prompt::messages(const state_view& state, context& ctx) const {
  if (function_)
    return function_(state, ctx);
  const auto& messages = state["messages"];
  return message_.is_null() ? messages : value::list({message_}).append_all(messages.items());
}

compiled_graph create_react_agent(react_agent_options options) {
  return construction{prepare(std::move(options))}.build();
}

} // namespace troupe
