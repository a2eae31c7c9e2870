// The protocol between the actors of a process, on one page. These messages never leave it: they
// carry pointers. Messages between processes are in troupe/actor.hpp.
//
//   caller        ── begin_run ──▶ run_actor        ◀── stop_run ── runtime
//   run_actor     ── run_task ───▶ node_actor       ── task_done ───▶ run_actor
//   blocking pool ── body_done ──▶ node_actor       ◀── resume_body ── pool, timer
//   subgraph      ── graph_ended ▶ node_actor       ◀── attempt_deadline ── timer
//   run_actor     ── abandon_task ▶ node_actor      ◀── attempt_begun ── task_placer
//   body          ── start_call ─▶ run_actor
//   run_actor     ── apply_writes ▶ channel_actor   ── channel_updated ▶ run_actor
//   run_actor     ── save_order ─▶ saver_actor      ── save_done ───▶ run_actor
//   timer         ── step_deadline ▶ run_actor    ◀── next_turn ── run_actor
#pragma once

#include "tasks/task_scope.hpp"

#include <caf/actor.hpp>
#include <caf/allowed_unsafe_message_type.hpp>

#include <chrono>
#include <coroutine>
#include <memory>
#include <optional>
#include <vector>

namespace troupe {

struct run_request;
class run_completion;
struct actor_card;
struct suspended_body;

/// Start a run. Sent by the owner of the group, never while a run of the group is on.
struct begin_run {
  std::shared_ptr<run_request> request;
  std::shared_ptr<run_completion> completion;
  std::uint64_t run = 0; // its number in the group, from 1
};

/// End the run with this number now, if it is still on; it may not have begun. Its owner gets the
/// reason.
struct stop_run {
  std::uint64_t run = 0;
  error why;
};

/// Run a task once and send it back as task_done.
struct run_task {
  task_ptr task;
};

/// The task ran; its result is in it.
struct task_done {
  task_ptr task;
};

/// A plain body ended on the blocking pool, or any body in another process.
struct body_done {
  task_ptr task;
};

/// A suspended coroutine body can continue: what it waited for has happened.
struct resume_body {
  std::shared_ptr<suspended_body> body;
  std::coroutine_handle<> at;
};

/// The graph that is a node has ended.
struct graph_ended {
  task_ptr task;
  nested_end end;
};

/// An attempt in another process was begun there, perhaps again: its time counts from now.
struct attempt_begun {
  task_ptr task;
};
/// An attempt may have run out of time.
struct attempt_deadline {
  task_ptr task;
};

/// The task is not waited for any more.
struct abandon_task {
  std::string task_id;
  std::uint64_t epoch = 0;
};

/// A body started a task. A body may outlive the actors of its run: when no actor takes this
/// message, `gone` ends the call.
struct start_call {
  task_call_ptr call;
  std::shared_ptr<void> gone;
};

/// Apply the writes of a step to a channel; `base` first replaces its contents.
struct apply_writes {
  std::uint64_t epoch = 0; // of the coordinator; the answer carries it back
  std::optional<channel_cell> base;
  std::vector<value> writes; // in task order; empty: the step wrote other channels only
};

/// The channel's contents now, or the error with which it refused.
struct channel_updated {
  std::uint64_t epoch = 0;
  channel_index channel = no_index;
  channel_cell cell;
  bool changed = false;
  std::optional<error> refused;
  std::chrono::nanoseconds took{0};
};

/// Store, in the order of these messages.
struct save_order {
  std::shared_ptr<save_request> request;
  save_ack when = save_ack::accepted;
  std::uint64_t ticket = 0; // the answer carries it back
  caf::actor reply_to;
  std::shared_ptr<actor_card> reply_card;
  caf::execution_unit* home = nullptr; // the unit that resumes the answer's receiver
  std::shared_ptr<held_claim> claim;   // the run's; may be null
};

struct save_done {
  std::uint64_t ticket = 0;
  std::optional<error> failure;
};

/// The step with this epoch ran out of time.
struct step_deadline {
  std::uint64_t epoch = 0;
};

/// Other messages had their turn: launch more tasks.
struct next_turn {};

/// The run with this number ran out of time.
struct run_deadline {
  std::uint64_t run = 0;
};

} // namespace troupe

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::begin_run)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::stop_run)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::run_task)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::task_done)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::body_done)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::resume_body)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::apply_writes)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::channel_updated)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::save_order)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::save_done)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::step_deadline)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::graph_ended)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::attempt_begun)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::attempt_deadline)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::abandon_task)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::start_call)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::run_deadline)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::next_turn)
