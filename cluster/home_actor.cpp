// home_actor: places the tasks of a home, and keeps its links.
#include "cluster/home_actor.hpp"

#include "actors/log.hpp"
#include "cluster/links/link_network.hpp"
#include "cluster/process_look.hpp"
#include "cluster/remote_task.hpp"
#include "cluster/status_value.hpp"

#include <caf/send.hpp>

#include <atomic>
#include <set>

namespace troupe::cluster {

home_actor::home_actor(caf::actor_config& cfg, dispatcher_options options,
                       std::vector<endpoint> workers, workers_file more,
                       const std::vector<endpoint>& listed)
  : linked_actor(cfg, std::max<nanoseconds>(limits::link_quiet_max, options.terms.lease)),
    file_{std::move(more)},
    workers_{std::move(workers)},
    dispatcher_{*this, options, now()},
    tick_every_{tick_interval(options.terms)} {
  keep_links(listed);
}

instant home_actor::now() {
  return std::chrono::steady_clock::now().time_since_epoch();
}

caf::behavior home_actor::make_behavior() {
  delayed_send(this, tick_every_, clock_tick{});
  return {
    [this](packet& what) { take_packet(std::move(what)); },
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
    [this](caf::flush_atom) { flush(); },
    [this](const say_goodbye&) { return goodbye(); },
    [this](const look_at_peers&) { look(); },
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
  hub_.close();
  groups_.clear();
  goodbye_ = {};
}

// -- tasks

result<run_number> home_actor::run_of(const placed_task& task) {
  const auto& run = task.task().run;
  auto known = runs_.find(run.get());
  if (known != runs_.end() && known->second.run.lock() == run)
    return known->second.number;
  auto facts = encode_run(*run);
  if (!facts)
    return facts.error();
  if (known != runs_.end())
    dispatcher_.close_run(known->second.number); // an older run had this address
  auto& offer = offers_[run->plan];
  if (offer.hash.empty())
    offer = offer_of(*run->plan);
  auto number = dispatcher_.open_run(offer, std::move(*facts));
  runs_.insert_or_assign(run.get(), open_run{run, number});
  return number;
}

void home_actor::place(place_task& order) {
  const auto& task = order.task->task();
  auto run = run_of(*order.task);
  if (!run)
    return order.task->fail(run.error());
  auto number = dispatcher_.submit({.run = *run,
                                    .task_id = task.id(),
                                    .node = task.node->name,
                                    .task = std::move(order.content.task),
                                    .where = *task.node->settings->placement.worker,
                                    .step = std::move(order.content.step)},
                                   now());
  if (!number)
    return order.task->fail(number.error());
  numbers_.emplace(order.task.get(), *number);
  if (task.node->body.graph())
    groups_.emplace(*number, task.run.get());
  tasks_.emplace(*number, std::move(order.task));
}

void home_actor::forget(const forget_task& order) {
  auto number = numbers_.extract(order.task.get());
  if (!number)
    return;
  tasks_.erase(number.mapped());
  groups_.erase(number.mapped());
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
  auto when = now();
  look_at_file(when);
  dispatcher_.tick(when);
  hub_.tick(when);
  tell_drains();
  tell_failures();
  close_old_runs();
  delayed_send(this, tick_every_, clock_tick{});
}

void home_actor::look_at_file(instant now) {
  if (now < file_due_)
    return;
  file_due_ = now + limits::workers_file_interval;
  auto more = file_.changed();
  if (more && *more)
    keep_links(**more);
  else if (more)
    log_warning("cluster: " + more->error().message()); // the known workers stay
}

// A task keeps its run, so `run` is valid while the task is in the list.
void home_actor::tell_drains() {
  std::erase_if(groups_, [this](const auto& entry) {
    auto& [number, run] = entry;
    if (!run->control.drain_requested())
      return false;
    dispatcher_.drain(number, run->control.reason());
    return true;
  });
}

void home_actor::tell_failures() {
  for (const auto& [number, task] : tasks_)
    if (task->task().should_end.load(std::memory_order_relaxed))
      dispatcher_.step_failed(number);
}

void home_actor::close_old_runs() {
  std::erase_if(runs_, [this](const auto& entry) {
    bool over = entry.second.run.expired();
    if (over)
      dispatcher_.close_run(entry.second.number);
    return over;
  });
}

/// Ends the workers' sessions. The answer comes when the workers have all messages. The promise
/// owns this actor, so it is released with the answer, and when the actor ends.
caf::response_promise home_actor::goodbye() {
  dispatcher_.end();
  flush();
  goodbye_ = make_response_promise();
  auto promise = goodbye_;
  answer_goodbye();
  return promise;
}

void home_actor::answer_goodbye() {
  if (goodbye_.pending() && hub_.is_quiet())
    std::exchange(goodbye_, {}).deliver(caf::unit);
}

void home_actor::flush() {
  linked_actor::flush();
  answer_goodbye();
}

void home_actor::look_for_ended() {
  dispatcher_.look_for_ended(now());
}

// -- links

void home_actor::link_made(link_number, const endpoint*) {}

void home_actor::heard(link_number link, message what) {
  auto* drained = std::get_if<drain_request>(&what);
  if (drained || std::holds_alternative<status_request>(what)) {
    hub_.send(link, reply_with(system(), to_value(dispatcher_.status(now()))));
    if (drained)
      dispatcher_.pass_drain(*drained);
    return;
  }
  if (std::holds_alternative<status_reply>(what))
    return; // a reply to a drain that was passed on
  dispatcher_.heard(link, std::move(what), now());
}

void home_actor::link_broken(link_number link) {
  dispatcher_.link_broken(link, now());
  look_soon();
}

void home_actor::link_restored(link_number link) {
  dispatcher_.link_restored(link, now());
}

// -- dispatcher_host

void home_actor::send(link_number link, message what) {
  if (const auto* yes = std::get_if<welcome>(&what))
    hub_.may_be_quiet(link, yes->lease);
  hub_.send(link, std::move(what));
}

void home_actor::end_link(link_number link) {
  later([this, link] { hub_.end(link); });
}

void home_actor::take(task_number number, bytes outcome, const std::string& worker) {
  if (auto task = let_go(number))
    task->finish(std::move(outcome), worker);
  later([this, number] { dispatcher_.accepted(number); });
}

void home_actor::fail(task_number number, error why) {
  if (auto task = let_go(number))
    task->fail(std::move(why));
}

std::shared_ptr<placed_task> home_actor::let_go(task_number number) {
  auto task = tasks_.extract(number);
  if (!task)
    return nullptr;
  numbers_.erase(task.mapped().get());
  groups_.erase(number);
  return std::move(task.mapped());
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
  else if (auto* sign = std::get_if<task_sign>(&what))
    task->sign(*sign);
}

void home_actor::report(cluster_event what) {
  auto text = "cluster: " + what.peer + ": " + what.text;
  is_trouble(what.kind) ? log_warning(text) : log_info(text);
}

std::optional<process_facts> home_actor::look_at(std::uint32_t pid) {
  return look_at_process(pid);
}

} // namespace troupe::cluster
