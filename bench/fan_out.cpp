// fan_out (section A): many tasks in one step, by static edges with a join and by sends.

#include "bench/graphs.hpp"

namespace troupe::bench {

namespace {

schema results_schema() {
  return schema{{"results", append}, {"count", last_value}};
}

run_input no_results() {
  return value::map({{"results", value::list()}, {"count", 0}});
}

state_update one_result(value i) {
  return state_update{}.set("results", value::list({std::move(i)}));
}

value numbers_below(int end) {
  std::vector<value> all;
  all.reserve(static_cast<std::size_t>(end));
  for (int i = 0; i < end; ++i)
    all.emplace_back(i);
  return value::list(std::move(all));
}

compiled_graph static_fan_out(int workers) {
  state_graph<> graph{results_schema()};
  graph.add_node("join", [](const state_view& state) {
    return state_update{}.set("count", state["results"].size());
  });
  for (int i = 0; i < workers; ++i) {
    auto name = "worker" + std::to_string(1000 + i); // tasks of a step are ordered by name
    graph.add_node(name, [i](const state_view&) { return one_result(i); });
    graph.add_edge(START, name);
    graph.add_edge(name, "join");
  }
  graph.add_edge("join", END);
  return graph.compile();
}

compiled_graph send_fan_out(int tasks) {
  state_graph<> graph{results_schema()};
  graph.add_node("worker", [](const state_view& argument) { return one_result(argument["i"]); });
  graph.add_conditional_edges(START,
                              [tasks](const state_view&) {
                                std::vector<send> sends;
                                sends.reserve(static_cast<std::size_t>(tasks));
                                for (int k = 0; k < tasks; ++k)
                                  sends.push_back(send{"worker", value::map({{"i", k}})});
                                return sends;
                              },
                              {"worker"});
  graph.add_edge("worker", END);
  return graph.compile();
}

figure invoke_fan_out(const sampler& sample, const compiled_graph& compiled, int tasks, int count) {
  runtime machine{with_saver()};
  auto graph = machine.load(compiled);
  auto input = no_results();
  auto config = new_run(durability::exit);
  run_result last;
  auto run = [&] {
    config.thread_id = new_thread();
    last = graph.invoke(input, config);
  };
  auto wanted = value::map({{"results", numbers_below(tasks)}, {"count", count}});
  return sample.batches(run, [&last, &wanted] {
    expect(last.value() == wanted, "the results");
    note_result(last.value());
  });
}

/// The price of a barrier: steps of tasks that do nothing, one after the other. The variant on bare
/// actors sends as many messages.
figure barrier(const sampler& sample, int width) {
  constexpr std::uint32_t steps = 200;
  state_graph<> g{results_schema()};
  for (int i = 0; i < width; ++i) {
    auto name = "worker" + std::to_string(1000 + i);
    g.add_node(name, [] {});
    g.add_edge(START, name);
    g.add_edge(name, name);
  }
  runtime machine{with_saver()};
  auto graph = machine.load(g.compile());
  auto input = no_results();
  auto config = new_run(durability::exit);
  config.recursion_limit = steps;
  return sample.each([&] {
    bool endless = false;
    auto us = time_us([&] {
      auto how = graph.try_invoke(input, config);
      endless = !how && how.error().code() == errc::graph_recursion;
    });
    expect(endless, "to be cut off");
    return us / steps;
  });
}

} // namespace

void add_fan_out(workloads& all) {
  all.push_back({"barrier_100", [](const sampler& sample) { return barrier(sample, 100); }});
  for (int n : {5, 10, 100})
    all.push_back({"fanout_join_" + std::to_string(n), [n](const sampler& sample) {
                     return invoke_fan_out(sample, static_fan_out(n), n, n);
                   }});
  for (int n : {10, 100, 1000, 10'000, 100'000})
    all.push_back({"send_fanout_" + std::to_string(n), [n](const sampler& sample) {
                     return invoke_fan_out(sample, send_fan_out(n), n, 0);
                   }});
}

} // namespace troupe::bench
