// checkpoint_values: the values of a checkpoint without the writes that wait for their step's end.
#include "server/runs/checkpoint_values.hpp"
#include "server/rules/wire_form.hpp"

#include <algorithm>

namespace troupe::server {

result<value> checkpoint_values(const app<>& graph, const state_snapshot& newest) {
  auto has_ended = [](const task_snapshot& task) { return task.result.has_value(); };
  if (std::ranges::none_of(newest.tasks, has_ended))
    return wire_form(newest.values);
  auto alone = graph.try_get_state({.thread_id = newest.config.thread_id,
                                    .checkpoint_id = newest.config.checkpoint_id,
                                    .checkpoint_ns = newest.config.checkpoint_ns});
  if (!alone)
    return alone.error();
  return wire_form(alone->values);
}

} // namespace troupe::server
