// durability (section B): the cost of storing, in time and in bytes on disk. A file is a fresh
// store of the LMDB saver on a local disk, opened before the clock starts.

#include "bench/fresh_store.hpp"

#include <utility>

namespace troupe::bench {

namespace {

// ---- loops, each with a saver of its own --------------------------------------------------------

/// A loop, its input, and the expected output and steps of a run.
struct loop {
  compiled_graph graph;
  run_input input;
  std::function<void(const value&)> expect_output;
  std::size_t steps;
};

loop counting(std::int64_t end) {
  auto expect_counter = [end](const value& output) {
    expect(output == value::map({{"counter", end}}), "the counter");
    note_result(output);
  };
  return {counter_loop(end), zero(), expect_counter, static_cast<std::size_t>(end)};
}

loop appending(std::int64_t end) {
  auto expect_output = [end](const value& output) { expect_items(output, end); };
  return {append_loop(end), no_items(), expect_output, static_cast<std::size_t>(end)};
}

/// Runs a loop once. Returns its times.
timing run_loop(const loop& work, durability d, fresh_store& store) {
  auto graph = store.load(work.graph);
  auto config = new_run(d);
  run_result result;
  auto took = time_with_cpu([&] { result = graph.invoke(work.input, config); });
  work.expect_output(result.value());
  auto count = store.checkpoints();
  if (d == durability::exit)
    expect(count == 1, "the number of checkpoints");
  else
    expect(count == work.steps + 1 || count == work.steps + 2, "the number of checkpoints");
  return took;
}

/// Adds a step's share of the samples. A share that does not change with the number of steps is
/// O(1) a step.
void add_share_of_a_step(figure& to, const std::string& name, const std::vector<double>& samples,
                         const loop& work) {
  to.further.emplace_back(name + "_per_step", median(samples) / static_cast<double>(work.steps));
}

figure time_loop(const sampler& sample, const loop& work, durability d, medium where) {
  std::vector<double> cpu_us;
  auto out = sample.each([&] {
    fresh_store store{where};
    auto took = run_loop(work, d, store);
    cpu_us.push_back(took.cpu_us);
    return took.us;
  });
  add_share_of_a_step(out, "us", out.samples, work);
  add_share_of_a_step(out, "cpu_us", cpu_us, work);
  return out;
}

figure measure_loop(const sampler& sample, const loop& work, durability d, medium where) {
  auto one = [&work, d, where] {
    fresh_store store{where};
    run_loop(work, d, store);
    return static_cast<double>(store.close());
  };
  auto out = sample.exactly(runs_min, one, "bytes");
  add_share_of_a_step(out, "bytes", out.samples, work);
  return out;
}

void add_loops(workloads& all, const std::string& name, loop (*make)(std::int64_t),
               std::int64_t end, durability d, medium where = medium::file) {
  all.push_back({name, [make, end, d, where](const sampler& sample) {
                   return time_loop(sample, make(end), d, where);
                 }});
  all.push_back({name + "_bytes", [make, end, d, where](const sampler& sample) {
                   return measure_loop(sample, make(end), d, where);
                 }});
}

void add_memory_loop(workloads& all, std::string name, loop (*make)(std::int64_t), std::int64_t end,
                     durability d) {
  all.push_back({std::move(name), [make, end, d](const sampler& sample) {
                   return time_loop(sample, make(end), d, medium::memory);
                 }});
}

// ---- one saver for all runs ---------------------------------------------------------------------

figure invoke_single_step(const sampler& sample, medium where) {
  fresh_store store{where};
  return invoke_counter(sample, store.load(single_step()), durability::sync, 1);
}

compiled_graph asking_chain() {
  auto increment = [](const state_view& state) {
    return state_update{}.set("counter", state["counter"].as_int() + 1);
  };
  state_graph<> graph{schema{{"counter", last_value}}};
  graph.add_node("a", increment);
  graph.add_node("b", [](const state_view& state, context& ctx) {
    auto more = ctx.interrupt("go?").as_int();
    return state_update{}.set("counter", state["counter"].as_int() + more);
  });
  graph.add_node("c", increment);
  graph.add_edge(START, "a");
  graph.add_edge("a", "b");
  graph.add_edge("b", "c");
  graph.add_edge("c", END);
  return graph.compile();
}

figure interrupt_and_resume(const sampler& sample, medium where) {
  fresh_store store{where};
  auto graph = store.load(asking_chain());
  auto input = zero();
  run_input answer = command{.resume = value(10)};
  auto config = new_run(durability::sync);
  run_result asked;
  run_result done;
  auto run = [&] {
    config.thread_id = new_thread();
    asked = graph.invoke(input, config);
    done = graph.invoke(answer, config);
  };
  return sample.batches(run, [&asked, &done] {
    expect(asked.interrupts().size() == 1 && asked.interrupts()[0].value == value("go?"),
           "the question");
    expect(done.value() == value::map({{"counter", 12}}) && !done.paused(), "the counter");
    note_result(done.value());
  });
}

figure loops_at_once(const sampler& sample) {
  constexpr std::size_t threads = 64;
  constexpr std::int64_t steps = 10;
  fresh_store store{medium::file};
  auto graph = store.load(counter_loop(steps));
  auto input = zero();
  return sample.each([&] {
    std::vector<run_config> configs;
    for (std::size_t i = 0; i < threads; ++i)
      configs.push_back(new_run(durability::sync));
    std::vector<run_handle> started;
    std::vector<run_result> results;
    auto us = time_us([&] {
      for (const auto& config : configs)
        started.push_back(graph.start(input, config));
      for (auto& run : started)
        results.push_back(run.get().value());
    });
    for (const auto& result : results)
      expect(result.value()["counter"] == value(steps), "a counter");
    note_result(results.back().value());
    return us;
  });
}

} // namespace

void add_durability(workloads& all) {
  all.push_back(
    {"single_step_memory", [](const sampler& s) { return invoke_single_step(s, medium::memory); }});
  all.push_back(
    {"single_step_file", [](const sampler& s) { return invoke_single_step(s, medium::file); }});
  for (auto d : {durability::sync, durability::async, durability::exit}) {
    std::string ending{to_string(d)};
    add_memory_loop(all, "counter_loop_1000_memory_" + ending, counting, 1000, d);
    add_loops(all, "counter_loop_1000_file_" + ending, counting, 1000, d);
  }
  for (int end : {100, 300, 1000, 10'000}) {
    auto name = "append_loop_" + std::to_string(end);
    add_memory_loop(all, name + "_memory", appending, end, durability::sync);
    add_loops(all, name + "_file", appending, end, durability::sync);
  }
  for (auto [ending, where] : {std::pair{"_uncompressed", medium::uncompressed_file},
                               std::pair{"_encrypted", medium::encrypted_file}}) {
    add_loops(all, std::string{"counter_loop_1000_file_sync"} + ending, counting, 1000,
              durability::sync, where);
    add_loops(all, std::string{"append_loop_1000_file"} + ending, appending, 1000, durability::sync,
              where);
  }
  all.push_back({"interrupt_resume_memory",
                 [](const sampler& s) { return interrupt_and_resume(s, medium::memory); }});
  all.push_back({"interrupt_resume_file",
                 [](const sampler& s) { return interrupt_and_resume(s, medium::file); }});
  all.push_back({"concurrent_64x10_file", loops_at_once});
}

} // namespace troupe::bench
