// task_scope: one attempt at a task, with the input of its body and the result. Passed by pointer
// between the coordinator and a node actor; only one of them works on it at a time.
#pragma once

#include "channels/channel.hpp"
#include "graph/task_write.hpp"
#include "tasks/run_shared.hpp"

#include <troupe/body_exit.hpp>
#include <troupe/context.hpp>

#include <atomic>
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

/// The host of a coroutine body while the body waits.
class body_host {
public:
  virtual void sleep(std::chrono::nanoseconds delay, std::coroutine_handle<> at) = 0;
  virtual void block(std::function<void()> job, std::coroutine_handle<> at) = 0;
  /// A function that resumes the body at `at`, from any thread. A waker keeps the body alive; a
  /// soft waker does not, and does nothing when the body is gone.
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
  node_index index = no_index;  // of the node; no_index for a task that a body started
  std::uint32_t slot = 0;       // of the step's task list
  std::uint64_t epoch = 0;      // the coordinator's step; a late answer has an old epoch
  std::int64_t step = 0;        // super-steps, from -1
  std::int64_t stop = 0;        // the step at which the recursion limit ends the run
  std::uint32_t child = 0;      // which of the node's actors runs it
  std::uint32_t sent_index = 0; // the place of the send that started it
  state_view input;
  value whole; // the input as stream modes show it; set only when one is read
  // The cells that routes and context::graph_state() read, frozen.
  std::vector<std::pair<channel_index, channel_cell>> route_cells;
  value metadata;
  std::vector<value> answers; // to its questions, in order
  timeout_policy timeout;
  std::shared_ptr<const task_failure> handled; // for an error handler: the failure it handles
  value previous;                       // for an entrypoint: the value that the last run saved
  task_call_ptr call;                   // set for a started task
  std::vector<std::string> input_order; // START: the keys of the input in its order; may be empty
  bool spread = false;                  // a graph that is long enough to be worth another thread
  bool sent = false;                    // started by a send
  bool for_home = false; // of another process, which decides about attempts and time-outs

  // -- of this attempt
  std::uint32_t attempt = 1;
  bool may_block = false;                                // runs on a thread that nothing else needs
  bool admitted = false;                                 // it has its place in the node's rate
  std::atomic<bool> given_up{false};                     // timed out: further effects do not count
  std::atomic<bool> learned_to_end{false};               // its body knows that, and may stop early
  std::atomic<bool> should_end{false};                   // another task of the step failed for good
  std::chrono::system_clock::time_point first_attempt{}; // set when the task may be retried
  std::chrono::steady_clock::time_point began{};
  std::int64_t started_ns = 0;              // steady clock; set for attempts with a time-out
  body_host* host = nullptr;                // set for a coroutine body
  std::atomic<std::int64_t> progress_ns{0}; // steady clock, of the last sign of life

  // -- identity: made when somebody asks, since most tasks without a saver are never asked

  /// Its id, and its namespace: NODE:ID, with the namespaces above it. Thread: any.
  const std::string& id() const;
  const std::string& ns() const;
  /// The namespace of its graph; for a started task, its caller's ns().
  const std::string& checkpoint_ns() const noexcept {
    return checkpoint_ns_.empty() ? run->ns : checkpoint_ns_;
  }
  /// Sets what is known already, before other threads know the task.
  /// Shape:  an empty `ns` follows from the id and checkpoint_ns(), an empty `checkpoint_ns` is the
  ///         run's.
  void identify(std::string_view id, std::string ns);
  void set_checkpoint_ns(std::string checkpoint_ns) { checkpoint_ns_ = std::move(checkpoint_ns); }

  /// Back to the state of a new scope, but for the run and the memory of its lists. Only for the
  /// owner of the last reference.
  void renew();

  // -- filled in by the body's run
  task_status status = task_status::done;
  std::atomic<bool> left_to_ask{false}; // an exception was thrown that must leave the body
  std::uint32_t graphs = 0;             // graphs run so far
  std::uint32_t calls = 0;              // tasks started so far
  task_write_list writes;
  task_write_list early; // writes made before the body's end (push_message)
  std::optional<error> failure;
  std::vector<interrupt> questions; // of an interrupted task; empty for a breakpoint further in
  std::optional<command> upward;    // of a parent_command
  std::size_t asked = 0;            // questions asked so far
  std::size_t answered = 0;         // how many of them were answered; as many answers are stored
  std::chrono::nanoseconds took{0};
  std::string worker; // the worker it ran on; empty: this process

  /// Whether the body's effects no longer count.
  bool over() const noexcept { return given_up.load(std::memory_order_relaxed) || run->given_up(); }
  void sign_of_life() noexcept;

  /// Sets the function that ends the graph which the body runs now; stop_inner() calls it, from any
  /// thread.
  void inner_runs(std::function<void()> stop);
  void stop_inner();

  /// Adds the function that ends what `who` waits for; any number may be set. Each is called at
  /// most once.
  void when_given_up(const void* who, std::function<void()> stop);
  void forget(const void* who);

private:
  mutable std::mutex mutex_;
  mutable std::string id_; // empty: not made yet
  mutable std::string ns_; // likewise
  std::string checkpoint_ns_;
  std::function<void()> stop_inner_;
  std::vector<std::pair<const void*, std::function<void()>>> stops_;
};

// A step allocates one for each task. From 1,024 bytes on, its own header included, glibc's malloc
// searches other lists, which takes 200 to 450 instructions longer.
static_assert(sizeof(void*) != 8 || sizeof(task_scope) <= 1024 - 40);

/// The map `below` with the members of `above` over its own. Shape: null is a map without members.
value metadata_over(const value& below, const value& above);
/// The metadata of a task of the node: the graph's, over it the run's and the node's.
value task_metadata(const value& of_run, const graph_plan& plan, const plan_node& node);

} // namespace detail

/// During its lifetime, this thread is the pool's and works for `task`, which may wait on it.
class blocking_job_of {
public:
  explicit blocking_job_of(const detail::task_scope& task) noexcept;
  ~blocking_job_of();
  blocking_job_of(const blocking_job_of&) = delete;
  blocking_job_of& operator=(const blocking_job_of&) = delete;

private:
  const detail::task_scope* outer_;
};
/// Whether the body of `task` may wait for a graph or task on this thread.
bool may_wait(const detail::task_scope& task) noexcept;

/// Streams a part that the body of `task` made. Blocks while the reader lags and, where the body
/// may wait, while many parts are held back.
void stream_from_body(const detail::task_scope& task, stream_part part);

/// The attempt that follows a failed one.
task_ptr next_attempt(const detail::task_scope& failed);

} // namespace troupe
