// A home: its dispatcher, the runs it has, and a store that asks for claims.
#include "tests/cluster/sim/simulation.hpp"

#include <algorithm>
#include <cstring>

namespace troupe::cluster::sim {

namespace {

using namespace std::chrono_literals;

std::uint64_t number_in(const bytes& from, std::size_t at) {
  std::uint64_t out = 0;
  if (from.size() >= at + sizeof out)
    std::memcpy(&out, from.data() + at, sizeof out);
  return out;
}

bytes bytes_of(std::uint64_t number) {
  bytes out(sizeof number);
  std::memcpy(out.data(), &number, sizeof number);
  return out;
}

issue_number answered_by(const message& what) {
  if (auto* outcome = std::get_if<task_outcome>(&what))
    return outcome->issue;
  if (auto* refused = std::get_if<task_refused>(&what))
    return refused->issue;
  return 0;
}

} // namespace

sim_home::sim_home(simulation& in, std::size_t index)
  : on{in.time, in.rolls, in.drawn.drift_percent},
    in_{in},
    index_{index} {}

void sim_home::start() {
  on.start();
  runs_.clear();
  tasks_.clear();
  numbers_.clear();
  newest_.clear();
  out_.clear();
  given_.clear();
  could_go_.clear();
  last_issue_ = 0;
  seen_ = {};
  dispatcher_options options;
  options.incarnation = "home " + std::to_string(index_) + "." + std::to_string(on.life());
  options.process = in_.home_process(index_);
  options.queue_tasks_max = in_.drawn.queue_max;
  machine = std::make_unique<dispatcher>(*this, options, on.clock());
  tick();
  for (std::size_t r = 0; r < in_.runs.size(); ++r)
    if (in_.runs[r].home == index_ && in_.runs[r].home_life > 0)
      on.after(in_.rolls.time(0ms, 20ms), [this, r] {
        if (in_.runs[r].home == index_)
          take_run(r);
      });
}

void sim_home::kill() {
  on.kill(in_.end_time());
  machine.reset();
}

void sim_home::tick() {
  auto interval = tick_interval({});
  on.after(interval + in_.rolls.time(0ms, 20ms), [this, last = on.clock(), interval] {
    if (in_.broken == breakage::patience) // as if it had been awake all the time
      for (auto when = last + interval; when < on.clock(); when += interval)
        machine->tick(when);
    machine->tick(on.clock());
    check_conservation();
    check_waiting_orders();
    check_ended();
    tick();
  });
}

void sim_home::take_run(std::size_t r) {
  auto& run = in_.runs[r];
  run.home = index_;
  run.home_life = on.life();
  run.claim = in_.new_claim();
  if (in_.tracing())
    in_.note("home " + std::to_string(index_), "takes run " + std::to_string(r));
  drop_run(r); // it may have had it before, and not know that it had lost it
  runs_[r] = machine->open_run(run.planned.graph, bytes_of(run.claim));
  for (auto task : run.tasks)
    if (!in_.tasks[task].ended())
      on.after(in_.tasks[task].planned.submitted, [this, task] { submit(task); });
}

void sim_home::drop_run(std::size_t r) {
  auto at = runs_.find(r);
  if (at == runs_.end())
    return;
  machine->close_run(at->second);
  runs_.erase(at);
  for (auto task : in_.runs[r].tasks)
    numbers_.erase(task);
}

bool sim_home::has_open(std::size_t run) const {
  return on.alive() && runs_.count(run) > 0;
}

bool sim_home::has_claim(std::size_t run) const {
  return in_.runs[run].home == index_ && in_.runs[run].home_life == on.life();
}

void sim_home::submit(std::size_t task) {
  auto& t = in_.tasks[task];
  auto run = runs_.find(t.planned.run);
  if (t.ended() || run == runs_.end() || numbers_.count(task) > 0)
    return;
  auto number = machine->submit({.run = run->second,
                                 .task_id = "t" + std::to_string(task),
                                 .node = "n",
                                 .task = bytes_of(task),
                                 .where = t.planned.where,
                                 .step = step_of(task)},
                                on.clock());
  if (!number && number.error().code() == errc::overloaded) {
    if (machine->status(on.clock()).waiting < in_.drawn.queue_max)
      in_.broke("a task was refused, but the queue is not full");
    on.after(machine->retry_after(), [this, task] { submit(task); });
  } else if (!number) {
    check_nobody(task, number.error());
    if (!has_claim(t.planned.run))
      return;
    t.failed = true;
    close_when_done(t.planned.run);
  } else {
    tasks_[*number] = task;
    numbers_[task] = *number;
  }
}

void sim_home::cancel(std::size_t task) {
  auto at = numbers_.find(task);
  if (at == numbers_.end() || in_.tasks[task].ended())
    return;
  auto number = at->second;
  if (has_claim(in_.tasks[task].planned.run))
    in_.tasks[task].cancelled = true;
  else // another home resumes it, and here the task waits for nothing any more
    numbers_.erase(at);
  note_task(task, "given up");
  machine->cancel(number);
  close_when_done(in_.tasks[task].planned.run);
}

void sim_home::note_task(std::size_t task, const std::string& what) const {
  if (in_.tracing())
    in_.note("home " + std::to_string(index_), "task " + std::to_string(task) + " " + what);
}

void sim_home::close_when_done(std::size_t r) {
  auto at = runs_.find(r);
  const auto& all = in_.runs[r].tasks;
  bool done = std::all_of(all.begin(), all.end(), [this](auto t) { return in_.tasks[t].ended(); });
  if (at == runs_.end() || !done)
    return;
  machine->close_run(at->second);
  runs_.erase(at);
}

void sim_home::deliver(link_number link, message what) {
  if (in_.broken == breakage::fence)
    if (auto* outcome = std::get_if<task_outcome>(&what)) // it counts from any worker
      for (auto& [other, issues] : out_)
        if (auto newest = newest_[number_in(outcome->outcome, 0)]; issues.count(newest) > 0) {
          link = other;
          outcome->issue = newest;
        }
  if (auto issue = answered_by(what))
    out_[link].erase(issue);
  if (std::holds_alternative<hello>(what)) // a session of its own has seen nobody yet
    seen_.alive.erase(in_.worker_process(in_.wires.at(link).worker).pid);
  speaking_ = link;
  machine->heard(link, std::move(what), on.clock());
}

void sim_home::send(link_number link, message what) {
  auto& w = in_.wires.at(link);
  if (auto* order = std::get_if<task_order>(&what)) {
    auto task = number_in(order->task, 0);
    if (order->issue <= last_issue_)
      in_.broke("an issue number was used again");
    last_issue_ = order->issue;
    newest_[task] = order->issue;
    given_[order->issue] = {link, task};
    ++in_.seen.orders;
    auto& out = out_[link];
    auto capacity = in_.drawn.workers[w.worker].capacity;
    in_.seen.ahead += order->ahead ? 1 : 0;
    if (!order->ahead && out.size() >= capacity)
      in_.broke("an order beyond a worker's capacity does not say so");
    out.insert(order->issue);
    if (out.size() > capacity + ahead_of(capacity))
      in_.broke("a home gave a worker more tasks than its capacity and what may wait there");
    if (in_.tracing())
      in_.note("home " + std::to_string(index_), "order " + std::to_string(order->issue)
                                                   + " of task " + std::to_string(task) + " on "
                                                   + std::to_string(link));
  }
  if (std::holds_alternative<task_withdraw>(what)) {
    ++in_.seen.withdrawn;
    if (in_.broken == breakage::withdrawal)
      return;
    could_go_.clear(); // there is room for as many as are asked for
  }
  bool twice = in_.drawn.hostile && in_.rolls.chance(10);
  for (int i = 0; i <= (twice ? 1 : 0) && w.home_open && w.home_life == on.life(); ++i)
    w.down->push([this, &w, what] {
      auto& to = *in_.workers[w.worker];
      if (to.on.life() == w.worker_life)
        to.on.soon([&to, link = w.number, what] { to.deliver(link, what); });
    });
}

void sim_home::end_link(link_number link) {
  auto& w = in_.wires.at(link);
  out_.erase(link);
  w.home_ended = std::min(w.home_ended, in_.time.now());
  if (std::exchange(w.home_open, false))
    w.down->push([this, &w] { // the other side notices
      auto& to = *in_.workers[w.worker];
      if (to.on.life() == w.worker_life && w.worker_open)
        to.on.soon([&to, &w] {
          to.link_broken(w.number);
          w.broken = true;
          to.look_for(w.home);
        });
    });
}

void sim_home::take(task_number number, bytes outcome, const std::string&) {
  auto task = number_in(outcome, 0);
  auto issue = number_in(outcome, sizeof task);
  auto at = tasks_.find(number);
  if (at != tasks_.end() && at->second != task)
    in_.broke("the outcome of one task counted for another");
  if (newest_[task] != issue)
    in_.broke("an outcome of issue " + std::to_string(issue) + " counted; the newest is "
              + std::to_string(newest_[task]));
  if (given_[issue].link != speaking_)
    in_.broke("an outcome counted that came from a worker that was not given the task");
  if (in_.rolls.chance(1) && !in_.healed()) {
    on.after(1ms, [this, number] {
      machine->rejected(number, {errc::invalid_value, "damaged"}, on.clock());
    });
    return;
  }
  on.after(in_.rolls.time(0ms, 5ms), [this, number, task] { commit(number, task); });
}

void sim_home::commit(task_number number, std::size_t task) {
  auto& t = in_.tasks[task];
  if (!has_claim(t.planned.run)
      && in_.broken != breakage::commit) { // conflict: the run is somebody else's
    note_task(task, "done, but its run is another home's");
    drop_run(t.planned.run);
    return;
  }
  auto known = numbers_.find(task);
  if (t.cancelled || known == numbers_.end() || known->second != number)
    return; // nobody waits for it
  if (++t.committed > 1)
    in_.broke("the outcome of task " + std::to_string(task) + " was stored twice");
  ++in_.seen.committed;
  note_task(task, "stored");
  machine->accepted(number);
  close_when_done(t.planned.run);
}

void sim_home::fail(task_number number, error why) {
  auto task = tasks_.at(number);
  auto& t = in_.tasks[task];
  numbers_.erase(task);
  note_task(task, "failed: " + why.message());
  if (!has_claim(t.planned.run))
    return;
  if (t.ended())
    in_.broke("a task failed that had ended");
  bool often = why.message().find("task_reissues_max") != std::string::npos;
  if (!often)
    check_nobody(task, why);
  t.failed = true;
  ++in_.seen.failed;
  on.after(0ms, [this, r = t.planned.run] { close_when_done(r); });
}

void sim_home::check_nobody(std::size_t task, const error& why) {
  const auto& t = in_.tasks[task].planned;
  const auto& graph = in_.runs[t.run].planned.graph;
  if (t.where.missing == no_worker::wait)
    in_.broke("a task that waits for workers failed: " + why.message());
  for (const auto& w : machine->status(on.clock()).workers) {
    worker_view view{.name = w.name, .labels = w.labels, .graphs = w.graphs};
    view.draining = w.draining;
    if (fitness_of(view, {.where = t.where, .graph = graph}) == fitness::fits)
      in_.broke("a task failed, but worker " + w.name + " could take it: " + why.message());
  }
}

void sim_home::link_broken(link_number link) {
  seen_.broken.emplace(link, in_.time.now());
  machine->link_broken(link, on.clock());
}

void sim_home::link_restored(link_number link) {
  seen_.broken.erase(link);
  machine->link_restored(link, on.clock());
}

std::optional<process_facts> sim_home::look_at(std::uint32_t pid) {
  return in_.look_from(in_.drawn.home_hosts[index_], pid, seen_);
}

void sim_home::check_ended() {
  for (const auto& w : machine->status(on.clock()).workers) {
    auto worker = static_cast<std::size_t>(std::stoul(w.name));
    auto life = std::stoull(w.incarnation.substr(w.incarnation.find('.') + 1));
    for (const auto& [number, at] : in_.wires)
      if (at.home == index_ && at.home_life == on.life() && at.home_open && at.worker == worker
          && at.worker_life == life
          && in_.is_overdue(in_.workers[worker]->on, life, in_.worker_process(worker).pid, number,
                            seen_, on.thawed()))
        in_.broke("worker " + w.name + " has ended, and was not missed");
  }
}

/// While a task waits, nobody who could take it has room.
void sim_home::check_conservation() {
  auto status = machine->status(on.clock());
  if (status.waiting > in_.drawn.queue_max + 64) // what comes back is let in
    in_.broke("the queue is longer than its bound");
  for (const auto& [number, task] : tasks_) {
    const auto& t = in_.tasks[task];
    bool waits = status.waiting > 0 && !t.ended() && newest_.count(task) == 0
                 && numbers_.count(task) > 0 && numbers_.at(task) == number;
    for (const auto& w : status.workers)
      if (waits && fits(task, w) && w.reachable && w.running < w.allowed)
        in_.broke("task " + std::to_string(task) + " waits, but worker " + w.name + " has room");
  }
}

bool sim_home::fits(std::size_t task, const worker_status& w) const {
  const auto& t = in_.tasks[task].planned;
  worker_view view{.name = w.name, .labels = w.labels, .graphs = w.graphs};
  view.draining = w.draining;
  return fitness_of(view, {.where = t.where, .graph = in_.runs[t.run].planned.graph})
         == fitness::fits;
}

bool sim_home::could_go(std::size_t task, std::size_t from, const dispatcher_status& status) const {
  return std::any_of(status.workers.begin(), status.workers.end(), [&](const worker_status& w) {
    return w.name != std::to_string(from) && w.reachable && w.running < w.allowed && fits(task, w);
  });
}

/// An order that waits at a worker goes where there is room, once nothing has been wrong for long.
void sim_home::check_waiting_orders() {
  auto status = machine->status(on.clock());
  auto calm = nanoseconds::max();
  for (std::size_t w = 0; w < in_.workers.size(); ++w)
    calm = std::min(calm, in_.time.now() - in_.last_fault(w, index_));
  auto soon = 1s + 4 * (in_.drawn.delay + in_.drawn.jitter);
  std::map<issue_number, nanoseconds> could;
  for (const auto& [link, issues] : out_)
    for (auto issue : issues) {
      auto task = given_.at(issue).task;
      const auto& w = in_.wires.at(link);
      bool waits = w.home_open && in_.begun.count({link, issue}) == 0 && newest_[task] == issue
                   && numbers_.count(task) > 0 && !in_.tasks[task].ended();
      if (!waits || !could_go(task, w.worker, status))
        continue;
      auto known = could_go_.find(issue);
      could[issue] = known == could_go_.end() ? in_.time.now() : known->second;
      if (std::min(in_.time.now() - could[issue], calm - 4s) > soon)
        in_.broke("task " + std::to_string(task) + " waits at worker " + std::to_string(w.worker)
                  + ", but another one has room");
    }
  could_go_ = std::move(could);
}

void sim_home::pass_on(task_number number, message what) {
  auto at = tasks_.find(number);
  auto* save = std::get_if<save_order>(&what);
  if (!save || at == tasks_.end())
    return;
  if (newest_[at->second] != save->issue)
    in_.broke("something of an older issue was stored");
  ++in_.seen.saves;
  on.after(in_.rolls.time(0ms, 3ms),
           [this, answer = save_answer{.issue = save->issue,
                                       .ticket = save->ticket,
                                       .failure = std::nullopt}] { machine->reply(answer); });
}

void sim_home::report(cluster_event what) {
  if (in_.tracing())
    in_.note("home " + std::to_string(index_), what.peer + ": " + what.text);
  if (what.kind == event_kind::misbehaviour && in_.broken == breakage::none && !in_.drawn.hostile)
    in_.broke("worker " + what.peer + " misbehaved: " + what.text);
  bool lost = what.kind == event_kind::worker_lost || what.kind == event_kind::worker_replaced;
  if (!lost)
    return;
  ++in_.seen.lost;
  in_.seen.ended += what.text.starts_with("its process has ended") ? 1 : 0;
  auto worker = static_cast<std::size_t>(std::stoul(what.peer));
  if (in_.time.now() - in_.last_fault(worker, index_) > 4s)
    in_.broke("worker " + what.peer + " was lost, but nothing had happened to it: " + what.text);
  if (in_.workers[worker]->draining()) // it comes back to no home whose session it had to end
    return;
  auto undisturbed = in_.time.now() - in_.last_cut(worker, index_) - on.stood_still();
  if (what.kind == event_kind::worker_lost && undisturbed > 5s)
    in_.broke("worker " + what.peer + " was lost because the home stood still");
}

} // namespace troupe::cluster::sim
