#include "tests/conformance/agent_of.hpp"

#include "tests/conformance/body.hpp"
#include "tests/conformance/channel_of.hpp"
#include "tests/conformance/graph_of.hpp"
#include "tests/conformance/model_book.hpp"
#include "tests/conformance/tool_of.hpp"

#include <troupe/agents/react_agent.hpp>

namespace troupe::conformance {
namespace {

// A model that answers from a script.
class case_model final : public chat_model {
public:
  case_model(std::string graph, const script_json& declared, world& w)
    : graph_{std::move(graph)},
      declared_{declared},
      world_{w} {}

  std::string name() const override { return graph_; }

  coro<value> invoke(model_request request, context& ctx) override {
    state_view told{request.messages};
    scope s{world_, &told, &ctx};
    note_use("$model agent " + graph_, s);
    auto said = world_.models->say("agent " + graph_, declared_, s);
    if (!said.as_message()) {
      auto data = said.to_value();
      co_return value::extension(value_kind::message,
                                 ai_message(to_json(data)).payload().with("parsed", data));
    }
    if (request.on_part && streams(declared_))
      for (const auto& part : parts_of(*said.as_message()))
        request.on_part(part);
    co_return said.to_value();
  }

private:
  std::string graph_;
  const script_json& declared_;
  world& world_;
};

agent_prompt prompt_of(const script_json& declared, world& w) {
  if (declared.is_null())
    return {};
  if (declared.is_string())
    return declared.get<std::string>();
  if (declared.is_array())
    return [&w, &declared](const state_view& state, context& ctx) {
      scope s{w, &state, &ctx};
      return run_body(declared, s).to_value();
    };
  scope s{w};
  return evaluate(declared, s).to_value();
}

// A body that waits for a graph does so on the blocking lane.
coro<node_output> run_waiting(const script_json& statements, world& w, state_view state,
                              context& ctx) {
  auto job = ctx.blocking([&] {
    scope s{w, &state, &ctx};
    return output_of(run_body(statements, s));
  });
  auto out = co_await job;
  co_return out;
}

any_body hook_of(const script_json& declared, world& w) {
  if (declared.is_null())
    return {};
  if (waits(declared))
    return [&w, &declared](const state_view& state, context& ctx) {
      return run_waiting(declared, w, state, ctx);
    };
  return [&w, &declared](const state_view& state, context& ctx) {
    scope s{w, &state, &ctx};
    return output_of(run_body(declared, s));
  };
}

agent_response response_of(const script_json& declared) {
  if (declared.is_array())
    return {value_of(declared.at(1)), declared.at(0).get<std::string>()};
  return {value_of(declared)};
}

schema state_of(const script_json& declared, world& w) {
  schema out;
  for (const auto& [key, channel] : declared.items())
    out.channels.emplace_back(key, channel_of(channel, w));
  return out;
}

} // namespace

compiled_graph agent_of(const std::string& name, const script_json& declared, world& w) {
  const auto& agent = declared.at("agent");
  auto compile = compile_options_of(name, declared, w);
  react_agent_options out;
  out.model = std::make_shared<case_model>(name, agent.at("model"), w);
  out.tools = tools_of(member(agent, "tools"), w);
  out.prompt = prompt_of(member(agent, "prompt"), w);
  out.name = agent.value("name", std::string{});
  out.version = agent.value("version", out.version);
  out.pre_model_hook = hook_of(member(agent, "pre_model_hook"), w);
  out.post_model_hook = hook_of(member(agent, "post_model_hook"), w);
  out.response_format = response_of(member(agent, "response_format"));
  out.state = state_of(member(agent, "state"), w);
  out.tool_node = tool_options_of(agent);
  out.interrupt_before = compile.interrupt_before;
  out.interrupt_after = compile.interrupt_after;
  out.checkpointer = compile.checkpointer;
  return create_react_agent(std::move(out));
}

} // namespace troupe::conformance
