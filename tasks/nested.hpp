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
  std::uint32_t nth = 0; // of the graphs this attempt ran; it names the state
  bool spread = false;   // worth another thread
  value metadata;        // over the task's; may be null
};

/// How it ended.
struct nested_end {
  result<run_result> how;
  std::optional<command> upward = std::nullopt; // with parent_command: what is to be carried out
  state_update update = {}; // the output of a run within another one, in the order of its schema
};

/// Something a body waits for: set once by another thread.
class latch {
public:
  bool open() const noexcept { return open_.load(std::memory_order_acquire); }
  /// Opens it and tells who waits.
  void release();
  /// `then` runs at once when it is open, else when it opens, on the opening thread. One at most.
  void when_open(std::function<void()> then);
  /// Blocks.
  void wait();

private:
  std::mutex mutex_;
  std::condition_variable wake_;
  std::function<void()> then_;
  std::atomic<bool> open_{false};
};

/// What can run graphs. Outlives every run.
class nested_host {
public:
  virtual ~nested_host() = default;
  /// Starts it; `then` is called once, on whatever thread the run ended. The answer stops the run
  /// (which then ends with `cancelled`); calling it late does nothing.
  virtual std::function<void()> start(nested_run run, std::function<void(nested_end)> then) = 0;
  /// Runs it on the calling thread, which nobody else needs; the task's `stop_inner` stops it.
  virtual nested_end run_here(nested_run run) = 0;
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

/// A task that a body started: asked for with the coordinator, which runs it as a task of the same
/// step and fills in what came of it.
struct task_call {
  std::shared_ptr<const plan_node> node;
  value arguments;
  task_ptr caller;
  std::uint32_t index = 0; // of the calls of the caller's attempt
  latch ended;
  // once `ended`, one of:
  value returned;
  std::optional<error> failure;
  bool paused = false;
  std::vector<interrupt> questions;

  std::atomic<bool> taken{false}; // by the coordinator
  /// The message to the coordinator is gone; if it was not taken, the call ends here.
  void message_gone();
};

} // namespace detail

using task_call_ptr = std::shared_ptr<detail::task_call>;

/// The way from a body, on whatever thread, to the coordinator of its run.
class call_port {
public:
  virtual ~call_port() = default;
  virtual void call(task_call_ptr call) = 0;
};

} // namespace troupe
