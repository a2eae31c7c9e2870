// Plan, execute, plan again: a graph of ordinary nodes around an agent.
#include "examples/teams/teams.hpp"

namespace teams {

namespace {

struct project : troupe::messages_state {
  std::vector<std::string> plan; // steps that remain
  std::vector<std::string> done;
  TROUPE_STATE(project, TROUPE_MESSAGES, plan, (done, troupe::append))
};

troupe::value steps_schema() {
  return troupe::json_schema<std::vector<std::string>>();
}

// Asks a model for a list of steps, at first or after each one.
auto planner(troupe::chat_model_ptr model, std::string order) {
  return [model, order](const project& p,
                        troupe::context& ctx) -> troupe::coro<troupe::update<project>> {
    auto told = order + "\ngoal: " + p.messages.front().content.as<std::string>();
    for (const auto& done : p.done)
      told += "\ndone: " + done;
    troupe::model_request request{troupe::value::list({troupe::human_message(told)})};
    request.response_schema = steps_schema();
    auto asked = troupe::ask_structured(*model, request, ctx);
    auto steps = co_await asked;
    co_return troupe::set(&project::plan, steps.as<std::vector<std::string>>());
  };
}

} // namespace

troupe::compiled_graph plan_execute() {
  auto worker = troupe::create_react_agent(
    {.model = model({"The kettle is on.", "The tea is in the pot."}), .name = "worker"});
  troupe::state_graph<project> g;
  g.add_node("plan", planner(model({troupe::value::list({"boil water", "make tea"})}),
                             "List the steps to the goal."));
  g.add_node("execute",
             [worker](const project& p,
                      troupe::context& ctx) -> troupe::coro<troupe::update<project>> {
               troupe::run_input task{
                 {"messages", troupe::value::list({troupe::human_message(p.plan.front())})}};
               auto run = ctx.run(worker, task);
               auto out = co_await run;
               const auto& said = out["messages"];
               std::vector<std::string> done{p.plan.front() + ": "
                                             + troupe::message_text(said[said.size() - 1])};
               co_return troupe::set(&project::done, done);
             });
  g.add_node("plan again",
             planner(model({troupe::value::list({"make tea"}), troupe::value::list()}),
                     "List the steps that are left; none when the goal is reached."));
  g.add_node("report", [](const project& p) {
    std::string text;
    for (const auto& done : p.done)
      text += (text.empty() ? "" : " ") + done;
    return troupe::set(&project::messages, std::vector{troupe::message{"assistant", text}});
  });
  g.add_edge(troupe::START, "plan");
  g.add_edge("plan", "execute");
  g.add_edge("execute", "plan again");
  g.add_conditional_edges("plan again",
                          [](const project& p) { return p.plan.empty() ? "report" : "execute"; },
                          {"report", "execute"});
  return g.compile({.name = "plan_execute"});
}

} // namespace teams
