// node_actor: running tasks in their lanes, with retries and time-outs.
#include "actors/node_actor.hpp"

#include "actors/task_placer.hpp"
#include "actors/tell.hpp"
#include "graph/node_guard.hpp"
#include "tasks/attempts.hpp"
#include "tasks/execute_body.hpp"

#include <caf/actor_cast.hpp>

#include <atomic>
#include <random>

namespace troupe {

namespace {

using std::chrono::nanoseconds;
using std::chrono::steady_clock;

double draw() {
  thread_local std::minstd_rand random{std::random_device{}()};
  return std::uniform_real_distribution<double>{0.0, 1.0}(random);
}

std::int64_t now_ns() {
  return steady_clock::now().time_since_epoch().count();
}

bool tries_again(const retry_policy& policy) {
  return policy.max_attempts > 1 || !policy.otherwise.empty();
}

} // namespace

node_actor::node_actor(caf::actor_config& cfg, services& services, card_ptr card,
                       caf::actor coordinator, card_ptr coordinator_card)
  : caf::event_based_actor(cfg),
    services_{services},
    card_{std::move(card)},
    coordinator_{std::move(coordinator)},
    coordinator_card_{std::move(coordinator_card)} {}

node_actor::node_actor(caf::actor_config& cfg, services& services, card_ptr card,
                       std::function<void(task_ptr)> taker)
  : caf::event_based_actor(cfg),
    services_{services},
    card_{std::move(card)},
    taker_{std::move(taker)} {}

caf::behavior node_actor::make_behavior() {
  return {
    [this](run_task& order) {
      taken(*card_);
      if (!order.task->given_up) // it was while it waited for its time
        start(std::move(order.task));
    },
    [this](body_done& done) {
      taken(*card_);
      if (done.task == current_)
        ended(std::move(done.task));
    },
    [this](resume_body& wake) {
      taken(*card_);
      if (wake.body != body_)
        return;
      wake.at.resume();
      go_on();
    },
    [this](graph_ended& done) {
      taken(*card_);
      if (done.task != current_)
        return;
      finish_graph(*done.task, std::move(done.end));
      done.task->took = steady_clock::now() - done.task->began;
      ended(std::move(done.task));
    },
    [this](attempt_begun& news) {
      taken(*card_);
      if (news.task == current_)
        count_time(news.task);
    },
    [this](attempt_deadline& deadline) {
      taken(*card_);
      check_time(deadline.task);
    },
    [this](abandon_task& order) {
      taken(*card_);
      if (current_ && current_->id() == order.task_id && current_->epoch == order.epoch)
        abandon({errc::cancelled, "node `" + current_->node->name + "`: the run was given up"});
    },
  };
}

caf::execution_unit* node_actor::home(const task_ptr& task) const {
  return task->run->home;
}

void node_actor::start(task_ptr task) {
  card_->running.store(true, std::memory_order_relaxed);
  current_ = task;
  if (task->for_home)
    return run_here(std::move(task));
  if (!admit(task))
    return;
  if (task->attempt == 1 && tries_again(task->node->settings->retry)) // without retries the time is
                                                                      // computed when asked for
    task->first_attempt = std::chrono::system_clock::now();
  if (services_.elsewhere && !task->node->settings->placement.local() && !task->call)
    return run_elsewhere(std::move(task));
  if (task->timeout.given())
    count_time(task);
  run_here(std::move(task));
}

// Whether the attempt begins now. Else it comes again at its time, or has failed.
bool node_actor::admit(const task_ptr& task) {
  const auto& guard = task->node->settings->guard;
  if (!guard)
    return true;
  auto now = steady_clock::now();
  if (!std::exchange(task->admitted, true))
    if (auto wait = guard->reserve(now); wait.count() > 0) {
      again_after(wait);
      return false;
    }
  auto open = guard->refuses(now);
  if (!open)
    return true;
  task->status = task_status::failed;
  task->failure = breaker_error(task->node->name, *open, guard->last_failure());
  answer(task);
  return false;
}

// Starts the task's time-outs.
void node_actor::count_time(const task_ptr& task) {
  task->started_ns = now_ns();
  task->progress_ns = task->started_ns;
  if (task->timeout.run_timeout.count() > 0)
    arm(task, task->timeout.run_timeout);
  if (task->timeout.idle_timeout.count() > 0)
    arm(task, task->timeout.idle_timeout);
}

void node_actor::run_here(task_ptr task) {
  if (task->node->body.coroutine())
    return start_coroutine(std::move(task));
  if (task->node->body.graph())
    return start_graph(std::move(task));
  if (needs_pool(*task))
    return start_blocking(std::move(task));
  execute_body(*task);
  ended(std::move(task));
}

void node_actor::start_blocking(task_ptr task) {
  auto self = caf::actor_cast<caf::actor>(this);
  task->may_block = true;
  bool taken = services_.pool.submit([self, task, card = card_] {
    execute_body(*task);
    tell(self, *card, task->run->home, body_done{task});
  });
  if (taken)
    return;
  task->status = task_status::failed;
  task->failure = pool_refused(*task);
  ended(std::move(task));
}

void node_actor::start_coroutine(task_ptr task) {
  task->host = this;
  body_ = std::make_shared<suspended_body>(std::move(task));
  auto body = body_; // start_body may lead to go_on(), which moves body_ away
  start_body(*body->task, body->ctx, body->body);
  go_on();
}

void node_actor::run_elsewhere(task_ptr task) {
  task->began = steady_clock::now();
  auto self = caf::actor_cast<caf::actor>(this);
  auto stop = services_.elsewhere->start(
    services_, task,
    [self, card = card_, task] { tell(self, *card, task->run->home, attempt_begun{task}); },
    [self, card = card_, task] { tell(self, *card, task->run->home, body_done{task}); });
  task->inner_runs(std::move(stop));
}

void node_actor::start_graph(task_ptr task) {
  task->began = steady_clock::now();
  auto input = task->input.by_field() ? run_input(task->input.to_update())
                                      : run_input(task->input.to_value());
  auto stop = task->run->graphs->start(
    {task->node->body.graph(), std::move(input), task, task->graphs++, task->spread, {}},
    [self = caf::actor_cast<caf::actor>(this), card = card_, task](nested_end end) {
      tell(self, *card, task->run->home, graph_ended{task, std::move(end)});
    });
  task->inner_runs(std::move(stop));
}

void node_actor::go_on() {
  if (body_->body && !body_->body->done())
    return; // suspended: a timer or job will wake it
  auto body = std::move(body_);
  if (body->body)
    finish_body(*body->task, *body->body, body->ctx);
  body->body.reset();
  ended(std::move(body->task));
}

void node_actor::sleep(nanoseconds delay, std::coroutine_handle<> at) {
  auto when = timer::clock::now() + std::chrono::duration_cast<timer::clock::duration>(delay);
  services_.clock.at(when, waker(at));
}

void node_actor::block(std::function<void()> job, std::coroutine_handle<> at) {
  bool taken = services_.pool.submit([job = std::move(job), wake = waker(at)] {
    job();
    wake();
  });
  if (!taken)
    throw pool_refused(*body_->task);
}

std::function<void()> node_actor::waker(std::coroutine_handle<> at) {
  return [self = caf::actor_cast<caf::actor>(this), card = card_, body = body_, at] {
    tell(self, *card, body->task->run->home, resume_body{body, at});
  };
}

std::function<void()> node_actor::soft_waker(std::coroutine_handle<> at) {
  return [self = caf::actor_cast<caf::actor>(this), card = card_, weak = std::weak_ptr{body_}, at] {
    auto body = weak.lock();
    if (!body)
      return;
    auto* home = body->task->run->home;
    tell(self, *card, home, resume_body{std::move(body), at});
  };
}

// -- attempts

// Retries a failed task; answers for a task that succeeded or has failed for good.
void node_actor::ended(task_ptr task) {
  task->host = nullptr;
  if (const auto& guard = task->node->settings->guard; guard && !task->for_home)
    guard->ended(task->status == task_status::failed ? &*task->failure : nullptr,
                 steady_clock::now());
  if (task->status == task_status::failed && !task->for_home && !task->run->given_up())
    if (auto delay = retry_delay(task->node->settings->retry, task->attempt, *task->failure,
                                 draw())) {
      current_ = next_attempt(*task);
      return again_after(*delay);
    }
  answer(std::move(task));
}

// The attempt that counts begins after this time.
void node_actor::again_after(nanoseconds delay) {
  auto again = [self = caf::actor_cast<caf::actor>(this), card = card_, next = current_] {
    tell(self, *card, next->run->home, run_task{next});
  };
  if (delay.count() == 0)
    return again();
  services_.clock.at(
    timer::clock::now() + std::chrono::duration_cast<timer::clock::duration>(delay), again);
}

void node_actor::answer(task_ptr task) {
  card_->running.store(false, std::memory_order_relaxed);
  current_.reset();
  if (taker_)
    return taker_(std::move(task));
  auto* host = home(task) ? home(task) : context();
  tell(coordinator_, *coordinator_card_, host, task_done{std::move(task)});
}

void node_actor::arm(const task_ptr& task, nanoseconds delay) {
  services_.clock.at(timer::clock::now()
                       + std::chrono::duration_cast<timer::clock::duration>(delay),
                     [self = caf::actor_cast<caf::actor>(this), card = card_, task] {
                       tell(self, *card, task->run->home, attempt_deadline{task});
                     });
}

void node_actor::check_time(const task_ptr& task) {
  if (task != current_)
    return;
  const auto& bound = task->timeout;
  auto now = now_ns();
  nanoseconds ran{now - task->started_ns};
  nanoseconds idle{now - task->progress_ns.load(std::memory_order_relaxed)};
  if (bound.run_timeout.count() > 0 && ran >= bound.run_timeout)
    return abandon(timeout_error(task->node->name, false, bound.run_timeout, ran));
  if (bound.idle_timeout.count() > 0 && idle >= bound.idle_timeout)
    return abandon(timeout_error(task->node->name, true, bound.idle_timeout, idle));
  if (bound.idle_timeout.count() > 0)
    arm(task, bound.idle_timeout - idle); // it showed signs of life
}

// The running attempt does not count any more; the task fails with `why` instead. Its body runs on
// without effect until it notices.
void node_actor::abandon(error why) {
  auto task = std::move(current_);
  task->given_up = true;
  task->stop_inner();
  body_.reset();
  auto over = next_attempt(*task);
  over->attempt = task->attempt;
  over->status = task_status::failed;
  over->failure = std::move(why);
  ended(std::move(over));
}

void node_actor::on_exit() {
  coordinator_ = nullptr;
  taker_ = nullptr;
  if (current_) {
    current_->given_up = true;
    current_->stop_inner();
  }
  current_.reset();
  body_.reset();
  services_.actors.remove(*card_);
}

} // namespace troupe
