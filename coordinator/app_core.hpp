// app_core: a loaded graph with its pool of groups, and the ways to start runs of it.
#pragma once

#include "coordinator/runtime_core.hpp"
#include "engine/run_loop.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <vector>

namespace troupe {

class app_core : public std::enable_shared_from_this<app_core> {
public:
  app_core(runtime_core& runtime, const compiled_graph& graph);

  const std::shared_ptr<const graph_plan>& plan() const noexcept { return graph_.plan(); }
  const compiled_graph& graph() const noexcept { return graph_; }
  runtime_core& runtime() noexcept { return runtime_; }
  /// The saver of its runs; null without one.
  troupe::saver* saver() const noexcept;

  /// Checks the config and makes a request with everything but the thread's data.
  /// Errors: invalid_config.
  result<std::shared_ptr<run_request>> check(const run_input& input, const run_config& config,
                                             bool streamed);
  /// Ends the turn of a run that can't begin, and returns `why`.
  static error not_begun(const run_shared& run, error why);
  /// Whether the run's turn on its thread has come; otherwise it has to wait.
  /// Errors: as thread_turns::begin().
  result<bool> begin_turn(const run_request& request);
  /// Reads the thread. Called when the run's turn has come.
  /// Errors: storage codes.
  result<void> load(run_request& request);
  /// check() and load() for a run within a task, whose config is not checked again.
  result<std::shared_ptr<run_request>> prepare_within(const nested_run& run);

  result<run_result> invoke(const run_input& input, const run_config& config);
  /// Starts a run. `then` runs when the run has ended, on the thread that ends it.
  /// `sink`: the receiver of its parts; may be null.
  result<std::shared_ptr<pending_run>> start(const run_input& input, const run_config& config,
                                             std::function<void()> then = {},
                                             std::shared_ptr<part_sink> sink = nullptr);
  /// Starts a checked run. `told` gets its result before `then` runs.
  using end_listener = std::function<void(const result<run_result>&)>;
  result<std::shared_ptr<pending_run>> start(const std::shared_ptr<run_request>& request,
                                             std::function<void()> then, end_listener told = {});
  /// Resumes the run of config.thread_id, if `cut_off_from` still is its owner.
  /// Errors: also conflict.
  result<std::shared_ptr<pending_run>> go_on(const run_config& config, std::uint64_t cut_off_from);

  /// Runs within runs; see nested_host.
  std::function<void()> start_within(nested_run run, std::function<void(nested_end)> then);
  nested_end run_within(nested_run run);

  result<void> clear_cache(const std::vector<std::string>& nodes);

  /// A group without a run. `unit` resumes the actors of a new one.
  group_ptr take_group(caf::execution_unit* unit);
  /// A group whose `unit` is there for the thread that the caller lends.
  group_ptr take_lent_group();
  /// The run of the group leaves it. Afterwards the runtime may be gone.
  void give_group(const group_ptr& group);
  /// A run enters, and its control can cancel it: as runtime_core::enter().
  std::optional<std::uint64_t> enter(pending_run& run, const group_ptr& group,
                                     const run_shared& shared);
  /// After enter(): as give_group().
  void leave(pending_run& run, const group_ptr& group);

  /// Whether the runtime has ended, or is gone: a hint for late callers.
  bool stopped() const noexcept { return stopped_.load(std::memory_order_relaxed); }

  /// The graph actor; null when the runtime has ended.
  caf::actor handle();
  /// Ends the pooled groups and the graph actor. No run may be on any more.
  void close();

  /// Sends the group the message to begin. From then on the run can be interrupted.
  static void begin(const group_ptr& group, std::uint64_t number,
                    std::shared_ptr<run_request> request,
                    std::shared_ptr<run_completion> completion);

private:
  bool launch(std::shared_ptr<run_request> request, std::shared_ptr<pending_run> completion,
              std::function<void()> then);
  bool begin_in(strand* unit, std::shared_ptr<run_request> request,
                const std::shared_ptr<pending_run>& completion, const std::function<void()>& then);
  std::function<void()> begin_within(std::shared_ptr<run_request> request, strand* own,
                                     std::function<void(nested_end)> then);
  group_ptr idle_group();
  /// The graph's own, else the runtime's; null without one. That of a graph around it is not its
  /// own. Source: langgraph/pregel/main.py, Pregel._defaults.
  node_cache* cache() const;
  result<void> load_here(run_request& request);
  void start_later(std::shared_ptr<run_request> request, std::shared_ptr<pending_run> completion,
                   std::function<void()> then);

  void expire();
  void expire_later();

  runtime_core& runtime_;
  compiled_graph graph_;
  std::shared_ptr<const group_context> context_;
  std::mutex mutex_;
  std::vector<group_ptr> idle_; // the longest idle first
  std::size_t long_idle_ = 0;   // how many of them are idle since expire() looked
  bool expiring_ = false;
  std::atomic<bool> stopped_{false}; // when true, runtime_ must not be touched
  caf::actor handle_;
  std::shared_ptr<saver_link> own_saver_; // set for a graph with a saver of its own
};

/// The error of a call on an app whose runtime has ended.
error runtime_is_gone();
/// That a graph of checkpointing::per_thread is run by itself.
error per_thread_needs_parent();

/// Checks the config alone; `stored`: whether a thread is needed.
result<void> check_config(const run_config& config, bool stored);

} // namespace troupe
