// subgraphs (section A): a step of sends to a compiled graph, and a step on several cores.

#include "bench/graphs.hpp"

namespace troupe::bench {

namespace {

// A list of one-letter strings as Python prints it.
std::string text_of(const value& letters) {
  std::string out = "[";
  for (const auto& letter : letters.items()) {
    out += out.size() == 1 ? "'" : ", '";
    out.append(letter.as_string()).append("'");
  }
  return out + "]";
}

value subject(std::size_t i) {
  std::vector<value> letters;
  letters.reserve(1000);
  for (std::size_t j = 0; j < 1000; ++j)
    letters.emplace_back(std::string(1, static_cast<char>('a' + (7 * i + 11 * j) % 26)));
  return value::list(std::move(letters));
}

bool told_ten_times(std::string_view joke) {
  std::string_view end = " a a a a a a a a a a";
  return joke.size() >= end.size() && joke.substr(joke.size() - end.size()) == end;
}

// The work of the nodes, which the floor calls by itself.
value edited(const value& subject) {
  return value(text_of(subject) + " - hohoho");
}
value about(const value& subject) {
  std::string joke{"Joke about "};
  joke += subject.as_string();
  return value::list({value(joke)});
}
value bumped(const value& jokes) {
  std::string joke{jokes[0].as_string()};
  joke += " a";
  return value::list({value(joke)});
}

compiled_graph joke_graph() {
  state_graph<> g{{{"subject", last_value}, {"jokes", last_value}}};
  g.input_schema({{"subject", last_value}});
  g.output_schema({{"jokes", last_value}});
  g.add_node("edit", [](const state_view& s) {
    return state_update{}.set("subject", edited(s["subject"]));
  });
  g.add_node("generate",
             [](const state_view& s) { return state_update{}.set("jokes", about(s["subject"])); });
  g.add_node("bump",
             [](const state_view& s) { return state_update{}.set("jokes", bumped(s["jokes"])); });
  g.add_edge(START, "edit");
  g.add_edge("edit", "generate");
  g.add_edge("generate", "bump");
  g.add_edge("generate", END);
  g.add_conditional_edges("bump",
                          [](const state_view& s) {
                            return told_ten_times(s["jokes"][0].as_string()) ? END : "bump";
                          },
                          {"bump", END});
  return g.compile({.name = "joke"});
}

compiled_graph fan_out_to_subgraph() {
  state_graph<> g{{{"subjects", last_value}, {"jokes", append}}};
  g.add_node("generate_joke", joke_graph());
  g.add_conditional_edges(
    START,
    [](const state_view& s) {
      std::vector<send> sends;
      for (const auto& one : s["subjects"].items())
        sends.push_back(send{"generate_joke", value::map({{"subject", one}})});
      return sends;
    },
    {"generate_joke"});
  g.add_edge("generate_joke", END);
  return g.compile();
}

void expect_jokes(const value& output, std::size_t count) {
  const auto& jokes = output["jokes"];
  expect(jokes.size() == count, "a joke for each subject");
  for (std::size_t i = 0; i < count; ++i) {
    auto joke = jokes[i].as_string();
    auto about = "Joke about " + text_of(subject(i));
    expect(joke.substr(0, about.size()) == about && told_ten_times(joke), "joke by joke");
  }
}

value subjects(std::size_t count) {
  std::vector<value> all;
  for (std::size_t i = 0; i < count; ++i)
    all.push_back(subject(i));
  return value::list(std::move(all));
}

// The bodies of all the nodes, one after the other, and the routes.
figure tell_jokes(const sampler& sample, std::size_t count) {
  auto all = subjects(count);
  value output;
  auto run = [&] {
    std::vector<value> told;
    for (const auto& one : all.items()) {
      auto jokes = about(edited(one));
      do
        jokes = bumped(jokes);
      while (!told_ten_times(jokes[0].as_string()));
      told.push_back(jokes[0]);
    }
    output = value::map({{"jokes", value::list(std::move(told))}});
  };
  return sample.batches(run, [&] { expect_jokes(output, count); });
}

figure fan_out(const sampler& sample, std::size_t count, std::shared_ptr<saver> store) {
  runtime machine{with_saver(std::move(store))};
  auto graph = machine.load(fan_out_to_subgraph());
  run_input input = value::map({{"subjects", subjects(count)}});
  auto config = new_run(durability::exit);
  value last;
  auto run = [&] {
    config.thread_id = new_thread();
    for (auto& part : graph.stream(input, config, {stream_mode::values}))
      last = std::move(part.data);
  };
  return sample.batches(run, [&] {
    expect_jokes(last, count);
    note_result(last);
  });
}

// -- several cores

volatile double sink = 0;

void work_for(std::chrono::microseconds time) {
  auto end = std::chrono::steady_clock::now() + time;
  double x = 1;
  while (std::chrono::steady_clock::now() < end)
    for (int i = 0; i < 100; ++i)
      x = x * 1.0000001 + 1e-9;
  sink = x;
}

// A step of 100 nodes of 1 ms.
figure parallel_step(const sampler& sample, std::size_t threads) {
  auto options = with_saver();
  options.worker_threads = threads;
  runtime machine{options};
  state_graph<> g{{{"done", sum}}};
  for (int i = 0; i < 100; ++i) {
    auto name = "worker" + std::to_string(i);
    g.add_node(name, [] {
      work_for(std::chrono::milliseconds{1});
      return state_update{}.set("done", 1);
    });
    g.add_edge(START, name);
  }
  auto graph = machine.load(g.compile());
  run_input input = value::map({{"done", 0}});
  auto config = new_run(durability::exit);
  return sample.each([&] {
    config.thread_id = new_thread();
    value out;
    auto us = time_us([&] { out = graph.start(input, config).get().value().value(); });
    expect(out["done"] == value(100), "every worker");
    note_result(out);
    return us;
  });
}

} // namespace

void add_subgraphs(workloads& all) {
  for (std::size_t n : {10u, 100u}) {
    auto name = "fanout_to_subgraph_" + std::to_string(n) + "x";
    all.push_back({name, [n](const sampler& sample) { return fan_out(sample, n, nullptr); }});
    all.push_back({name + "_checkpoint",
                   [n](const sampler& sample) { return fan_out(sample, n, make_memory_saver()); }});
  }
  all.push_back(
    {"floor_jokes_100x", [](const sampler& sample) { return tell_jokes(sample, 100); }});
  for (std::size_t threads : {1u, 2u})
    all.push_back({"troupe_parallel_100x1ms_" + std::to_string(threads) + "w",
                   [threads](const sampler& sample) { return parallel_step(sample, threads); }});
}

} // namespace troupe::bench
