// Running tasks in their lanes.
#include "actors/node_actor.hpp"

#include "actors/tell.hpp"

#include <caf/actor_cast.hpp>

namespace troupe {

namespace {

error pool_refused(const detail::task_scope& task) {
  return {errc::overloaded, "run node `" + task.node->name
                              + "`: the blocking lane takes no more jobs (blocking_queue_max), or "
                                "the runtime is stopping"};
}

} // namespace

node_actor::node_actor(caf::actor_config& cfg, services& services, card_ptr card,
                       caf::actor coordinator, card_ptr coordinator_card)
  : caf::event_based_actor(cfg),
    services_{services},
    card_{std::move(card)},
    coordinator_{std::move(coordinator)},
    coordinator_card_{std::move(coordinator_card)} {}

caf::behavior node_actor::make_behavior() {
  return {
    [this](run_task& order) {
      taken(*card_);
      start(std::move(order.task));
    },
    [this](body_done& done) {
      taken(*card_);
      finish(std::move(done.task));
    },
    [this](resume_body& wake) {
      taken(*card_);
      if (wake.body != body_)
        return;
      wake.at.resume();
      go_on();
    },
  };
}

caf::execution_unit* node_actor::home(const task_ptr& task) const {
  return task->run->home;
}

void node_actor::start(task_ptr task) {
  card_->running = true;
  if (task->node->body.coroutine)
    return start_coroutine(std::move(task));
  // A body that may wait for a slow reader must not hold a thread others need.
  if (task->node->lane == lane::blocking
      || (task->run->wants(stream_mode::custom) && task->node->body.plain))
    return start_blocking(std::move(task));
  run_body(*task);
  finish(std::move(task));
}

void node_actor::start_blocking(task_ptr task) {
  auto self = caf::actor_cast<caf::actor>(this);
  bool taken = services_.pool.submit([self, task, card = card_] {
    run_body(*task);
    tell(self, *card, task->run->home, body_done{task});
  });
  if (taken)
    return;
  task->status = task_status::failed;
  task->failure = pool_refused(*task);
  finish(std::move(task));
}

void node_actor::start_coroutine(task_ptr task) {
  task->sleep = [this](std::chrono::nanoseconds delay, std::coroutine_handle<> at) {
    sleep(delay, at);
  };
  task->blocking = [this](std::function<void()> job, std::coroutine_handle<> at) {
    block(std::move(job), at);
  };
  body_ = std::make_shared<running_body>(std::move(task));
  auto body = body_; // start_body may end in go_on's state
  start_body(*body->task, body->ctx, body->body);
  go_on();
}

void node_actor::go_on() {
  if (body_->body && !body_->body->done())
    return; // suspended: a timer or job will wake it
  auto body = std::move(body_);
  if (body->body)
    finish_body(*body->task, *body->body, body->ctx);
  body->body.reset();
  finish(std::move(body->task));
}

void node_actor::sleep(std::chrono::nanoseconds delay, std::coroutine_handle<> at) {
  auto when = timer::clock::now() + std::chrono::duration_cast<timer::clock::duration>(delay);
  services_.clock.at(when,
                     [self = caf::actor_cast<caf::actor>(this), card = card_, body = body_, at] {
                       tell(self, *card, body->task->run->home, resume_body{body, at});
                     });
}

void node_actor::block(std::function<void()> job, std::coroutine_handle<> at) {
  auto self = caf::actor_cast<caf::actor>(this);
  bool taken = services_.pool.submit([self, card = card_, body = body_, job, at] {
    job();
    tell(self, *card, body->task->run->home, resume_body{body, at});
  });
  if (!taken)
    throw pool_refused(*body_->task);
}

void node_actor::finish(task_ptr task) {
  card_->running = false;
  task->sleep = nullptr;
  task->blocking = nullptr;
  auto* host = home(task) ? home(task) : context();
  tell(coordinator_, *coordinator_card_, host, task_done{std::move(task)});
}

void node_actor::on_exit() {
  coordinator_ = nullptr;
  body_.reset();
  services_.actors.remove(*card_);
}

} // namespace troupe
