// A task that runs elsewhere: what its home sends of it, and what comes back.
//
// What crosses is what a body can see and what a run within it starts from. Not: the home's saver
// and store (remote_saver.hpp), its readers, and everything that is decided about the task, not by
// it (its attempts, its cache, its place among the step's tasks).
#pragma once

#include "cluster/wire/messages.hpp"
#include "tasks/task_scope.hpp"

#include <memory>
#include <vector>

namespace troupe::cluster {

/// What the tasks of one run have in common; the same for all of them, as long as it goes on.
/// Errors: invalid_value when it is too large.
result<bytes> encode_run(const run_shared& run);

/// On the worker: the run as its tasks there see it. Without saver, store, sink and host.
struct remote_run {
  std::shared_ptr<const graph_plan> plan;
  run_config config;
  std::string ns;
  value parents;
  value addressed;
  value answers;
  std::optional<std::string> replays_before;
  bool stored = false;
  std::uint32_t modes = 0; // bit n: somebody reads the stream mode n
};
/// Errors: invalid_value.
result<remote_run> decode_run(const bytes& facts, std::shared_ptr<const graph_plan> plan);

/// A task, and what it shares with the others of its step.
struct task_bytes {
  bytes task;
  bytes step;
};

/// `answer`: the run's plain answer, which this task may take.
/// Errors: invalid_value when it is too large.
result<task_bytes> encode_task(const detail::task_scope& task, const std::optional<value>& answer);

/// The task on the worker; `step`: of its step. `shared` becomes a run of its own that looks like
/// the home's; what the worker adds (sink, saver, host) is left as it is. Errors: invalid_value;
/// unknown_graph when the graph has no such node.
result<task_ptr> decode_task(const task_order& order, const bytes& step, const remote_run& run,
                             std::shared_ptr<run_shared> shared);

/// A stream part.
/// Errors: invalid_value: too large; of what is read, not one.
result<bytes> encode_part(const stream_part& part);
result<stream_part> decode_part(const bytes& data);

/// What came of it.
/// Errors: invalid_value when it is too large.
result<bytes> encode_outcome(detail::task_scope& task);
/// Fills it in; `task` is as before when the bytes are wrong. Result: whether the plain answer is
/// left.
/// Errors: invalid_value, also for a write to a channel that the graph does not have.
result<bool> take_outcome(detail::task_scope& task, const bytes& data);

} // namespace troupe::cluster
