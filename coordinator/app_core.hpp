// A loaded graph: its pool of groups, and the ways into it.
#pragma once

#include "coordinator/part_queue.hpp"
#include "coordinator/run_loop.hpp"
#include "coordinator/runtime_core.hpp"

#include <chrono>
#include <deque>
#include <memory>
#include <mutex>

namespace troupe {

class app_core : public std::enable_shared_from_this<app_core> {
public:
  app_core(runtime_core& runtime, const compiled_graph& graph);

  const std::shared_ptr<const graph_plan>& plan() const noexcept { return graph_.plan(); }
  const compiled_graph& graph() const noexcept { return graph_; }
  runtime_core& runtime() noexcept { return runtime_; }
  /// The saver its runs use, null for none.
  troupe::saver* saver() const noexcept;

  /// Checks the config and reads the thread: all a run starts with.
  /// Errors: invalid_config, storage codes.
  result<std::shared_ptr<run_request>> prepare(const run_input& input, const run_config& config,
                                               bool streamed);

  result<run_result> invoke(const run_input& input, const run_config& config);
  /// `then` runs when the run has ended, on the thread that ends it.
  result<std::shared_ptr<pending_run>> start(const run_input& input, const run_config& config,
                                             std::function<void()> then = {});

  run_group take_group(caf::execution_unit* unit);
  void give_group(run_group group);

  caf::actor handle();
  /// Ends the pooled groups and the handle; no run is on any more.
  void close();

private:
  void expire();
  void expire_later();

  runtime_core& runtime_;
  compiled_graph graph_;
  std::shared_ptr<const group_context> context_;
  std::mutex mutex_;
  struct idle_group {
    run_group group;
    std::chrono::steady_clock::time_point since;
  };
  std::deque<idle_group> idle_; // the longest idle first
  bool expiring_ = false;
  bool closed_ = false;
  caf::actor handle_;
};

/// The reader's side of a streamed run.
class part_source {
public:
  part_source(std::shared_ptr<app_core> app, const run_input& input, const run_config& config,
              const std::vector<stream_mode>& modes);
  ~part_source();

  result<std::optional<stream_part>> next();
  const run_result* outcome() const noexcept { return outcome_ ? &*outcome_ : nullptr; }
  std::vector<actor_info> actors() const;

private:
  void finish();

  std::shared_ptr<app_core> app_;
  lent_thread* unit_ = nullptr; // null when the run has ended
  run_group group_;
  std::shared_ptr<part_queue> queue_;
  std::shared_ptr<pending_run> completion_;
  std::deque<stream_part> batch_;
  std::optional<error> failure_;
  std::optional<run_result> outcome_;
};

/// The plain checks of a config; `stored`: whether a thread is needed.
result<void> check_config(const run_config& config, bool stored);

} // namespace troupe
