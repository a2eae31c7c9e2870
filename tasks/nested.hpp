// Runs within a task: graphs as nodes, graphs a body calls, and the tasks a workflow starts.
#pragma once

#include "graph/graph_plan.hpp"

#include <troupe/runtime.hpp>

#include <atomic>
#include <condition_variable>
#include <coroutine>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

namespace troupe {

namespace detail {
struct task_scope;
} // namespace detail
using task_ptr = std::shared_ptr<detail::task_scope>;

/// A run of a graph as part of a task.
struct nested_run {
  std::shared_ptr<const graph_plan> graph;
  run_input input;
  task_ptr task;
  std::uint32_t nth = 0; // number among the graphs that this attempt ran; part of the state's name
  bool spread = false;   // long enough to be worth another thread
  value metadata;        // added over the task's metadata; may be null
};

/// The end of a nested run.
struct nested_end {
  result<run_result> how;
  std::optional<command> upward = std::nullopt; // with parent_command: the command to carry out
  state_update update = {}; // the output of a nested run, in the order of its schema
};

/// A latch that a body waits for: opened once by another thread.
class latch {
public:
  bool open() const noexcept { return open_.load(std::memory_order_acquire); }
  /// Opens the latch and wakes the waiting thread or coroutine.
  void release();
  /// `then` runs at once when the latch is open, else when it opens, on the opening thread. At most
  /// one call.
  void when_open(std::function<void()> then);
  /// Blocks until the latch is open.
  void wait();

private:
  std::mutex mutex_;
  std::condition_variable wake_;
  std::function<void()> then_;
  std::atomic<bool> open_{false};
};

/// Runs graphs within tasks. Outlives every run.
class nested_host {
public:
  virtual ~nested_host() = default;
  /// Starts the run; `then` is called once, on the thread on which the run ended. The returned
  /// function stops the run, which then ends with `cancelled`; a late call does nothing.
  virtual std::function<void()> start(nested_run run, std::function<void(nested_end)> then) = 0;
  /// Runs on the calling thread, which nothing else needs; the task's `stop_inner` stops the run.
  virtual nested_end run_here(nested_run run) = 0;
  /// Puts a new id for the checkpoint of this step in the place of a text. It sorts after `above`,
  /// an id as id_ticks() has it.
  /// Result: id_ticks() of the id.
  virtual std::uint64_t next_checkpoint_id(std::int64_t step, std::uint64_t above,
                                           std::string& into) = 0;
  /// Waits on a thread of the blocking lane, which gets another thread for that time.
  virtual void wait(latch& what) = 0;
};

namespace detail {

/// A graph that a body runs.
struct graph_call {
  nested_run run;
  latch ended;
  std::optional<nested_end> end; // once `ended`
};

/// A task that a body started. The coordinator runs it as a task of the same step and fills in its
/// result.
struct task_call {
  std::shared_ptr<const plan_node> node;
  value arguments;
  task_ptr caller;
  std::uint32_t index = 0; // number among the calls of the caller's attempt
  latch ended;
  // once `ended`, one of:
  value returned;
  std::optional<error> failure;
  bool paused = false;
  std::vector<interrupt> questions;

  std::atomic<bool> taken{false}; // the coordinator has taken the call
  /// Called when the message to the coordinator is destroyed. A call that was not taken ends here.
  void message_gone();
};

} // namespace detail

using task_call_ptr = std::shared_ptr<detail::task_call>;

/// The way from a body, on any thread, to the coordinator of its run.
class call_port {
public:
  virtual ~call_port() = default;
  virtual void call(task_call_ptr call) = 0;
};

} // namespace troupe
