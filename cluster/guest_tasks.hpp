// guest_tasks: runs the tasks of homes on a worker. Each runs in a node actor of the worker's
// runtime, and reaches the home's saver, store and readers through a task_link. Decides nothing:
// the admission chooses the tasks.
#pragma once

#include "cluster/remote_task.hpp"
#include "cluster/task_link.hpp"
#include "cluster/wire/protocol.hpp"

#include <memory>
#include <string>

namespace troupe {
class runtime_core;
struct group_card;
} // namespace troupe

namespace troupe::cluster {

/// A home's run, as its tasks on the worker see it.
using guest_run = std::shared_ptr<const remote_run>;

/// Hears about tasks. Thread: any.
class guest_listener {
public:
  virtual ~guest_listener() = default;
  /// Takes a message of a task for its home. The last one is a task_outcome or a task_refused. A
  /// refusal is `overloaded` when the task stopped at a step border, and `cancelled` when it was
  /// stopped and its body has ended.
  virtual void on_message(message what) = 0;
  /// Like on_message(), for the end of a body on a thread of the blocking lane. The thread is free,
  /// and start() may be called from here. Not called for a task that has sent a message before.
  virtual void on_body_end(message what) { on_message(std::move(what)); }
};

/// Runs tasks. Destroyed before its runtime. Thread: any.
class guest_tasks {
public:
  explicit guest_tasks(runtime_core& runtime);
  guest_tasks(const guest_tasks&) = delete;
  guest_tasks& operator=(const guest_tasks&) = delete;
  /// Stops all tasks. The runtime waits for their actors.
  ~guest_tasks();

  /// Runs a task. `gate` is asked before each of its bodies. `at_its_end`: the caller is a
  /// listener's ended(), whose thread runs this task next.
  /// Shape:  `order.issue` is unique here, over all homes.
  /// Errors: as decode_task; the task did not begin.
  result<void> start(const guest_run& run, const task_order& order, const bytes& step,
                     const std::shared_ptr<guest_listener>& listener,
                     std::shared_ptr<begin_gate> gate, bool at_its_end = false);

  /// Stops a task that its home does not wait for any more. From here on, only its end is sent.
  void stop(issue_number issue);
  /// Drains a run of a graph: it ends at its next step border. Other tasks run to their end. With
  /// `give_back` the run may resume elsewhere.
  void drain(issue_number issue, const std::string& why, bool give_back);
  /// Another task of the task's step failed: its body sees context::stop_requested().
  void step_failed(issue_number issue);

  /// Hands a home's message to its task. A message for an unknown task is dropped.
  void answered(save_answer answer);
  void answered(call_answer answer);
  void granted(const part_credit& credit);

  /// Sends a task_sign for each task with an idle time-out that showed progress since the last
  /// call.
  void send_signs();

private:
  struct seat;
  class task_table;

  std::shared_ptr<seat> seat_for(const std::string& node);
  void run_on_pool(task_ptr task, bool at_its_end);

  runtime_core& runtime_;
  std::shared_ptr<task_table> tasks_; // jobs and actors keep it
  const std::shared_ptr<group_card> group_;
};

} // namespace troupe::cluster
