// Drawing plans.
#include "tests/cluster/sim/plan.hpp"

#include <chrono>

namespace troupe::cluster::sim {

namespace {

using namespace std::chrono_literals;

const char* const labels[] = {"gpu", "big"};

graph_offer graph(std::size_t which, bool other_version) {
  return {.name = std::string(1, static_cast<char>('a' + which)),
          .hash = std::string(31, static_cast<char>('0' + which)) + (other_version ? "f" : "0")};
}

worker_plan make_worker(dice& d) {
  worker_plan out{
    .capacity = static_cast<std::uint32_t>(d.from_to(1, 6)), .labels = {}, .graphs = {}};
  for (const char* label : labels)
    if (d.chance(50))
      out.labels.emplace_back(label);
  for (std::size_t g = 0; g < 3; ++g)
    if (g == 0 || d.chance(80))
      out.graphs.push_back(graph(g, g == 2 && d.chance(30)));
  return out;
}

nanoseconds make_length(dice& d) {
  if (d.chance(60))
    return d.time(1ms, 80ms);
  return d.chance(85) ? d.time(80ms, 1s) : d.time(1s, 9s);
}

task_plan make_task(dice& d, std::size_t run, bool poisonous) {
  task_plan out{.run = run, .submitted = d.time(0ms, 4s), .takes = make_length(d)};
  out.group = d.chance(30);
  out.poison = poisonous && d.chance(4);
  if (d.chance(30))
    out.where.label = d.chance(95) ? labels[d.below(2)] : "none has it";
  out.where.choice = d.chance(70) ? worker_choice::spread : worker_choice::pack;
  out.where.missing = d.chance(70) ? no_worker::fail : no_worker::wait;
  return out;
}

} // namespace

plan make_plan(std::uint64_t seed) {
  dice d{seed * 2 + 1};
  plan p;
  p.seed = seed;
  p.homes = d.from_to(1, 3);
  for (auto n = d.from_to(1, 5); n > 0; --n)
    p.workers.push_back(make_worker(d));
  p.queue_max = d.chance(20) ? d.from_to(1, 12) : 100'000;
  p.delay = d.chance(70) ? d.time(20us, 2ms) : d.time(2ms, 120ms);
  p.jitter = p.delay / 2 + (d.chance(50) ? d.time(0ms, 100ms) : 0ms);
  p.fault_each = d.chance(5) ? 0ms : d.time(150ms, 2500ms);
  p.heals_at = d.time(4s, 14s);
  p.drift_percent = d.chance(50) ? static_cast<unsigned>(d.from_to(1, 2)) : 0;
  p.wild = d.chance(60);
  p.kind = static_cast<unsigned>(d.below(16));
  p.hostile = d.chance(20);
  bool poisonous = p.fault_each > 0ms && d.chance(20);
  for (auto runs = d.from_to(1, 6); runs > 0; --runs) {
    p.runs.push_back({.home = d.below(p.homes),
                      .begins = d.time(0ms, p.heals_at / 2),
                      .graph = graph(d.chance(60) ? 0 : d.from_to(1, 2), false)});
    for (auto tasks = d.from_to(1, 25); tasks > 0; --tasks)
      p.tasks.push_back(make_task(d, p.runs.size() - 1, poisonous));
  }
  dice later{~seed}; // what was thought of later leaves the rest of a seed's plan as it was
  p.lane_max = later.chance(50) ? 0ms : later.time(1ms, 50ms);
  auto hosts = later.from_to(1, 3);
  for (std::size_t home = 0; home < p.homes; ++home)
    p.home_hosts.push_back(later.below(hosts));
  for (auto& w : p.workers)
    w.host = later.below(hosts);
  return p;
}

std::string describe(const plan& p) {
  auto ms = [](nanoseconds t) { return std::to_string(t / 1ms) + " ms"; };
  std::string out = "seed " + std::to_string(p.seed) + ": " + std::to_string(p.homes) + " homes, "
                    + std::to_string(p.workers.size()) + " workers (capacity";
  for (const auto& w : p.workers)
    out += " " + std::to_string(w.capacity);
  out += "; on hosts";
  for (auto host : p.home_hosts)
    out += " " + std::to_string(host);
  out += " /";
  for (const auto& w : p.workers)
    out += " " + std::to_string(w.host);
  out += "), " + std::to_string(p.runs.size()) + " runs, " + std::to_string(p.tasks.size())
         + " tasks, queue " + std::to_string(p.queue_max) + ", delay " + ms(p.delay) + " + "
         + ms(p.jitter) + ", lanes " + ms(p.lane_max) + ", drift " + std::to_string(p.drift_percent)
         + " %, ";
  if (p.fault_each == 0ms)
    out += "no faults";
  else
    out += "a fault each " + ms(p.fault_each)
           + (p.wild ? " of every kind" : " of kind " + std::to_string(p.kind));
  out += p.hostile ? ", hostile peers" : "";
  return out + ", healed at " + ms(p.heals_at);
}

} // namespace troupe::cluster::sim
