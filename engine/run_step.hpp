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

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace troupe {

/// A failure that is not the task's own: it ends the run, and the task runs again on resume.
bool ends_the_run(errc code) noexcept;

/// A member that few slots have: a pointer to it, as an optional.
template <class T> class seldom {
public:
  seldom() = default;
  template <std::convertible_to<T> U>
  seldom(U&& x) : at_{std::make_unique<T>(std::forward<U>(x))} {}
  seldom(std::optional<T> x) : at_{x ? std::make_unique<T>(*std::move(x)) : nullptr} {}
  explicit operator bool() const noexcept { return at_ != nullptr; }
  T& operator*() const noexcept { return *at_; }
  T* operator->() const noexcept { return at_.get(); }
  std::optional<T> copy() const { return at_ ? std::optional<T>{*at_} : std::nullopt; }
  void reset() noexcept { at_.reset(); }

private:
  std::unique_ptr<T> at_;
};

/// The origin of a task that a body started.
struct caller_facts {
  std::uint32_t number = 0; // the task's place among its caller's tasks, all attempts
  std::string path;         // of its caller
  std::string ns;           // of its caller
};

/// One task of the step. A large step has many: what few of them need is kept elsewhere.
struct step_slot {
  planned_task plan;
  const plan_node* node = nullptr;
  task_call_ptr call = nullptr;     // of a task that a body started
  seldom<caller_facts> caller = {}; // likewise
  std::uint32_t handles = no_index; // the slot whose failure it handles
  bool handled = false;             // it failed, and a handler took over
  bool ended = false;
  task_status status = task_status::done;
  task_ptr scope = nullptr; // null for a task that does not run now
  task_write_list writes = {};
  seldom<error> failure = {};
  std::vector<interrupt> questions = {};
  seldom<command> upward = {};
  seldom<std::string> worker = {}; // the worker that ran it; none: this process

  /// Back to the state of a new slot, but for the memory of its writes.
  void renew();

  /// Whether its end ends the run, and nothing of the task is stored.
  bool bubbles() const;
  /// Whether an error handler has to take over.
  bool wants_handler() const;
};

/// The slots of a step, as a vector. The first ones keep their memory from step to step.
class step_slots {
public:
  step_slot& add();
  void clear();
  void reserve(std::size_t count) { all_.reserve(count); }

  std::size_t size() const noexcept { return used_; }
  bool empty() const noexcept { return used_ == 0; }
  step_slot& operator[](std::size_t i) noexcept { return all_[i]; }
  const step_slot& operator[](std::size_t i) const noexcept { return all_[i]; }
  auto begin() noexcept { return all_.data(); }
  auto end() noexcept { return all_.data() + used_; }
  auto begin() const noexcept { return all_.data(); }
  auto end() const noexcept { return all_.data() + used_; }

private:
  static constexpr std::size_t kept_max = 128;
  std::vector<step_slot> all_;
  std::size_t used_ = 0;
};

/// The open step. A run clears it; the vectors keep their memory from step to step.
class run_step {
public:
  step_slots slots; // grows while the step is open
  std::size_t running = 0;
  std::size_t next = 0; // the first slot that was not looked at for launching
  std::size_t unfinished = 0;
  std::size_t unsettled = 0;          // channels that have not answered yet
  std::optional<error> refused;       // the first channel that refused its writes
  std::optional<thread_state> before; // durability exit: the state, in case the step is refused

  /// No step is open.
  void clear();
  /// A slot for each planned task, from which it takes what it needs.
  void plan(const graph_plan& graph, std::span<planned_task> tasks);
  /// Gives ids to the tasks that have none.
  void name(const plan_context& at, const graph_plan& graph);
  /// The slots are complete, and none is launched yet.
  void open() noexcept {
    next = running = unfinished = 0;
    asked_to_end_ = false;
  }

  step_slot& add() { return slots.add(); }
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

  /// Slots without those that bodies started, in the order in which their writes are applied. Valid
  /// until the step changes.
  const std::vector<const step_slot*>& in_task_order(const graph_plan& graph);
  const std::vector<applied_task>& applied(const graph_plan& graph);

  std::string path_of(const step_slot& s) const;
  void path_of(const step_slot& s, std::string& into) const; // in its memory
  std::string namespace_of(const step_slot& s, const std::string& run_ns) const;
  /// The workers that ran tasks of the step, by task id: a map, null without one, or with more
  /// than limits::metadata_workers_max.
  value workers() const;

private:
  bool asked_to_end_ = false;
  std::uint32_t named_ = 0;               // the first slots, so many, have ids
  std::vector<const step_slot*> ordered_; // scratch of in_task_order
  std::vector<applied_task> applied_;     // scratch of applied
};

} // namespace troupe
