// One attempt at a task: what its body is given, and what came of it. Passed by pointer between the
// coordinator and a node actor; only one of them works on it at a time.
#pragma once

#include "actors/run_shared.hpp"
#include "channels/channel.hpp"
#include "graph/task_write.hpp"

#include <troupe/body_exit.hpp>
#include <troupe/context.hpp>

#include <chrono>
#include <coroutine>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

/// How a task ended.
enum class task_status : std::uint8_t { done, failed, interrupted, parent_command };

/// What carries a coroutine body while it waits.
class body_host {
public:
  virtual void sleep(std::chrono::nanoseconds delay, std::coroutine_handle<> at) = 0;
  virtual void block(std::function<void()> job, std::coroutine_handle<> at) = 0;
  /// What resumes the body at `at`, from any thread. A waker keeps the body; a soft one does not,
  /// and does nothing when the body is gone.
  virtual std::function<void()> waker(std::coroutine_handle<> at) = 0;
  virtual std::function<void()> soft_waker(std::coroutine_handle<> at) = 0;

protected:
  ~body_host() = default;
};

namespace detail {

struct task_scope : std::enable_shared_from_this<task_scope> {
  // -- given by the coordinator
  std::shared_ptr<run_shared> run;
  const plan_node* node = nullptr;
  node_index index = no_index; // of the node; no_index for a task that a body started
  std::uint32_t slot = 0;      // of the step's task list
  std::string id;
  std::string ns;            // NODE:ID, with the namespaces above it
  std::string checkpoint_ns; // of the graph it belongs to; of a started task, its caller's ns
  std::uint64_t epoch = 0;   // of the coordinator's steps: a late answer carries an old one
  std::int64_t step = 0;     // super-steps, from -1
  std::int64_t stop = 0;     // the step the recursion limit ends at
  std::uint32_t child = 0;   // which of the node's actors runs it
  bool spread = false;       // of a graph: worth another thread
  bool sent = false;         // started by a send
  bool for_home = false;     // of another process, which decides about its attempts and time
  state_view input;
  value whole; // the input as stream modes show it; only when they are read
  // What routes and context::graph_state() read, frozen.
  std::vector<std::pair<channel_index, channel_cell>> route_cells;
  value metadata;
  std::vector<value> answers; // to its questions, in order
  timeout_policy timeout;
  std::shared_ptr<const task_failure> handled; // of an error handler: what failed
  value previous;                              // of an entrypoint: what the last run saved
  task_call_ptr call;                          // of a started task
  std::vector<std::string> input_order; // START: the keys of the input in its order; may be empty

  // -- of this attempt
  std::uint32_t attempt = 1;
  bool may_block = false;                                // runs on a thread nobody else needs
  std::atomic<bool> given_up{false};                     // timed out: what it does counts no more
  std::chrono::system_clock::time_point first_attempt{}; // if it may be tried again
  std::chrono::steady_clock::time_point began{};
  std::int64_t started_ns = 0;              // steady clock; of attempts with a time-out
  body_host* host = nullptr;                // of a coroutine body
  std::atomic<std::int64_t> progress_ns{0}; // steady clock, of the last sign of life

  // -- filled in by the body's run
  task_status status = task_status::done;
  std::atomic<bool> left_to_ask{false}; // something was thrown that must leave the body
  std::uint32_t graphs = 0;             // graphs run so far
  std::uint32_t calls = 0;              // tasks started so far
  task_write_list writes;
  task_write_list early; // made before the body's end (push_message)
  std::optional<error> failure;
  std::vector<interrupt> questions; // of an interrupted task; none: a breakpoint further in
  std::optional<command> upward;    // of a parent_command
  std::size_t asked = 0;            // questions asked so far
  std::size_t answered = 0;         // of them answered: as many answers are stored
  std::chrono::nanoseconds took{0};
  std::string worker; // whose process it ran in; empty: this one

  /// Whether what the body does still counts.
  bool over() const noexcept { return given_up.load(std::memory_order_relaxed) || run->given_up(); }
  void sign_of_life() noexcept;

