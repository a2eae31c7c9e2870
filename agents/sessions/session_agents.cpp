// session_agents: an agent's messages in an invocation, and agents that are graphs.
#include "agents/sessions/session_agents.hpp"

#include "agents/messages/failure.hpp"
#include "agents/messages/json_text.hpp"
#include "agents/messages/message_lists.hpp"
#include "agents/sessions/agent_events.hpp"
#include "agents/team_names.hpp"

#include <troupe/state_graph.hpp>

#include <algorithm>

namespace troupe {

// ---- an invocation --------------------------------------------------------------------------

namespace {

bool has_text(const value& message, const char* name) {
  return message_member(message, name).is_string() && !message_member(message, name).empty();
}

const value& list_or(const value& v, const value& other) {
  return v.is_list() ? v : other;
}

} // namespace

invocation::invocation(context& ctx, std::string author, std::string mark, value messages,
                       value state)
  : ctx_{&ctx},
    author_{std::move(author)},
    mark_{std::move(mark)},
    id_{text_in(ctx.metadata()["invocation_id"])},
    session_{.user = text_in(ctx.metadata()["user_id"]),
             .id = text_in(ctx.metadata()["session_id"])},
    messages_(std::move(messages)),
    state_(std::move(state)) {}

value invocation::message() const {
  auto all = messages_.items();
  auto last = std::ranges::find_if(all.rbegin(), all.rend(),
                                   [](const value& m) { return message_role(m) == "user"; });
  return last == all.rend() ? value{} : *last;
}

void invocation::set_state(value state) {
  state_ = std::move(state);
  state_changed_ = true;
}

// The id of the next message; it is the same when the body runs again.
std::string invocation::next_id() const {
  return ctx_->task_id() + ':' + std::to_string(said_);
}

void invocation::say(const value& message) {
  auto said = message.is_string() ? ai_message(message) : coerce_message(message);
  auto role = message_role(said);
  if (role != "assistant" && role != "tool")
    throw error{errc::invalid_value,
                "say a message: it is neither an assistant's nor a tool's: " + std::string{role}};
  if (role == "assistant" && !has_text(said, "name"))
    said = with_member(said, "name", author_);
  if (!has_text(said, "id"))
    said = with_member(said, "id", next_id());
  ++said_;
  ctx_->push_message(said);
  ctx_->write(said_part(mark_, author_, said));
  messages_ = messages_.append(said);
}

void invocation::say_part(std::string_view text) {
  ctx_->stream_message(value::extension(value_kind::message, value::map({{"role", "assistant"},
                                                                         {"content", text},
                                                                         {"name", author_},
                                                                         {"id", next_id()},
                                                                         {"chunk", true}})));
}

coro<void> invocation::run(session_agent_ptr other) {
  struct speaker {
    std::string& now;
    std::string before;
    ~speaker() { now = before; }
  } turn{author_, author_};
  author_ = other->name();
  auto running = other->run(*this);
  co_await running;
}

// ---- agents that are graphs -----------------------------------------------------------------

namespace {

class graph_session_agent final : public session_agent {
public:
  graph_session_agent(compiled_graph graph, session_agent_options options)
    : graph_{std::move(graph)},
      options_{std::move(options)} {}

  std::string name() const override { return options_.name; }
  std::string description() const override { return options_.description; }
  std::optional<compiled_graph> graph() const override {
    return options_.input || options_.output ? std::nullopt : std::optional{graph_};
  }

  coro<void> run(invocation& in) override {
    auto input = options_.input ? options_.input(in.message())
                                : run_input{value::map({{"messages", in.messages()}})};
    auto inner = in.ctx().run(graph_, input, value::map({{agent_name_mark, options_.name}}));
    auto out = co_await inner;
    say_what_came_of_it(in, out);
  }

private:
  void say_what_came_of_it(invocation& in, const value& out) const {
    if (options_.output)
      return in.say(options_.output(out));
    const auto& messages = out["messages"];
    if (!messages.is_list())
      return in.say(to_json(out));
    auto before = in.messages();
    for (const auto& m : messages.items()) {
      auto role = message_role(m);
      if ((role == "assistant" || role == "tool") && !stands_in(before, m))
        in.say(m);
    }
  }

  static bool stands_in(const value& messages, const value& message) {
    const auto& id = message_member(message, "id");
    return std::ranges::any_of(messages.items(),
                               [&id](const value& m) { return message_member(m, "id") == id; });
  }

  compiled_graph graph_;
  session_agent_options options_;
};

} // namespace

session_agent_ptr make_session_agent(compiled_graph graph, session_agent_options options) {
  auto inputs = graph.inputs();
  if (!options.input && std::ranges::find(inputs, "messages") == inputs.end())
    throw error{
      errc::invalid_graph,
      "make graph `" + graph.name()
        + "` an agent: it has no input `messages`, and session_agent_options::input is not set"};
  if (options.name.empty())
    options.name = graph.name();
  return std::make_shared<graph_session_agent>(std::move(graph), std::move(options));
}

// ---- agents as graphs -----------------------------------------------------------------------

struct invocation_maker {
  static coro<node_output> hold(session_agent_ptr agent, std::string mark, state_view state,
                                context& ctx) {
    invocation in{ctx, agent->name(), std::move(mark), list_or(state["messages"], value::list()),
                  state["state"]};
    auto running = agent->run(in);
    co_await running;
    node_output out;
    if (in.state_changed_)
      out.parts.emplace_back(state_update{}.set("state", in.state_));
    co_return out;
  }
};

compiled_graph graph_of(const session_agent_ptr& agent, const std::string& mark) {
  if (auto own = agent->graph())
    return *std::move(own);
  state_graph<> g{{{"messages", add_messages}, {"state", last_value}}};
  g.add_node("agent", [agent, mark](const state_view& state, context& ctx) {
    return invocation_maker::hold(agent, mark, state, ctx);
  });
  g.add_edge(START, "agent");
  return g.compile({.name = agent->name()});
}

} // namespace troupe
