// remote_task: a task for a worker as bytes, and its outcome.
//
// The bytes hold all that a body can see, and all that a nested run starts from. They do not hold
// the home's saver and store (task_link.hpp) and its readers. Attempts, the cache and the task's
// place in its step stay at home, too.
#pragma once

#include "cluster/wire/protocol.hpp"
#include "tasks/task_scope.hpp"

#include <memory>
#include <vector>

namespace troupe::cluster {

/// The facts that the tasks of one run share. They do not change during the run.
/// Errors: invalid_value when they are too large.
result<bytes> encode_run(run_shared& run);

/// A home's run, as its tasks on the worker see it: without saver, store, sink and host.
struct remote_run {
  std::shared_ptr<const graph_plan> plan;
  run_config config;
  std::string ns;
  value parents;
  value addressed;
  value answers;
  std::optional<std::string> replays_before;
  bool stored = false;
  std::uint32_t modes = 0; // bit n: the stream mode n has a reader
};
/// Reads the result of encode_run().
/// Errors: invalid_value.
result<remote_run> decode_run(const bytes& facts, std::shared_ptr<const graph_plan> plan);

/// A task, and the facts that it shares with the others of its step.
struct task_bytes {
  bytes task;
  bytes step;
};

/// Encodes a task. `answer`: the run's plain answer, which this task may take.
/// Errors: invalid_value when the task is too large.
result<task_bytes> encode_task(const detail::task_scope& task, const std::optional<value>& answer);

/// Reads a task on the worker. `step`: the shared facts of its step. Fills in `shared` as a run
/// that looks like the home's; its sink, saver and host stay as they are.
/// Errors: invalid_value; unknown_graph when the graph does not have the node.
result<task_ptr> decode_task(const task_order& order, const bytes& step, const remote_run& run,
                             std::shared_ptr<run_shared> shared);

/// A stream part as bytes, and back.
/// Errors: invalid_value for a part that is too large, or for bytes that are not a part.
result<bytes> encode_part(const stream_part& part);
result<stream_part> decode_part(const bytes& data);

/// Encodes the outcome of a task.
/// Errors: invalid_value when it is too large.
result<bytes> encode_outcome(detail::task_scope& task);
/// Fills an outcome in. Returns whether the plain answer is still unused. After an error `task` is
/// unchanged.
/// Errors: invalid_value, also for a write to a channel that the graph does not have.
result<bool> take_outcome(detail::task_scope& task, const bytes& data);

} // namespace troupe::cluster
