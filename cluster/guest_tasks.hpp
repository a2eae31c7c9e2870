// The tasks a worker runs for its homes: each in a node actor of the worker's runtime, with the
// home's saver, store and readers behind a task_link. Decides nothing: whether a task is taken, and
// for whom, is the desk's.
#pragma once

#include "cluster/remote_task.hpp"
#include "cluster/task_link.hpp"
#include "cluster/wire/messages.hpp"

#include <caf/actor.hpp>

#include <functional>
#include <memory>

namespace troupe {
class runtime_core;
} // namespace troupe

namespace troupe::cluster {

/// A run of a home, as its tasks here see it.
using guest_run = std::shared_ptr<const remote_run>;

/// What hears of tasks, on any thread.
class guest_listener {
public:
  virtual ~guest_listener() = default;
  /// What a task has to say to its home, and at its end, once, its task_outcome, or a task_refused:
  /// `overloaded` when it was left at a step border, `cancelled` when it was stopped and its body
  /// ended.
  virtual void said(message what) = 0;
  /// As said(), of the end of a body on a thread of the blocking lane, which is free for another
  /// one: start() may be called from here. Not for a task that has said something before.
  virtual void ended(message what) { said(std::move(what)); }
};

/// Any thread may call. Ends before its runtime.
class guest_tasks {
public:
  explicit guest_tasks(runtime_core& runtime);
  guest_tasks(const guest_tasks&) = delete;
  guest_tasks& operator=(const guest_tasks&) = delete;
  /// Stops all tasks and waits until their actors are gone.
  ~guest_tasks();

  /// Runs a task. `gate`: asked before each of its bodies. `at_its_end`: the caller is a listener's
  /// ended(), and this is the task that its thread is free for. Shape:  `order.issue` is unique
  /// here, whatever home it is from. Errors: as decode_task: it was not begun.
  result<void> start(const guest_run& run, const task_order& order, const bytes& step,
                     const std::shared_ptr<guest_listener>& listener,
                     std::shared_ptr<begin_gate> gate, bool at_its_end = false);

  /// The home waits for it no more: it is told to end, and nothing of it is sent from here on but
  /// that it is gone.
  void stop(issue_number issue);
  /// It ends at its next step border, if it is a run of a graph; else it goes on to its end. With
  /// `give_back` it may go on elsewhere, else its run drains.
  void drain(issue_number issue, const std::string& why, bool give_back);

  /// What the home says to one of them; what belongs to none is dropped.
  void answered(save_answer answer);
  void answered(call_answer answer);
  void granted(const part_credit& credit);

  /// A task_sign for each task that showed a sign of life since the last time and has to.
  void send_signs();

private:
  class book;

  void run_on_pool(task_ptr task, bool at_its_end);

  runtime_core& runtime_;
  std::shared_ptr<book> book_; // outlives this in what is still on its way
  caf::actor host_;
};

} // namespace troupe::cluster