  /// What ends the graph the body runs right now; from any thread.
  void inner_runs(std::function<void()> stop);
  void stop_inner();

  /// The same for what `who` waits for; any number at once. Called once at most.
  void when_given_up(const void* who, std::function<void()> stop);
  void forget(const void* who);

private:
  std::mutex mutex_;
  std::function<void()> stop_inner_;
  std::vector<std::pair<const void*, std::function<void()>>> stops_;
};

// A step allocates one for each task. What glibc's malloc gives from 1,024 bytes on, its own
// included, it looks for in other lists, which takes 200 to 450 instructions longer.
static_assert(sizeof(void*) != 8 || sizeof(task_scope) <= 1024 - 40);

/// The one map with the members of the other over its own. Shape: null is a map without members.
value metadata_over(const value& below, const value& above);
/// What a task of the node says of itself: the graph's metadata, over it the run's and the node's.
value task_metadata(const value& of_run, const graph_plan& plan, const plan_node& node);

} // namespace detail

/// While it lives, this thread is the pool's and works for `task`: the task may wait on it.
class blocking_job_of {
public:
  explicit blocking_job_of(const detail::task_scope& task) noexcept;
  ~blocking_job_of();
  blocking_job_of(const blocking_job_of&) = delete;
  blocking_job_of& operator=(const blocking_job_of&) = delete;

private:
  const detail::task_scope* outer_;
};
/// Whether what the body of `task` does on this thread may wait for a graph or task.
bool may_wait(const detail::task_scope& task) noexcept;

/// Streams a part that the body of `task` made. Blocks while the reader lags and, where the body
/// may wait, while many parts are held back.
void stream_from_body(const detail::task_scope& task, stream_part part);

/// The attempt that follows a failed one.
task_ptr next_attempt(const detail::task_scope& failed);

/// Leaves a body whose question has no answer yet, or a graph or task within it. Not a
/// std::exception, so that a body's own `catch (const std::exception&)` lets it pass. Caught by
/// run_body alone.
struct node_interrupted : detail::body_exit {
  std::vector<interrupt> questions;
};

/// Throws it, and keeps in mind that the body was left: one that returns nevertheless has failed.
[[noreturn]] void leave_to_ask(detail::task_scope& task, std::vector<interrupt> questions);

/// Leaves a body with a command for a graph further out. As above.
struct upward_command : detail::body_exit {
  command what;
};

/// Whether its body belongs on a thread of the pool: it says so, or may wait for a slow reader, or
/// its actor has to notice that time is up.
bool needs_pool(const detail::task_scope& task) noexcept;

/// What a task failed with whose body the pool did not take.
error pool_refused(const detail::task_scope& task);

/// Runs a plain body to its end, with its routes, and fills in what came of it. Never throws.
void run_body(detail::task_scope& task);

/// The two halves around a coroutine body: puts it into `body` and runs it to its first suspension
/// (`body` stays empty when it could not be made); and takes its result when it is done. Never
/// throw.
void start_body(detail::task_scope& task, context& ctx, std::optional<coro<node_output>>& body);
void finish_body(detail::task_scope& task, coro<node_output>& body, context& ctx);

/// What a graph within a body came to, or leaves the body with what it ended with instead.
/// Errors: throws upward_command, node_interrupted, or the run's error.
const run_result& result_of(detail::task_scope& task, nested_end& end);

/// Fills in what a graph that was the whole of the task came to. Never throws.
void finish_graph(detail::task_scope& task, nested_end end);

/// The writes a node's output stands for: its update, its gotos, its edges, then its routes.
/// Errors: throws invalid_update, missing_key, upward_command, or what a route throws.
/// Source: langgraph/graph/state.py, attach_node.
task_write_list map_output(detail::task_scope& task, const node_output& output, context& ctx);

/// Whether a command that came out of a graph within this task is for the graph of the task.
bool sent_here(const detail::task_scope& task, const command& c);

/// Streams the messages in what a node returned, where somebody reads them; those without an id get
/// one. Source: langgraph/pregel/_messages.py, on_chain_end.
void stream_messages_of(detail::task_scope& task, node_output& output);

} // namespace troupe
