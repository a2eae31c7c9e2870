// many_runs (section B): many runs at once on one store. Each step is durable before the next one
// begins. Floors of LMDB alone are sampled in turns with them: as many records in as many places,
// with all runs in each commit.

#include "bench/fresh_store.hpp"
#include "bench/raw_lmdb.hpp"

#include <cmath>
#include <numeric>

namespace troupe::bench {

namespace {

using clock = std::chrono::steady_clock;

constexpr std::size_t steps = 200;        // of each run
constexpr std::size_t records = 3;        // of a step: checkpoint, value, writes
constexpr std::size_t floor_commits = 50; // beside each sample, since the speed of a disk varies

/// The time at which each step of each run began. With durability sync the step before was on the
/// disk by then.
class step_times {
public:
  explicit step_times(std::size_t runs) : began_(runs, std::vector<clock::time_point>(steps)) {}

  void note(std::size_t run, std::size_t step) { began_[run][step] = clock::now(); }

  /// Appends the time of each step. Units: microseconds, to the next step of its run.
  void append_latencies(std::vector<double>& all) const {
    for (const auto& run : began_)
      for (std::size_t step = 1; step < steps; ++step)
        all.push_back(microseconds(run[step] - run[step - 1]));
  }

private:
  std::vector<std::vector<clock::time_point>> began_;
};

compiled_graph noting_loop(step_times& times) {
  state_graph<> graph{schema{{"counter", last_value}, {"run", last_value}}};
  graph.add_node("step", [&times](const state_view& state) {
    auto counter = state["counter"].as_int();
    times.note(static_cast<std::size_t>(state["run"].as_int()), static_cast<std::size_t>(counter));
    return state_update{}.set("counter", counter + 1);
  });
  graph.add_edge(START, "step");
  graph.add_conditional_edges("step",
                              [](const state_view& state) {
                                return state["counter"].as_int() < std::int64_t{steps} ? "step"
                                                                                       : END;
                              },
                              {"step", END});
  return graph.compile();
}

/// Times all runs, from the first start to the last end.
timing run_at_once(const app<>& graph, std::size_t runs) {
  std::vector<run_input> inputs;
  std::vector<run_config> configs;
  for (std::size_t i = 0; i < runs; ++i) {
    inputs.emplace_back(value::map({{"counter", 0}, {"run", i}}));
    configs.push_back(new_run(durability::sync));
  }
  std::vector<run_handle> started;
  std::vector<run_result> results;
  auto took = time_with_cpu([&] {
    for (std::size_t i = 0; i < runs; ++i)
      started.push_back(graph.start(inputs[i], configs[i]));
    for (auto& run : started)
      results.push_back(run.get().value());
  });
  for (const auto& result : results)
    expect(result.value()["counter"] == value(steps), "a counter");
  return took;
}

double percentile(std::vector<double>& all, double share) {
  auto at = static_cast<std::size_t>(std::floor(share * static_cast<double>(all.size() - 1)));
  std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(at), all.end());
  return all[at];
}

double sum(const std::vector<double>& all) {
  return std::accumulate(all.begin(), all.end(), 0.0);
}

double per_second(std::size_t count, double us) {
  return static_cast<double>(count) / us * 1e6;
}

figure durable_steps(const sampler& sample, std::size_t runs) {
  step_times times{runs};
  std::vector<double> latencies;
  std::vector<double> cpu_us;
  std::vector<double> floor_us; // of one commit
  fresh_store store{medium::file};
  scratch_dir floor_dir;
  raw_lmdb raw{floor_dir.path()};
  std::uint64_t rounds = 0;
  auto graph = store.load(noting_loop(times));
  auto out = sample.each(
    [&] {
      auto all = run_at_once(graph, runs);
      cpu_us.push_back(all.cpu_us / static_cast<double>(runs * steps));
      times.append_latencies(latencies);
      for (std::size_t i = 0; i < floor_commits; ++i)
        floor_us.push_back(time_us([&] { raw.commit_to_places(runs * records, ++rounds); }));
      return per_second(runs * steps, all.us);
    },
    "per_s");
  out.further = {{"p50_us", percentile(latencies, 0.5)},
                 {"p99_us", percentile(latencies, 0.99)},
                 {"cpu_us_per_step", median(cpu_us)},
                 {"lmdb_steps_per_s", per_second(runs * floor_us.size(), sum(floor_us))},
                 {"lmdb_commit_p50_us", percentile(floor_us, 0.5)},
                 {"lmdb_commit_p99_us", percentile(floor_us, 0.99)}};
  return out;
}

// Without a saver: what simultaneous runs share costs more with each thread of the scheduler.
figure runs_on_threads(const sampler& sample, std::size_t threads) {
  constexpr std::size_t runs = 512;
  runtime machine{{.worker_threads = threads}};
  auto graph = machine.load(chain3());
  auto input = zero();
  auto config = new_run(durability::exit);
  std::vector<run_handle> started;
  started.reserve(runs);
  auto run = [&] {
    for (std::size_t i = 0; i < runs; ++i)
      started.push_back(graph.start(input, config));
    for (auto& each : started)
      expect(each.get().value().value()["counter"] == value(3), "a counter");
    started.clear();
  };
  auto out = sample.batches(run);
  for (auto& us : out.samples)
    us /= runs;
  return out;
}

} // namespace

void add_many_runs(workloads& all) {
  for (std::size_t threads : {1, 2, 4, 8})
    all.push_back({"threads_" + std::to_string(threads) + "_chain3",
                   [threads](const sampler& s) { return runs_on_threads(s, threads); }});
  for (std::size_t runs : {1, 8, 64, 256})
    all.push_back({"durable_steps_" + std::to_string(runs) + "x" + std::to_string(steps) + "_file",
                   [runs](const sampler& s) { return durable_steps(s, runs); }});
}

} // namespace troupe::bench
