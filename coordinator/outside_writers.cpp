// Running a node's writers without its body.
#include "coordinator/outside_writers.hpp"

#include "actors/task_scope.hpp"
#include "coordinator/plan.hpp"

namespace troupe {

namespace {

// A body that has its output already: so writers run where those of every other body do, and what
// they throw is caught there.
coro<node_output> hand_over(node_output output) {
  co_return output;
}

std::shared_ptr<run_shared> make_run(const thread_state& state, const run_config& config) {
  auto run = std::make_shared<run_shared>();
  run->plan = state.plan;
  run->config = config;
  return run;
}

} // namespace

result<task_write_list> run_writers(const thread_state& state, const run_config& config,
                                    const outside_task& update) {
  const auto& node = state.plan->nodes[update.node];
  detail::task_scope task;
  task.run = make_run(state, config);
  task.node = &node;
  task.index = update.node;
  task.id = update.id;
  task.ns = task_namespace(update.checkpoint_ns, node.name, update.id);
  task.step = update.step;
  task.stop = update.step + 2;
  task.metadata = config.metadata;
  if (!node.routes.empty())
    for (auto c : state.plan->stream_keys)
      task.route_cells.emplace_back(c, state.cells[c]);
  node_output output;
  if (const auto& values = *update.values; values && !values->empty())
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
