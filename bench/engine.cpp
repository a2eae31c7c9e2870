// engine (section A): the engine without a saver, from one step to many runs at once.

#include "bench/graphs.hpp"

#include <memory>

namespace troupe::bench {

struct counter_state {
  std::int64_t counter = 0;
  TROUPE_STATE(counter_state, counter)
};

namespace {

figure invoke_typed_chain3(const sampler& sample) {
  auto increment = [](const counter_state& s) {
    return troupe::set(&counter_state::counter, s.counter + 1);
  };
  state_graph<counter_state> builder;
  builder.add_node("a", increment);
  builder.add_node("b", increment);
  builder.add_node("c", increment);
  builder.add_edge(START, "a");
  builder.add_edge("a", "b");
  builder.add_edge("b", "c");
  builder.add_edge("c", END);

  runtime machine{with_saver()};
  auto graph = machine.load(builder.compile());
  auto config = new_run(durability::exit);
  counter_state last;
  auto run = [&] {
    config.thread_id = new_thread();
    last = graph.invoke(counter_state{}, config).state();
  };
  return sample.batches(run, [&last] {
    expect(last.counter == 3, "the counter");
    note_result(value::map({{"counter", last.counter}}));
  });
}

// ---- chains of nodes that do nothing ------------------------------------------------------------

state_graph<> idle_chain(int nodes) {
  state_graph<> graph{schema{{"messages", add_messages}}};
  auto name = [](int i) { return "node" + std::to_string(i); };
  for (int i = 0; i < nodes; ++i)
    graph.add_node(name(i), [](const state_view&) {});
  graph.add_edge(START, name(0));
  for (int i = 1; i < nodes; ++i)
    graph.add_edge(name(i - 1), name(i));
  graph.add_edge(name(nodes - 1), END);
  return graph;
}

run_input no_messages() {
  return value::map({{"messages", value::list()}});
}

figure drain_chain(const sampler& sample, int nodes) {
  runtime machine{with_saver()};
  auto graph = machine.load(idle_chain(nodes).compile());
  auto input = no_messages();
  auto config = new_run(durability::exit);
  auto state = graph.invoke(input, config).value();
  expect(state["messages"] == value::list(), "the messages");
  note_result(state);

  int events = 0;
  auto run = [&] {
    events = 0;
    config.thread_id = new_thread();
    auto parts = graph.stream(input, config);
    while (parts.next())
      ++events;
  };
  return sample.batches(run, [&events, nodes] { expect(events == nodes, "the number of events"); });
}

figure compile_chain(const sampler& sample) {
  auto builder = idle_chain(1000);
  return sample.each([&builder] {
    std::optional<compiled_graph> graph;
    auto us = time_us([&] { graph = builder.compile(); });
    expect(graph->nodes().size() == 1000, "the number of nodes");
    return us;
  });
}

figure first_event_of_chain(const sampler& sample) {
  runtime machine{with_saver()};
  auto graph = machine.load(idle_chain(1000).compile());
  auto input = no_messages();
  auto config = new_run(durability::exit);
  std::optional<stream_part> first;
  auto run = [&] {
    config.thread_id = new_thread();
    auto parts = graph.stream(input, config);
    first = parts.next();
  };
  return sample.batches(run, [&first] {
    expect(first && first->data.contains("node0"), "the first event");
    note_result(first->data);
  });
}

// ---- custom events ------------------------------------------------------------------------------

figure stream_custom(const sampler& sample) {
  constexpr int events = 10'000;
  constexpr const char* token = "token-token-token-tok";
  state_graph<> builder{schema{{"n", last_value}}};
  builder.add_node("emit", [](const state_view&, context& ctx) {
    for (int i = 0; i < events; ++i)
      ctx.write(token);
    return state_update{}.set("n", 1);
  });
  builder.add_edge(START, "emit");
  builder.add_edge("emit", END);

  runtime machine{with_saver()};
  auto graph = machine.load(builder.compile());
  run_input input = value::map({{"n", 0}});
  std::vector<stream_part> received;
  received.reserve(events);
  return sample.each([&] {
    received.clear();
    auto config = new_run(durability::exit);
    auto us = time_us([&] {
      auto parts = graph.stream(input, config, {stream_mode::custom});
      while (auto part = parts.next())
        received.push_back(std::move(*part));
    });
    expect(received.size() == events, "the number of events");
    std::vector<value> tokens;
    for (std::size_t i = 0; i < received.size(); ++i) {
      expect(received[i].data == value(token) && received[i].seq == i + 1, "an event");
      tokens.push_back(received[i].data);
    }
    note_result(value::list(std::move(tokens)));
    return us;
  });
}

// ---- many runs at once --------------------------------------------------------------------------

figure invoke_at_once(const sampler& sample, std::size_t runs) {
  runtime machine{with_saver()};
  auto graph = machine.load(chain3());
  auto input = zero();
  return sample.each([&] {
    std::vector<run_config> configs;
    for (std::size_t i = 0; i < runs; ++i)
      configs.push_back(new_run(durability::exit));
    std::vector<run_handle> started;
    std::vector<run_result> results;
    started.reserve(runs);
    results.reserve(runs);
    auto us = time_us([&] {
      for (const auto& config : configs)
        started.push_back(graph.start(input, config));
      for (auto& run : started)
        results.push_back(run.get().value());
    });
    std::vector<value> counters;
    for (const auto& result : results) {
      expect(result.value()["counter"] == value(3), "a counter");
      counters.push_back(result.value()["counter"]);
    }
    note_result(value::list(std::move(counters)));
    return us;
  });
}

workload counter_workload(std::string name, compiled_graph (*build)(), std::int64_t end) {
  return {std::move(name), [build, end](const sampler& sample) {
            runtime machine{with_saver()};
            return invoke_counter(sample, machine.load(build()), durability::exit, end);
          }};
}

} // namespace

void add_engine(workloads& all) {
  all.push_back(counter_workload("single_step_none", single_step, 1));
  all.push_back(counter_workload(
    "chain3_invoke", [] { return chain3(); }, 3));
  all.push_back({"chain3_invoke", invoke_typed_chain3, "typed"});
  all.push_back(counter_workload(
    "counter_loop_1000_none", [] { return counter_loop(1000); }, 1000));
  all.push_back({"sequential_10", [](const sampler& s) { return drain_chain(s, 10); }});
  all.push_back({"sequential_1000", [](const sampler& s) { return drain_chain(s, 1000); }});
  all.push_back({"sequential_1000_compilation", compile_chain});
  all.push_back({"sequential_1000_first_event", first_event_of_chain});
  all.push_back({"stream_custom_10000", stream_custom});
  all.push_back({"concurrent_64_chain3", [](const sampler& s) { return invoke_at_once(s, 64); }});
  all.push_back(
    {"concurrent_1000_chain3", [](const sampler& s) { return invoke_at_once(s, 1000); }});
}

} // namespace troupe::bench
