// The home of placed tasks as an actor.
#include "cluster/home_actor.hpp"

#include "actors/log.hpp"
#include "cluster/link_front.hpp"
#include "cluster/remote_task.hpp"
#include "cluster/status_value.hpp"
#include "graph/graph_hash.hpp"

#include <caf/send.hpp>

#include <set>

namespace troupe::cluster {

home_actor::home_actor(caf::actor_config& cfg, dispatcher_options options, workers_file more,
                       std::vector<endpoint> workers)
  : caf::event_based_actor(cfg),
    file_{std::move(more)},
    workers_{std::move(workers)},
    hub_{*this, *this, std::max<nanoseconds>(limits::link_quiet_max, options.terms.lease)},
    dispatcher_{*this, options, now()},
    tick_every_{tick_interval(options.terms)} {}

instant home_actor::now() {
  return std::chrono::steady_clock::now().time_since_epoch();
}

caf::behavior home_actor::make_behavior() {
  set_down_handler([this](const caf::down_msg& down) {
    hub_.lost(down);
    finish_turn();
  });
  auto more = file_.read();
  keep_links(more ? *more : std::vector<endpoint>{});
  delayed_send(this, tick_every_, clock_tick{});
  return {
    [this](packet& what) {
      hub_.took(std::move(what), caf::actor_cast<caf::actor>(current_sender()));
      finish_turn();
    },
    [this](place_task& order) {
      place(order);
      finish_turn();
    },
    [this](answer_worker& order) {
      dispatcher_.reply(std::move(order.what));
      finish_turn();
    },
    [this](const forget_task& order) {
      forget(order);
      finish_turn();
    },
    [this](const clock_tick&) {
      tick();
      finish_turn();
    },
  };
}

void home_actor::on_exit() {
  for (auto& [number, task] : std::exchange(tasks_, {}))
    task->fail({errc::runtime_stopped, "run a task on a worker: the home ends"});
  numbers_.clear();
}

// -- tasks

result<run_number> home_actor::run_of(const placed_task& task) {
  const auto& run = task.task().run;
  auto& known = runs_[run.get()];
  if (known.number != 0 && known.run.lock() == run)
    return known.number;
  if (known.number != 0)
    dispatcher_.close_run(known.number); // another one stood at this address
  auto facts = encode_run(*run);
  if (!facts)
    return facts.error();
  known.run = run;
  auto& hash = hashes_[run->plan];
  if (hash.empty())
    hash = graph_hash(*run->plan);
  known.number = dispatcher_.open_run({run->plan->options.name, hash}, std::move(*facts));
  return known.number;
}

void home_actor::place(place_task& order) {
  const auto& task = order.task->task();
  auto run = run_of(*order.task);
  if (!run)
    return order.task->fail(run.error());
  auto number = dispatcher_.submit({.run = *run,
                                    .task_id = task.id,
                                    .node = task.node->name,
                                    .task = std::move(order.content),
                                    .where = *task.node->placement.worker},
                                   now());
  if (!number)
    return order.task->fail(number.error());
  numbers_.emplace(order.task.get(), *number);
  tasks_.emplace(*number, std::move(order.task));
}

void home_actor::forget(const forget_task& order) {
  auto number = numbers_.extract(order.task.get());
  if (!number)
    return;
  tasks_.erase(number.mapped());
  dispatcher_.cancel(number.mapped());
}

std::function<void(message)> home_actor::answering() {
  return [self = caf::actor_cast<caf::actor>(this)](message what) {
    caf::anon_send(self, answer_worker{std::move(what)});
  };
}

void home_actor::keep_links(const std::vector<endpoint>& more) {
  std::set<endpoint> wanted{workers_.begin(), workers_.end()};
  wanted.insert(more.begin(), more.end());
  for (const auto& old : hub_.kept())
    if (!wanted.contains(old))
      hub_.forget(old);
  for (const auto& to : wanted)
    hub_.keep(to);
}

void home_actor::tick() {
  if (auto more = file_.changed(); more && *more)
    keep_links(**more);
  else if (more)
    log_warning("cluster: " + more->error().message()); // what was known stays
  dispatcher_.tick(now());
  hub_.tick(now());
  tell_drains();
  close_old_runs();
  delayed_send(this, tick_every_, clock_tick{});
}

void home_actor::tell_drains() {
  for (const auto& [number, task] : tasks_)
    if (const auto& t = task->task(); t.node->body.graph && t.run->control.drain_requested())
      dispatcher_.drain(number, t.run->control.reason());
}

void home_actor::close_old_runs() {
  std::erase_if(runs_, [this](const auto& entry) {
    bool over = entry.second.run.expired();
    if (over)
      dispatcher_.close_run(entry.second.number);
    return over;
  });
}

void home_actor::finish_turn() {
  while (!later_.empty())
    for (auto& job : std::exchange(later_, {}))
      job();
  hub_.flush();
}

// -- links

void home_actor::link_made(link_number, const endpoint*) {}

void home_actor::heard(link_number link, message what) {
  if (std::holds_alternative<status_request>(what))
    return hub_.send(link, reply_with(system(), to_value(dispatcher_.status(now()))));
  dispatcher_.heard(link, std::move(what), now());
}

void home_actor::link_broken(link_number link) {
  dispatcher_.link_broken(link, now());
}

void home_actor::link_restored(link_number link) {
  dispatcher_.link_restored(link, now());
}

void home_actor::link_lost(link_number link, const error& why) {
  log_info("cluster: " + why.message());
  dispatcher_.link_broken(
    link, now()); // its session ends with the lease, or with the worker's next hello
}

// -- what the dispatcher wants

void home_actor::send(link_number link, message what) {
  hub_.send(link, std::move(what));
}

void home_actor::end_link(link_number link) {
  later_.push_back([this, link] { hub_.end(link); });
}

void home_actor::take(task_number number, bytes outcome) {
  auto task = tasks_.extract(number);
  if (task) {
    numbers_.erase(task.mapped().get());
    task.mapped()->finish({0, std::move(outcome)});
  }
  later_.push_back([this, number] { dispatcher_.accepted(number); });
}

void home_actor::fail(task_number number, error why) {
  auto task = tasks_.extract(number);
  if (!task)
    return;
  numbers_.erase(task.mapped().get());
  task.mapped()->fail(std::move(why));
}

void home_actor::pass_on(task_number number, message what) {
  auto found = tasks_.find(number);
  if (found == tasks_.end())
    return;
  auto task = found->second;
  if (auto* save = std::get_if<save_order>(&what))
    task->save(std::move(*save), answering());
  else if (auto* call = std::get_if<call_order>(&what))
    task->call(std::move(*call), answering());
  else if (auto* part = std::get_if<task_part>(&what))
    task->part(std::move(*part), answering());
  else if (std::holds_alternative<task_sign>(what))
    task->sign();
}

void home_actor::report(cluster_event what) {
  log_info("cluster: " + what.peer + ": " + what.text);
}

} // namespace troupe::cluster
