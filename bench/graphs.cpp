// graphs: the graphs that several sections of workloads run.
#include "bench/graphs.hpp"

#include <atomic>
#include <utility>

namespace troupe::bench {

namespace {

constexpr std::size_t item_bytes = 100;

std::size_t scheduler_threads = 0;

schema counter_schema() {
  return schema{{"counter", last_value}};
}

state_update increment(const state_view& state) {
  return state_update{}.set("counter", state["counter"].as_int() + 1);
}

std::string item(std::size_t index) {
  auto digits = std::to_string(index);
  auto text = "item " + std::string(6 - std::min<std::size_t>(6, digits.size()), '0') + digits
              + ' ';
  text.resize(item_bytes, 'x');
  return text;
}

} // namespace

std::string new_thread() {
  static std::atomic<std::uint64_t> last{0};
  return "t" + std::to_string(last.fetch_add(1, std::memory_order_relaxed) + 1);
}

run_config new_run(durability d) {
  run_config config;
  config.thread_id = new_thread();
  config.durability = d;
  config.recursion_limit = steps_unlimited;
  return config;
}

run_input zero() {
  return value::map({{"counter", 0}});
}

compiled_graph single_step() {
  state_graph<> graph{counter_schema()};
  graph.add_node("a", increment);
  graph.add_edge(START, "a");
  graph.add_edge("a", END);
  return graph.compile();
}

compiled_graph chain3(compile_options options) {
  state_graph<> graph{counter_schema()};
  graph.add_node("a", increment);
  graph.add_node("b", increment);
  graph.add_node("c", increment);
  graph.add_edge(START, "a");
  graph.add_edge("a", "b");
  graph.add_edge("b", "c");
  graph.add_edge("c", END);
  return graph.compile(std::move(options));
}

compiled_graph counter_loop(std::int64_t end) {
  state_graph<> graph{counter_schema()};
  graph.add_node("step", increment);
  graph.add_edge(START, "step");
  graph.add_conditional_edges("step",
                              [end](const state_view& state) {
                                return state["counter"].as_int() < end ? "step" : END;
                              },
                              {"step", END});
  return graph.compile();
}

compiled_graph append_loop(std::int64_t end) {
  state_graph<> graph{schema{{"items", append}}};
  graph.add_node("step", [](const state_view& state) {
    return state_update{}.set("items", value::list({item(state["items"].size())}));
  });
  graph.add_edge(START, "step");
  graph.add_conditional_edges("step",
                              [end](const state_view& state) {
                                return static_cast<std::int64_t>(state["items"].size()) < end
                                         ? "step"
                                         : END;
                              },
                              {"step", END});
  return graph.compile();
}

run_input no_items() {
  return value::map({{"items", value::list()}});
}

void expect_items(const value& output, std::int64_t end) {
  const auto& items = output["items"];
  expect(items.size() == static_cast<std::size_t>(end), "the number of items");
  for (std::size_t i = 0; i < items.size(); ++i)
    expect(items[i] == value(item(i)), "an item");
  note_result(output);
}

figure invoke_counter(const sampler& sample, const app<>& graph, durability d, std::int64_t end) {
  auto input = zero();
  auto config = new_run(d);
  run_result last;
  auto run = [&] {
    config.thread_id = new_thread();
    last = graph.invoke(input, config);
  };
  return sample.batches(run, [&last, end] {
    expect(last.value() == value::map({{"counter", end}}), "the counter");
    note_result(last.value());
  });
}

void note_result(const value& state) {
  note_state(to_msgpack(state).value());
}

runtime_options with_saver(std::shared_ptr<saver> store) {
  runtime_options options;
  options.saver = std::move(store);
  options.worker_threads = scheduler_threads;
  return options;
}

void use_threads(std::size_t count) {
  scheduler_threads = count;
}

std::size_t stored_checkpoints(saver& store) {
  std::size_t sum = 0;
  for (const auto& thread : store.threads().value())
    sum += thread.checkpoints;
  return sum;
}

value nested_map(int outer, int inner) {
  auto key = [](int digit) { return std::string(10, static_cast<char>('0' + digit)); };
  std::vector<value::map_init> all;
  for (int i = 0; i < outer; ++i) {
    std::vector<value::map_init> lists;
    for (int j = 0; j < inner; ++j) {
      std::vector<value> leaves;
      for (int k = 0; k < 5; ++k)
        for (const auto& leaf : {value("hi?hi?hi?hi?hi?hi?hi?hi?hi?hi?"), value(true), value(1),
                                 value(6327816386138), value()})
          leaves.push_back(leaf);
      lists.emplace_back(key(j), value::list(std::move(leaves)));
    }
    all.emplace_back(key(i), value::map(std::move(lists)));
  }
  return value::map(std::move(all));
}

} // namespace troupe::bench
