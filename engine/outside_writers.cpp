// Running a node's writers without its body.
#include "engine/outside_writers.hpp"

#include "engine/plan.hpp"
#include "tasks/execute_body.hpp"
#include "tasks/task_scope.hpp"

#include <algorithm>

namespace troupe {

namespace {

// A body that has its output already. So writers run in the same place as those of every other
// body, and their exceptions are caught there.
coro<node_output> hand_over(node_output output) {
  co_return output;
}

// A workflow's writers: the value becomes its result and the saved value, as if its body had
// returned it. An update that names exactly these two gives each a value of its own, as final_value
// does.
state_update returned_by_workflow(const std::optional<state_update>& values) {
  if (!values)
    return {{std::string{names::end}, value{}}, {std::string{names::previous}, value{}}};
  auto writer = [](const state_update::entry& e) {
    return e.first == names::end || e.first == names::previous;
  };
  if (!values->empty() && std::ranges::all_of(values->entries(), writer))
    return *values;
  auto whole = whole_value(*values);
  return {{std::string{names::end}, whole}, {std::string{names::previous}, whole}};
}

std::shared_ptr<run_shared> make_run(const thread_state& state, const run_config& config) {
  auto run = std::make_shared<run_shared>();
  run->plan = state.plan;
  run->config = config;
  return run;
}

} // namespace

value whole_value(const state_update& update) {
  const auto& list = update.entries();
  return list.size() == 1 && list[0].first == names::root ? list[0].second : update.to_value();
}

result<task_write_list> run_writers(const thread_state& state, const run_config& config,
                                    const outside_task& update) {
  const auto& node = state.plan->nodes[update.node];
  detail::task_scope task;
  task.run = make_run(state, config);
  task.node = &node;
  task.index = update.node;
  task.identify(update.id, task_namespace(update.checkpoint_ns, node.name, update.id));
  task.step = update.step;
  task.stop = update.step + 2;
  task.metadata = config.metadata;
  if (!node.routes.empty())
    for (auto c : state.plan->stream_keys)
      task.route_cells.emplace_back(c, state.cells[c]);
  node_output output;
  if (state.plan->functional)
    output.parts.emplace_back(returned_by_workflow(*update.values));
  else if (update.goto_ && !update.goto_->empty())
    output.parts.emplace_back(command{.update = *update.values, .goto_ = *update.goto_});
  else if (const auto& values = *update.values; values && !values->empty())
    output.parts.emplace_back(*values);
  context ctx{task};
  auto body = hand_over(std::move(output));
  body.start();
  finish_body(task, body, ctx);
  if (task.failure)
    return *task.failure;
  if (task.status == task_status::interrupted)
    return error{errc::invalid_update, "update as node `" + node.name
                                         + "`: its route asks a question, which no run can answer"};
  return std::move(task.writes);
}

} // namespace troupe
