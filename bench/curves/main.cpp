// troupe-curves: counts of work at one size, for fits over many sizes (bench/suite/curves.py).
//
// usage: troupe-curves CURVE SIZE FOLDER      prints one JSON object of counts
//
// Counts are allocations and bytes, which don't depend on the speed of the machine.
#include "bench/curves/counting.hpp"
#include "bench/graphs.hpp"

#include <troupe/agents/messages.hpp>
#include <troupe/runtime.hpp>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::bench {

namespace {

using counts = std::vector<std::pair<std::string, double>>;

counts totals(const memory_counts& all) {
  return {{"allocations", static_cast<double>(all.allocations)},
          {"bytes", static_cast<double>(all.bytes)}};
}

/// The smallest counts of some calls: other threads add work to some of them.
template <class F> memory_counts least_of(F work) {
  constexpr int calls = 15;
  work();
  auto least = counts_of(work);
  for (int i = 1; i < calls; ++i) {
    auto more = counts_of(work);
    least.allocations = std::min(least.allocations, more.allocations);
    least.bytes = std::min(least.bytes, more.bytes);
  }
  return least;
}

// ---- steps and graphs of a size -----------------------------------------------------------------

state_graph<> wide_step(std::size_t tasks) {
  state_graph<> g{schema{{"results", append}}};
  g.add_node("worker", [](const state_view& argument) {
    return state_update{}.set("results", value::list({argument["i"]}));
  });
  g.add_conditional_edges(START,
                          [tasks](const state_view&) {
                            std::vector<send> sends;
                            for (std::size_t k = 0; k < tasks; ++k)
                              sends.push_back(send{"worker", value::map({{"i", k}})});
                            return sends;
                          },
                          {"worker"});
  g.add_edge("worker", END);
  return g;
}

state_graph<> fan_out_with_join(std::size_t workers) {
  state_graph<> g{schema{{"results", append}, {"count", last_value}}};
  g.add_node("join", [](const state_view& state) {
    return state_update{}.set("count", state["results"].size());
  });
  std::vector<std::string> names;
  for (std::size_t i = 0; i < workers; ++i) {
    names.push_back("worker" + std::to_string(i));
    g.add_node(names.back(), [i](const state_view&) {
      return state_update{}.set("results", value::list({value(i)}));
    });
    g.add_edge(START, names.back());
  }
  g.add_edge(names, "join");
  g.add_edge("join", END);
  return g;
}

state_graph<> long_chain(std::size_t nodes) {
  state_graph<> g{schema{{"counter", last_value}}};
  auto name = [](std::size_t i) { return "node" + std::to_string(i); };
  for (std::size_t i = 0; i < nodes; ++i)
    g.add_node(name(i), [](const state_view& state) {
      return state_update{}.set("counter", state["counter"].as_int() + 1);
    });
  g.add_edge(START, name(0));
  for (std::size_t i = 1; i < nodes; ++i)
    g.add_edge(name(i - 1), name(i));
  g.add_edge(name(nodes - 1), END);
  return g;
}

/// Compiles and runs a graph once.
counts compile_and_run(const state_graph<>& builder, const value& input) {
  std::optional<compiled_graph> graph;
  auto compiling = counts_of([&] { graph = builder.compile(); });
  runtime machine{with_saver()};
  auto app = machine.load(*graph);
  auto config = new_run(durability::exit);
  app.invoke(input, config);
  config = new_run(durability::exit);
  auto running = counts_of([&] { app.invoke(input, config); });
  return {{"compile_allocations", static_cast<double>(compiling.allocations)},
          {"compile_bytes", static_cast<double>(compiling.bytes)},
          {"run_allocations", static_cast<double>(running.allocations)},
          {"run_bytes", static_cast<double>(running.bytes)}};
}

counts width(std::size_t size, const std::string&) {
  return compile_and_run(wide_step(size), value::map({{"results", value::list()}}));
}

counts join(std::size_t size, const std::string&) {
  return compile_and_run(fan_out_with_join(size), value::map({{"results", value::list()}}));
}

counts chain(std::size_t size, const std::string&) {
  return compile_and_run(long_chain(size), value::map({{"counter", 0}}));
}

// ---- lists --------------------------------------------------------------------------------------

state_graph<> talking_loop(std::size_t messages) {
  state_graph<> g{schema{{"messages", add_messages}}};
  g.add_node("talk", [](const state_view& state) {
    auto text = "message " + std::to_string(state["messages"].size());
    return state_update{}.set("messages", value::list({human_message(text)}));
  });
  g.add_edge(START, "talk");
  g.add_conditional_edges("talk",
                          [messages](const state_view& state) {
                            return state["messages"].size() < messages ? "talk" : END;
                          },
                          {"talk", END});
  return g;
}

counts messages(std::size_t size, const std::string&) {
  runtime machine{with_saver(make_memory_saver())};
  auto app = machine.load(talking_loop(size).compile());
  auto input = value::map({{"messages", value::list()}});
  auto config = new_run(durability::async);
  value last;
  auto all = counts_of([&] { last = app.invoke(input, config).value(); });
  expect(last["messages"].size() == size, "the messages");
  return totals(all);
}

counts items(std::size_t size, const std::string&) {
  runtime machine{with_saver(make_memory_saver())};
  auto app = machine.load(append_loop(static_cast<std::int64_t>(size)));
  auto config = new_run(durability::async);
  value last;
  auto all = counts_of([&] { last = app.invoke(no_items(), config).value(); });
  expect(last["items"].size() == size, "the items");
  return totals(all);
}

// ---- history ------------------------------------------------------------------------------------

/// A thread of `size` steps, then what one more step and one reading of the state cost.
counts history(std::size_t size, std::shared_ptr<saver> store) {
  runtime machine{with_saver(std::move(store))};
  auto end = static_cast<std::int64_t>(size);
  auto app = machine.load(counter_loop(end));
  auto config = new_run(durability::async);
  auto all = counts_of([&] { app.invoke(zero(), config); });
  auto reading = least_of([&] { app.get_state(config); });
  run_input last_step = value::map({{"counter", end - 1}});
  auto step = least_of([&] { app.invoke(last_step, config); });
  expect(app.get_state(config).values["counter"] == value(end), "the counter");
  auto out = totals(all);
  out.emplace_back("flat_step_allocations", step.allocations);
  out.emplace_back("flat_step_bytes", step.bytes);
  out.emplace_back("flat_get_state_allocations", reading.allocations);
  out.emplace_back("flat_get_state_bytes", reading.bytes);
  return out;
}

counts history_memory(std::size_t size, const std::string&) {
  return history(size, make_memory_saver());
}

counts history_file(std::size_t size, const std::string& folder) {
  auto dir = std::filesystem::path{folder} / "data";
  auto out = history(size, open_lmdb_saver(dir).value());
  out.emplace_back("store_bytes", static_cast<double>(store_bytes(dir)));
  return out;
}

// ---- many threads and runs ----------------------------------------------------------------------

counts parked(std::size_t size, const std::string&) {
  runtime machine{with_saver(make_memory_saver())};
  auto app = machine.load(chain3({.interrupt_before = {"b"}}));
  auto park_one = [&app] {
    expect(app.invoke(zero(), new_run(durability::async)).next().size() == 1, "a waiting thread");
  };
  for (int i = 0; i < 100; ++i)
    park_one();
  auto all = counts_of([&] {
    for (std::size_t i = 0; i < size; ++i)
      park_one();
  });
  auto more = least_of(park_one);
  auto out = totals(all);
  out.emplace_back("flat_live_bytes", static_cast<double>(all.live) / static_cast<double>(size));
  out.emplace_back("flat_one_more_allocations", more.allocations);
  out.emplace_back("flat_one_more_bytes", more.bytes);
  return out;
}

counts live_runs(std::size_t size, const std::string&) {
  runtime machine{with_saver()};
  auto app = machine.load(chain3());
  app.invoke(zero(), new_run(durability::exit));
  std::vector<run_handle> started;
  started.reserve(size);
  auto all = counts_of([&] {
    for (std::size_t i = 0; i < size; ++i)
      started.push_back(app.start(zero(), new_run(durability::exit)));
    for (auto& run : started)
      expect(run.get().value().value()["counter"] == value(3), "a counter");
  });
  return totals(all);
}

const std::map<std::string_view, counts (*)(std::size_t, const std::string&)> curves{
  {"width", width},         {"join", join},
  {"chain", chain},         {"messages", messages},
  {"items", items},         {"history_memory", history_memory},
  {"parked", parked},       {"history_file", history_file},
  {"live_runs", live_runs},
};

} // namespace

} // namespace troupe::bench

int main(int argc, char** argv) {
  std::size_t size = 0;
  std::string_view text = argc == 4 ? argv[2] : "";
  auto parsed = std::from_chars(text.data(), text.data() + text.size(), size);
  auto curve = troupe::bench::curves.find(argc == 4 ? argv[1] : "");
  if (size == 0 || parsed.ptr != text.data() + text.size()
      || curve == troupe::bench::curves.end()) {
    std::cerr << "usage: troupe-curves CURVE SIZE FOLDER; curves:";
    for (const auto& [name, count] : troupe::bench::curves)
      std::cerr << ' ' << name;
    std::cerr << '\n';
    return 2;
  }
  try {
    troupe::bench::use_threads(1);
    auto separator = '{';
    for (const auto& [name, count] : curve->second(size, argv[3])) {
      std::printf("%c\"%s\": %.0f", separator, name.c_str(), count);
      separator = ',';
    }
    std::puts("}");
    return 0;
  } catch (const std::exception& e) {
    std::cerr << "troupe-curves: " << e.what() << '\n';
    return 1;
  }
}
