// agent_as_model: an agent that is asked as a model.
#include <troupe/agents/teams.hpp>

#include "agents/messages/failure.hpp"
#include "agents/messages/message_lists.hpp"
#include "agents/team_names.hpp"

#include <algorithm>

namespace troupe {
namespace {

// Whether the message is one of `messages`. A message without an id got one within the agent.
bool is_one_of(const value& messages, const value& message) {
  const auto& id = message_member(message, "id");
  auto bare = message.payload().without("id");
  return std::ranges::any_of(messages.items(), [&](const value& m) {
    const auto& own = message_member(m, "id");
    return own.is_null() ? m.payload() == bare : own == id;
  });
}

// The usage of the agent's own answers; messages that it was given do not count.
value usage_of(const value& messages, const value& given) {
  value out;
  for (const auto& m : messages.items())
    if (message_role(m) == "assistant" && !is_one_of(given, m))
      out = add_usage(out, message_member(m, "usage"));
  return out;
}

value message_with(const value& message, const char* member, value v) {
  return value::extension(value_kind::message, message.payload().with(member, std::move(v)));
}

class agent_model_of_graph final : public chat_model {
public:
  agent_model_of_graph(compiled_graph agent, std::string name)
    : agent_{std::move(agent)},
      name_{std::move(name)} {}

  std::string name() const override { return name_; }
  value profile() const override { return value::map({{"structured_output", false}}); }

  coro<value> invoke(model_request request, context& ctx) override {
    if (!request.tools.empty())
      throw value_error("ask agent `" + name_ + "` as a model: it can't be given tools");
    auto run = ctx.run(agent_, value::map({{"messages", request.messages}}),
                       value::map({{agent_name_mark, agent_.name()}}));
    auto out = co_await run;
    co_return answer_in(out, request.messages, request.response_schema);
  }

private:
  value answer_in(const value& out, const value& given, const value& schema) const {
    const auto& said = out["messages"];
    if (!said.is_list() || said.empty() || message_role(said[said.size() - 1]) != "assistant")
      throw error{errc::invalid_value,
                  "ask agent `" + name_ + "` as a model: its last message is not an assistant's"};
    auto answer = said[said.size() - 1];
    if (auto usage = usage_of(said, given); !usage.is_null())
      answer = message_with(answer, "usage", std::move(usage));
    if (schema.is_null())
      return answer;
    if (out["structured_response"].is_null())
      throw value_error("ask agent `" + name_
                        + "` as a model: its answer has no structured response");
    return message_with(answer, "parsed", out["structured_response"]);
  }

  compiled_graph agent_;
  std::string name_;
};

} // namespace

chat_model_ptr agent_as_model(compiled_graph agent, std::string name) {
  auto inputs = agent.inputs();
  if (std::ranges::find(inputs, "messages") == inputs.end())
    throw error{errc::invalid_graph,
                "ask graph `" + agent.name() + "` as a model: it has no input `messages`"};
  if (name.empty())
    name = "graph:" + agent.name();
  return std::make_shared<agent_model_of_graph>(std::move(agent), std::move(name));
}

} // namespace troupe
