// node_actor: runs the tasks of one node, one at a time. A body runs in the lane that it asks for,
// as often as the node's retry policy allows.
//
// Invariants:
//  - every run_task is answered by exactly one task_done, or the actor dies and its monitor reports
//    that.
//  - a body runs on this actor's turn (standard, coroutine) or on the pool (blocking), never on two
//    threads at once.
//  - a message from an attempt that is not `current_` any more (timed out or abandoned) is dropped.
//  - the frame of a coroutine body outlives a job it waits for, even when the actor is gone.
#pragma once

#include "actors/protocol.hpp"
#include "actors/services.hpp"

#include <caf/event_based_actor.hpp>

#include <functional>

namespace troupe {

/// A coroutine body in flight. Shared with the pool job or timer it waits for.
struct suspended_body {
  task_ptr task;
  context ctx;
  std::optional<coro<node_output>> body;
  explicit suspended_body(task_ptr t) : task{std::move(t)}, ctx{*task} {}
};

class node_actor : public caf::event_based_actor, private body_host {
public:
  node_actor(caf::actor_config& cfg, services& services, card_ptr card, caf::actor coordinator,
             card_ptr coordinator_card);
  /// Without a coordinator: each task_done is a call of `taker` instead, in this actor's turn.
  node_actor(caf::actor_config& cfg, services& services, card_ptr card,
             std::function<void(task_ptr)> taker);
  const char* name() const override { return "troupe.node"; }
  caf::behavior make_behavior() override;
  void on_exit() override;

private:
  void start(task_ptr task);
  void run_here(task_ptr task);
  void run_elsewhere(task_ptr task);
  void start_blocking(task_ptr task);
  void start_coroutine(task_ptr task);
  void start_graph(task_ptr task);
  void go_on();
  void ended(task_ptr task);
  bool admit(const task_ptr& task);
  void again_after(std::chrono::nanoseconds delay);
  void answer(task_ptr task);
  void abandon(error why);
  void count_time(const task_ptr& task);
  void arm(const task_ptr& task, std::chrono::nanoseconds delay);
  void check_time(const task_ptr& task);
  caf::execution_unit* home(const task_ptr& task) const;

  // body_host
  void sleep(std::chrono::nanoseconds delay, std::coroutine_handle<> at) override;
  void block(std::function<void()> job, std::coroutine_handle<> at) override;
  std::function<void()> waker(std::coroutine_handle<> at) override;
  std::function<void()> soft_waker(std::coroutine_handle<> at) override;

  services& services_;
  card_ptr card_;
  caf::actor coordinator_;
  card_ptr coordinator_card_;
  std::function<void(task_ptr)> taker_;
  task_ptr current_; // the attempt that counts
  std::shared_ptr<suspended_body> body_;
};

} // namespace troupe
