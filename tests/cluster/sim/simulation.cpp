// The faults of a simulation, their healing, and the checks at the end.
#include "tests/cluster/sim/simulation.hpp"

#include <algorithm>
#include <iostream>

namespace troupe::cluster::sim {

namespace {

using namespace std::chrono_literals;

constexpr nanoseconds recovery = 5s;         // after all is healed, and what is left to do
constexpr nanoseconds missed_within = 900ms; // two ticks, one of which sees nothing
constexpr std::uint32_t first_worker = 1, first_home = 100; // process ids

std::string boot_of(std::size_t host) {
  return "00000000-0000-4000-8000-00000000000" + std::to_string(host);
}

} // namespace

simulation::simulation(plan p, breakage b, bool trace)
  : drawn{std::move(p)},
    broken{b},
    rolls{drawn.seed * 2},
    lanes{~(drawn.seed * 2)},
    trace_{trace},
    ways_up_(drawn.workers.size() * drawn.homes),
    ways_down_(drawn.workers.size() * drawn.homes) {
  for (const auto& r : drawn.runs)
    runs.push_back({.planned = r, .home = r.home, .home_life = 0, .tasks = {}});
  for (const auto& t : drawn.tasks) {
    runs[t.run].tasks.push_back(tasks.size());
    tasks.push_back({.planned = t, .copies = {}});
  }
  for (std::size_t i = 0; i < drawn.homes; ++i)
    homes.push_back(std::make_unique<sim_home>(*this, i));
  for (std::size_t i = 0; i < drawn.workers.size(); ++i)
    workers.push_back(std::make_unique<sim_worker>(*this, i));
}

void simulation::note(const std::string& who, const std::string& what) {
  if (trace_)
    std::cout << time.now() / 1us << " us  " << who << ": " << what << "\n";
}

void simulation::broke(const std::string& what) const {
  throw violation{"at " + std::to_string(time.now() / 1us) + " us: " + what};
}

void simulation::run() {
  for (auto& h : homes)
    time.after(rolls.time(0ms, 300ms), [&h] { h->start(); });
  for (auto& w : workers)
    time.after(rolls.time(0ms, 1s), [&w] { w->start(); });
  for (std::size_t r = 0; r < runs.size(); ++r)
    time.after(300ms + runs[r].planned.begins, [this, r] {
      auto& home = *homes[runs[r].home];
      runs[r].home_life = 1; // from now on a home that starts takes it
      if (home.on.alive())
        home.on.soon([&home, r] { home.take_run(r); });
    });
  if (drawn.fault_each > 0ms)
    plan_faults();
  time.at(drawn.heals_at, [this] { heal(); });
  while (time.now() < drawn.heals_at && time.step()) {}
  nanoseconds left{0};
  for (const auto& t : tasks)
    if (!t.ended())
      left += attempts(t.planned.run) * t.planned.takes + 3 * (drawn.delay + drawn.jitter);
  auto deadline = drawn.heals_at + recovery + left + (left / 10); // clocks drift
  if (drawn.homes > 1) // who was refused asks again later
    deadline += static_cast<int>(drawn.homes) * limits::worker_backoff_max;
  if (drawn.queue_max < 100)
    deadline += 2s; // who was sent away comes back later
  for (; !all_ended() && time.now() < deadline; time.step()) {}
  check_end();
}

/// A home that lost a run, and does not know it yet, has its tasks done as well.
std::int64_t simulation::attempts(std::size_t run) const {
  auto open = std::count_if(homes.begin(), homes.end(),
                            [run](const auto& h) { return h->has_open(run); });
  return std::max<std::int64_t>(open, 1);
}

bool simulation::all_ended() const {
  return std::all_of(tasks.begin(), tasks.end(), [](const truth& t) { return t.ended(); });
}

void simulation::check_end() {
  for (std::size_t i = 0; i < tasks.size(); ++i)
    if (!tasks[i].ended())
      broke("all was healed long ago, but task " + std::to_string(i) + " has not ended");
  seen.slowest_end = time.now() - drawn.heals_at;
  for (auto& h : homes) {
    auto status = h->machine->status(h->on.clock());
    seen.reissued += status.counts.reissued;
    seen.stale += status.counts.stale + status.counts.unknown;
  }
}

nanoseconds simulation::last_fault(std::size_t worker, std::size_t home) const {
  return std::max(last_cut(worker, home), homes[home]->on.touched());
}

nanoseconds simulation::last_cut(std::size_t worker, std::size_t home) const {
  auto at = worker * drawn.homes + home;
  auto touched = [this](const way& w) { return w.cut ? time.now() : w.touched; };
  return std::max({touched(ways_up_[at]), touched(ways_down_[at]), workers[worker]->on.touched()});
}

wire& simulation::new_wire(std::size_t worker, std::size_t home) {
  auto number = ++last_link_;
  auto& w = wires[number];
  w.number = number;
  w.worker = worker;
  w.home = home;
  w.worker_life = workers[worker]->on.life();
  w.home_life = homes[home]->on.life();
  w.up = std::make_shared<pipe>(time, rolls, drawn, way_up(worker, home));
  w.down = std::make_shared<pipe>(time, rolls, drawn, way_down(worker, home));
  return w;
}

wire* simulation::wire_beside(const wire& w) {
  for (auto& [number, other] : wires)
    if (other.home == w.home && other.worker != w.worker && other.worker_open && other.home_open
        && other.worker_life == workers[other.worker]->on.life() && other.home_life == w.home_life)
      return &other;
  return nullptr;
}

wire* simulation::wire_between(std::size_t worker, std::size_t home) {
  for (auto at = wires.rbegin(); at != wires.rend(); ++at) {
    auto& w = at->second;
    if (w.worker == worker && w.home == home && w.worker_life == workers[worker]->on.life())
      return w.worker_open ? &w : nullptr;
  }
  return nullptr;
}

/// Both sides hear of it, if they are there.
void simulation::break_wire(wire& w) {
  if (w.broken)
    return;
  w.broken = true;
  w.up->set_broken(true);
  w.down->set_broken(true);
  auto& worker = *workers[w.worker];
  auto& home = *homes[w.home];
  if (worker.on.life() == w.worker_life && w.worker_open)
    worker.on.soon([&worker, &w] {
      worker.link_broken(w.number);
      worker.look_for(w.home);
    });
  if (home.on.life() == w.home_life && w.home_open)
    home.on.soon([&home, &w] { home.link_broken(w.number); });
}

process_identity simulation::home_process(std::size_t index) const {
  return {.boot = boot_of(drawn.home_hosts[index]),
          .pid_space = 1,
          .pid = static_cast<std::uint32_t>(first_home + index),
          .started = homes[index]->on.life()};
}

process_identity simulation::worker_process(std::size_t index) const {
  return {.boot = boot_of(drawn.workers[index].host),
          .pid_space = 1,
          .pid = static_cast<std::uint32_t>(first_worker + index),
          .started = workers[index]->on.life()};
}

/// Now and then the kernel reports nothing; there may be others with such an id on the host.
std::optional<process_facts> simulation::look_from(std::size_t host, std::uint32_t pid,
                                                   sightings& by) const {
  bool is_home = pid >= first_home;
  auto index = pid - (is_home ? first_home : first_worker);
  if (++by.looks[pid] % 5 == 0) {
    by.alive.erase(pid); // a session that begins with this has not seen it
    return std::nullopt;
  }
  if (host != (is_home ? drawn.home_hosts[index] : drawn.workers[index].host))
    broke("a process of another host was looked for");
  const auto& who = is_home ? homes[index]->on : workers[index]->on;
  if (broken == breakage::death && by.alive.contains(pid))
    return process_facts{};
  if (who.alive())
    by.alive[pid] = who.life();
  return who.facts();
}

bool simulation::is_overdue(const process& who, std::uint64_t life, std::uint32_t pid,
                            link_number link, const sightings& by, nanoseconds awake) const {
  auto ended = who.ended(life);
  auto told = by.broken.find(link);
  auto seen = by.alive.find(pid);
  if (broken == breakage::death || !ended || told == by.broken.end() || seen == by.alive.end()
      || seen->second != life)
    return false;
  return time.now() - std::max({*ended, told->second, awake}) > missed_within;
}

void simulation::check_alone(std::size_t task, const truth::copy& begins) const {
  for (const auto& c : tasks[task].copies) {
    bool is_itself = c.worker == begins.worker && c.number == begins.number;
    bool stands_still = workers[c.worker]->on.frozen() && c.begun <= wires.at(c.link).home_ended;
    if (!is_itself && !stands_still && c.claim == begins.claim)
      broke("task " + std::to_string(task) + " runs on worker " + std::to_string(begins.worker)
            + " while it runs on worker " + std::to_string(c.worker));
  }
}

void simulation::check_overlaps() const {
  for (std::size_t t = 0; t < tasks.size(); ++t)
    for (const auto& c : tasks[t].copies)
      if (tasks[t].copies.size() > 1 && !workers[c.worker]->on.frozen())
        check_alone(t, c);
}

void simulation::plan_faults() {
  auto next = rolls.time(drawn.fault_each / 4, 2 * drawn.fault_each);
  time.after(next, [this] {
    if (healed())
      return;
    fault();
    plan_faults();
  });
}

void simulation::cut(std::size_t worker, std::size_t home, bool up, bool down,
                     nanoseconds how_long) {
  auto set = [this](way& w, bool is_cut) {
    w.cut = is_cut;
    w.touched = time.now();
  };
  if (up)
    set(way_up(worker, home), true);
  if (down)
    set(way_down(worker, home), true);
  time.after(how_long, [this, set, worker, home] {
    set(way_up(worker, home), false);
    set(way_down(worker, home), false);
    for (auto& [number, w] : wires)
      if (w.worker == worker && w.home == home) {
        w.up->release();
        w.down->release();
      }
  });
}

void simulation::freeze(process& who, nanoseconds how_long) {
  if (!who.alive() || who.frozen())
    return;
  who.freeze();
  time.after(how_long, [this, &who, life = who.life()] {
    if (who.life() != life)
      return;
    who.thaw();
    check_overlaps();
  });
}

void simulation::fault() {
  ++seen.faults;
  auto worker = rolls.below(workers.size());
  auto home = rolls.below(homes.size());
  auto kind = drawn.wild ? static_cast<unsigned>(rolls.below(16)) : drawn.kind;
  auto rest = std::max<nanoseconds>(drawn.heals_at - time.now(), 1ms);
  auto lasts = std::min(rest, rolls.chance(50) ? rolls.time(50ms, 1500ms) : rolls.time(1500ms, 8s));
  note("fault", "kind " + std::to_string(kind) + ", worker " + std::to_string(worker) + ", home "
                  + std::to_string(home) + ", for " + std::to_string(lasts / 1ms) + " ms");
  auto restart = [this, lasts](auto& who, auto& all, std::size_t index) {
    if (!who.on.alive())
      return;
    who.kill();
    for (auto& [number, w] : wires) { // the other side may notice at once, or not at all
      bool its = &all == static_cast<const void*>(&workers) ? w.worker == index : w.home == index;
      if (its && rolls.chance(70))
        break_wire(w);
    }
    time.after(lasts, [&who] {
      if (!who.on.alive())
        who.start();
    });
  };
  switch (kind) {
    case 0: cut(worker, home, true, true, lasts); break;
    case 1: cut(worker, home, true, false, lasts); break; // the home is deaf
    case 2: cut(worker, home, false, true, lasts); break; // the worker is
    case 3:
      for (std::size_t w = 0; w < workers.size(); ++w)
        cut(w, home, true, true, lasts);
      break;
    case 4:
      for (std::size_t h = 0; h < homes.size(); ++h)
        cut(worker, h, true, true, lasts);
      break;
    case 5:
    case 6: freeze(workers[worker]->on, lasts); break;
    case 7: freeze(homes[home]->on, lasts); break;
    case 8:
    case 9: restart(*workers[worker], workers, worker); break;
    case 10: restart(*homes[home], homes, home); break;
    case 11: workers[worker]->drain(); break;
    case 12: // connections are reset
      for (auto& [number, w] : wires)
        if (w.worker == worker && w.home == home)
          break_wire(w);
      way_up(worker, home).touched = time.now();
      break;
    case 13: { // another home takes a run over
      auto r = rolls.below(runs.size());
      auto& to = *homes[home];
      if (runs[r].home_life > 0 && runs[r].home != home && to.on.alive())
        to.on.soon([&to, r] { to.take_run(r); });
      break;
    }
    case 14: { // somebody gives a task up
      auto t = rolls.below(tasks.size());
      auto& at = *homes[runs[tasks[t].planned.run].home];
      if (at.on.alive())
        at.on.soon([&at, t] { at.cancel(t); });
      break;
    }
    default: // both cores are busy: everybody stands still for a moment
      for (auto& w : workers)
        freeze(w->on, rolls.time(20ms, 700ms));
      for (auto& h : homes)
        freeze(h->on, rolls.time(20ms, 700ms));
  }
}

void simulation::heal() {
  note("world", "healed");
  for (auto* ways : {&ways_up_, &ways_down_})
    for (auto& w : *ways) {
      if (w.cut)
        w.touched = time.now();
      w.cut = false;
    }
  for (auto& [number, w] : wires) {
    w.up->release();
    w.down->release();
  }
  for (auto& h : homes)
    h->on.alive() ? h->on.thaw() : h->start();
  for (auto& w : workers)
    w->on.alive() ? w->on.thaw() : w->start();
  check_overlaps();
  for (std::size_t t = 0; t < tasks.size(); ++t) { // nobody comes who could take them
    const auto& where = tasks[t].planned.where;
    auto& at = *homes[runs[tasks[t].planned.run].home];
    const auto& graph = runs[tasks[t].planned.run].planned.graph;
    bool possible = std::any_of(drawn.workers.begin(), drawn.workers.end(), [&](const auto& w) {
      worker_view view{.name = "w", .labels = w.labels, .graphs = w.graphs};
      normalise(view);
      return fitness_of(view, {.where = where, .graph = graph}) == fitness::fits;
    });
    if (possible || where.missing == no_worker::fail)
      continue;
    at.cancel(t);
    tasks[t].cancelled = true;
  }
}

} // namespace troupe::cluster::sim
