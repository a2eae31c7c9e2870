// A worker: its admission, bodies that take their time, and who dials.
#include "tests/cluster/sim/simulation.hpp"

#include <algorithm>
#include <cstring>

namespace troupe::cluster::sim {

namespace {

using namespace std::chrono_literals;

constexpr nanoseconds step_length = 300ms; // of a group: then it saves

bytes make_outcome(std::uint64_t task, std::uint64_t issue) {
  bytes out(sizeof task + sizeof issue);
  std::memcpy(out.data(), &task, sizeof task);
  std::memcpy(out.data() + sizeof task, &issue, sizeof issue);
  return out;
}

} // namespace

sim_worker::sim_worker(simulation& in, std::size_t index)
  : on{in.time, in.rolls, in.drawn.drift_percent},
    in_{in},
    index_{index} {}

void sim_worker::start() {
  on.start();
  bodies_.clear();
  open_runs_.clear();
  begun_.clear();
  looking_.clear();
  draining_ = false;
  seen_ = {};
  const auto& planned = in_.drawn.workers[index_];
  machine = std::make_unique<task_admission>(
    *this,
    admission_options{.name = std::to_string(index_),
                      .incarnation = std::to_string(index_) + "." + std::to_string(on.life()),
                      .labels = planned.labels,
                      .capacity = planned.capacity + (in_.broken == breakage::capacity ? 1 : 0),
                      .graphs = planned.graphs,
                      .process = in_.worker_process(index_)});
  tick();
  for (std::size_t home = 0; home < in_.drawn.homes; ++home)
    look_for(home);
}

void sim_worker::kill() {
  for (auto& t : in_.tasks)
    std::erase_if(t.copies, [this](const truth::copy& c) { return c.worker == index_; });
  on.kill(in_.end_time());
  machine.reset();
}

void sim_worker::tick() {
  on.after(machine->tick_interval() + in_.rolls.time(0ms, 20ms), [this] {
    if (in_.broken != breakage::lease)
      machine->tick(on.clock());
    else if (in_.rolls.chance(40)) // now and then a heartbeat goes out
      machine->tick(on.clock());
    if (in_.broken != breakage::lease)
      check_ended();
    tick();
  });
}

void sim_worker::drain() {
  if (!on.alive() || on.frozen() || std::exchange(draining_, true))
    return;
  machine->drain("told to", in_.rolls.time(0s, 3s), on.clock());
}

void sim_worker::drained() {
  in_.time.after(1ms, [this, life = on.life()] {
    if (on.life() != life || !on.alive())
      return;
    kill();
    in_.time.after(in_.rolls.time(10ms, 2s), [this] {
      if (!on.alive())
        start();
    });
  });
}

/// Tries to link to a home until it does.
void sim_worker::look_for(std::size_t home) {
  if (draining_ && !in_.wire_between(index_, home))
    return;
  if (looking_.insert(home).second)
    on.after(in_.rolls.time(5ms, 400ms), [this, home] { try_link(home); });
}

void sim_worker::try_link(std::size_t home) {
  looking_.erase(home);
  auto* old = in_.wire_between(index_, home);
  if (old && !old->broken)
    return;
  auto& there = *in_.homes[home];
  bool passes = !in_.way_up(index_, home).cut && !in_.way_down(index_, home).cut;
  if (!passes || !there.on.alive() || there.on.frozen()) {
    look_for(home);
    return;
  }
  if (old && old->home_open && old->home_life == there.on.life()) { // the stream continues
    old->broken = false;
    link_restored(old->number);
    there.on.soon([&there, link = old->number] { there.link_restored(link); });
    old->up->set_broken(false);
    old->down->set_broken(false);
    return;
  }
  if (old)
    old->worker_open = false;
  auto& fresh = in_.new_wire(index_, home);
  if (in_.tracing())
    in_.note("worker " + std::to_string(index_),
             "link " + std::to_string(fresh.number) + " to home " + std::to_string(home));
  machine->link_made(static_cast<home_number>(home), fresh.number, on.clock());
}

void sim_worker::deliver(link_number link, message what) {
  if (std::holds_alternative<welcome>(what)) // a session of its own has seen nobody yet
    seen_.alive.erase(in_.home_process(in_.wires.at(link).home).pid);
  machine->heard(link, std::move(what), on.clock());
}

void sim_worker::send(link_number link, message what) {
  auto& w = in_.wires.at(link);
  if (auto* first = std::get_if<hello>(&what); first && in_.broken == breakage::capacity)
    first->capacity = in_.drawn.workers[index_].capacity;
  if (auto* refused = std::get_if<task_refused>(&what))
    in_.refused.emplace(link, refused->issue);
  bool twice = in_.drawn.hostile && in_.rolls.chance(10) && !std::holds_alternative<hello>(what);
  for (int i = 0; i <= (twice ? 1 : 0) && w.worker_open && w.worker_life == on.life(); ++i)
    w.up->push([this, &w, what] {
      auto& to = *in_.homes[w.home];
      bool ended = !w.home_open; // what is late arrives now and then all the same
      if (to.on.life() == w.home_life && (!ended || in_.rolls.chance(30)))
        to.on.soon([&to, &w, what, ended] {
          if (!ended || !std::holds_alternative<hello>(what))
            to.deliver(w.number, what);
        });
    });
}

void sim_worker::end_link(link_number link) {
  auto& w = in_.wires.at(link);
  if (std::exchange(w.worker_open, false))
    w.up->push([this, &w] {
      auto& to = *in_.homes[w.home];
      if (to.on.life() == w.home_life && w.home_open)
        to.on.soon([&to, &w] { to.link_broken(w.number); });
    });
}

void sim_worker::link_broken(link_number link) {
  seen_.broken.emplace(link, in_.time.now());
  machine->link_broken(link, on.clock());
}

void sim_worker::link_restored(link_number link) {
  seen_.broken.erase(link);
  machine->link_restored(link, on.clock());
}

std::optional<process_facts> sim_worker::look_at(std::uint32_t pid) {
  return in_.look_from(in_.drawn.workers[index_].host, pid, seen_);
}

void sim_worker::check_ended() {
  for (const auto& s : machine->status(on.clock()).sessions) {
    const auto* w = in_.wire_between(index_, s.home);
    if (w
        && in_.is_overdue(in_.homes[s.home]->on, w->home_life, in_.home_process(s.home).pid,
                          w->number, seen_, on.thawed()))
      in_.broke("home " + std::to_string(s.home) + " has ended, and worker "
                + std::to_string(index_) + " did not miss it");
  }
}

void sim_worker::session_over(home_number home, const error&) {
  look_for(home);
}

void sim_worker::open_run(local_run run, home_number home, run_opened what,
                          std::shared_ptr<lease_end> until) {
  const auto& w = *in_.wire_between(index_, home);
  auto& opened = open_runs_[run] = {home, w.number, 0, std::move(until)};
  std::memcpy(&opened.claim, what.facts.data(), sizeof opened.claim);
}

void sim_worker::close_run(local_run run) {
  if (open_runs_.erase(run) == 0)
    in_.broke("a run was closed that was not open");
}

void sim_worker::begin(local_task number, local_run run, task_order what, const bytes& step) {
  std::uint64_t task = 0;
  std::memcpy(&task, what.task.data(), sizeof task);
  if (open_runs_.count(run) == 0)
    in_.broke("a task was begun before its run was opened");
  if (step != step_of(task))
    in_.broke("a task was begun with what another step shares");
  if (!begun_.emplace(run, what.issue).second)
    in_.broke("an order was begun twice");
  const auto& of = open_runs_.at(run);
  bodies_[number] = {.task = task, .of = of, .issue = what.issue};
  if (bodies_.size() > in_.drawn.workers[index_].capacity)
    in_.broke("a worker has more tasks than its capacity");
  auto& t = in_.tasks[task];
  in_.begun.emplace(of.link, what.issue);
  if (in_.tracing())
    in_.note("worker " + std::to_string(index_),
             "begins task " + std::to_string(task) + " of home " + std::to_string(of.home)
               + ", for " + std::to_string(t.planned.takes / std::chrono::milliseconds{1}) + " ms");
  if (in_.refused.count({of.link, what.issue}) > 0)
    in_.broke("an order was begun that had been refused");
  if (t.planned.poison && !in_.healed())
    in_.time.after(20ms, [this, life = on.life()] {
      if (on.life() != life || !on.alive() || in_.healed())
        return;
      ++in_.seen.faults;
      kill();
      in_.time.after(in_.rolls.time(10ms, 2s), [this] {
        if (!on.alive())
          start();
      });
    });
  if (auto* to = in_.wire_between(index_, of.home); to && in_.drawn.hostile && in_.rolls.chance(20))
    forge(*to, what.issue, task);
  on.after(in_.lanes.time(0ms, in_.drawn.lane_max), // it waits for a thread
           [this, number, takes = t.planned.takes] { work(number, takes); });
}

/// Right before each body: its worker may have stood still since the task was begun, or the last
/// step ended.
bool sim_worker::begin_body(local_task number) {
  auto& b = bodies_.at(number);
  if (in_.broken != breakage::gate && b.of.until->is_over(on.clock())) {
    ++in_.seen.not_begun;
    retire(number);
    bodies_.erase(number);
    machine->gone(number, "the lease of its worker has expired", on.clock());
    return false;
  }
  truth::copy own{.worker = index_,
                  .worker_life = on.life(),
                  .number = number,
                  .claim = b.of.claim,
                  .link = b.of.link,
                  .begun = in_.time.now()};
  in_.check_alone(b.task, own);
  if (!std::exchange(b.begun, true))
    in_.tasks[b.task].copies.push_back(own);
  return true;
}

/// Another worker reports that it did it.
void sim_worker::forge(const wire& from, issue_number issue, std::uint64_t task) {
  auto* other = in_.wire_beside(from);
  if (!other)
    return;
  auto& liar = *in_.workers[other->worker];
  liar.send(other->number, task_outcome{.issue = issue, .outcome = make_outcome(task, issue)});
}

void sim_worker::work(local_task number, nanoseconds left) {
  auto at = bodies_.find(number);
  if (at == bodies_.end() || at->second.stopped)
    return;
  auto& b = at->second;
  bool group = in_.tasks[b.task].planned.group;
  if (group && b.gives_back) {
    retire(number);
    bodies_.erase(number);
    machine->given_back(number, on.clock());
  } else if (left <= 0ms) {
    retire(number);
    auto outcome = make_outcome(b.task, b.issue);
    bodies_.erase(number);
    machine->finished(number, std::move(outcome), on.clock());
  } else if (begin_body(number)) {
    if (group)
      machine->say(number, save_order{.issue = 0, .ticket = ++b.saves, .request = {}});
    auto now = group ? std::min(left, step_length) : left;
    on.after(now, [this, number, rest = left - now] { work(number, rest); });
  }
}

/// It does nothing more that anybody could see.
void sim_worker::retire(local_task number) {
  auto& copies = in_.tasks[bodies_.at(number).task].copies;
  std::erase_if(copies, [this, number](const truth::copy& c) {
    return c.worker == index_ && c.worker_life == on.life() && c.number == number;
  });
}

void sim_worker::stop(local_task number) {
  auto& b = bodies_.at(number);
  if (b.stopped)
    in_.broke("a task was told to stop twice");
  retire(number);
  b.stopped = true;
  auto slow = in_.rolls.chance(5);
  on.after(slow ? in_.rolls.time(100ms, 1s) : in_.rolls.time(0ms, 50ms),
           [this, number] { end_body(number); });
}

void sim_worker::end_body(local_task number) {
  if (bodies_.erase(number) > 0)
    machine->gone(number, "the task was stopped", on.clock());
}

void sim_worker::give_back(local_task number) {
  bodies_.at(number).gives_back = true;
}

void sim_worker::pass_on(local_task number, message what) {
  auto* answer = std::get_if<save_answer>(&what);
  auto at = bodies_.find(number);
  if (answer && at != bodies_.end() && answer->issue != at->second.issue)
    in_.broke("the answer of another issue arrived");
}

void sim_worker::report(cluster_event what) {
  if (in_.tracing())
    in_.note("worker " + std::to_string(index_), what.peer + ": " + what.text);
  if (what.kind == event_kind::misbehaviour && in_.broken == breakage::none && !in_.drawn.hostile)
    in_.broke("a home misbehaved: " + what.text);
}

} // namespace troupe::cluster::sim
