// run_step: the open step of a run, its tasks as slots, and their order. Pure.
//
// Invariants:
//  - A slot keeps its place while the step is open; new ones come last.
//  - `unfinished` counts the slots that run or wait for their turn, `running` those that hold a
//  place
//    of run_config::max_concurrency.
#pragma once

#include "engine/apply.hpp"
#include "tasks/task_scope.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// A failure that is not the task's own: it ends the run, and the task runs again on resume.
bool ends_the_run(errc code) noexcept;

/// One task of the step.
struct step_slot {
  planned_task plan;
  const plan_node* node = nullptr;
  task_call_ptr call = nullptr;     // of a task that a body started
  std::uint32_t call_number = 0;    // likewise: its place among its caller's tasks, all attempts
  std::string caller_path = {};     // likewise: the path of its caller
  std::string caller_ns = {};       // and its namespace
  std::uint32_t handles = no_index; // the slot whose failure it handles
  bool handled = false;             // it failed, and a handler took over
  task_ptr scope = nullptr;         // null for a task that has its writes already
  task_write_list writes = {};
  bool ended = false;
  task_status status = task_status::done;
  std::optional<error> failure = std::nullopt;
  std::vector<interrupt> questions = {};
  std::optional<command> upward = std::nullopt;
  std::string worker = {}; // the worker that ran it; empty: this process

  /// Whether its end ends the run, and nothing of the task is stored.
  bool bubbles() const;
  /// Whether an error handler has to take over.
  bool wants_handler() const;
};

/// The open step. A run clears it; the vectors keep their memory from step to step.
class run_step {
public:
  std::vector<step_slot> slots; // grows while the step is open
  std::size_t running = 0;
  std::size_t next = 0; // the first slot that was not looked at for launching
  std::size_t unfinished = 0;
  std::size_t unsettled = 0;          // channels that have not answered yet
  std::optional<error> refused;       // the first channel that refused its writes
  std::optional<thread_state> before; // durability exit: the state, in case the step is refused

  /// No step is open.
  void clear();
  /// A slot for each planned task.
  void plan(const graph_plan& graph, std::vector<planned_task> tasks);
  /// The slots are complete, and none is launched yet.
  void open() noexcept {
    next = running = unfinished = 0;
    asked_to_end_ = false;
  }

  step_slot& add();
  /// The slot that may begin next, or null. Places are bounded by `bound`.
  step_slot* launch(std::size_t bound);
  /// Tasks that wait for their turn do not begin.
  void leave_rest();
  /// Asks the bodies that run to return, because the step has failed. True the first time.
  bool ask_to_end();
  bool asked_to_end() const noexcept { return asked_to_end_; }

  /// The failure that decides about the step, or null. A command for the graph further out decides
  /// only where no task failed.
  const step_slot* failed() const;
  /// The node of two tasks that would share one stored state: a graph with
  /// checkpointing::per_thread. Null without one.
  const plan_node* shared_state() const;
  bool paused() const;
  /// Whether a task of the step is done; tasks that bodies started do not count.
  bool has_done() const;
  /// The questions of the step in the order of its slots, not of their arrival.
  std::vector<interrupt> questions() const;
  /// The names of the slots that are still to run: each one that has not ended.
  std::vector<std::string> waiting_nodes() const;
  /// The nodes that asked, in task order; a handler counts as the node whose failure it handles.
  std::vector<std::string> asking_nodes(const graph_plan& graph);
  std::vector<planned_task> planned() const;
  /// The tasks of the step without those that bodies started.
  std::vector<planned_task> ran() const;

  /// Slots in the order in which their writes are applied. Valid until the step changes.
  const std::vector<const step_slot*>& in_task_order(const graph_plan& graph);
  const std::vector<applied_task>& applied(const graph_plan& graph);

  std::string path_of(const step_slot& s) const;
  std::string namespace_of(const step_slot& s, const std::string& run_ns) const;
  /// The workers that ran tasks of the step, by task id: a map, null without one, or with more
  /// than limits::metadata_workers_max.
  value workers() const;

private:
  bool asked_to_end_ = false;
  std::vector<const step_slot*> ordered_; // scratch of in_task_order
  std::vector<applied_task> applied_;     // scratch of applied
};

} // namespace troupe
