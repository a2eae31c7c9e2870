// wide (section A): a state of 15 channels that six nodes pass around in ever larger lists.

#include "bench/graphs.hpp"

#include <memory>
#include <random>
#include <set>

namespace troupe::bench {

namespace {

struct wide_size {
  std::string name;
  int outer;
  int inner;
  std::size_t letters; // of a string; also a bound of messages
  // expected results of a run
  int node_runs;
  int steps;
  std::size_t messages;
  std::size_t events;    // trigger_events, memory_docs
  std::size_t responses; // and categorizations
};

const wide_size sizes[] = {
  {"25x300", 5, 5, 300, 36, 30, 595, 277, 406},
  {"15x600", 3, 5, 600, 42, 35, 1873, 872, 1278},
  {"9x1200", 3, 3, 1200, 42, 35, 1873, 872, 1278},
};

channel_spec newest_unless_empty(std::optional<value> initial = std::nullopt) {
  auto newest = [](const value& old, const value& update) { return update.empty() ? old : update; };
  return reduce("newest_unless_empty", newest, std::move(initial));
}

channel_spec newest_unless_null() {
  auto newest = [](const value& old, const value& update) {
    return update.is_null() ? old : update;
  };
  return reduce("newest_unless_null", newest);
}

channel_spec newest() {
  return reduce("newest", [](const value&, const value& update) { return update; });
}

schema wide_schema() {
  return schema{{"messages", append},
                {"trigger_events", append},
                {"primary_issue_medium", newest_unless_empty("email")},
                {"autoresponse", newest()},
                {"issue", newest_unless_empty()},
                {"relevant_rules", last_value},
                {"memory_docs", last_value},
                {"categorizations", append},
                {"responses", append},
                {"user_info", newest_unless_null()},
                {"crm_info", newest_unless_null()},
                {"email_thread_id", newest_unless_null()},
                {"slack_participants", merge},
                {"bot_id", last_value},
                {"notified_assignees", merge}};
}

std::string random_letters(std::minstd_rand& source, std::size_t count) {
  std::uniform_int_distribution<int> letter{'a', 'z'};
  std::string text;
  for (std::size_t i = 0; i < count; ++i)
    text.push_back(static_cast<char>(letter(source)));
  return text;
}

/// A node that reads one channel and writes others.
struct mover {
  std::string reads;
  std::vector<std::string> writes;
  std::size_t letters;
  std::shared_ptr<std::minstd_rand> random; // of this node alone: the tasks of a step share none

  state_update operator()(const state_view& state) const {
    static const std::set<std::string, std::less<>> lists{"messages",        "trigger_events",
                                                          "categorizations", "responses",
                                                          "memory_docs",     "relevant_rules"};
    static const std::set<std::string, std::less<>> singles{
      "user_info", "crm_info", "slack_participants", "autoresponse", "notified_assignees", "issue"};
    auto v = state[reads];
    if (v.is_string())
      v = value::map({{std::string{v.as_string()}, v}});
    auto one = v.is_list() ? v[v.size() - 1] : v;
    auto all = v.is_list() ? v : value::list({v});
    state_update update;
    for (const auto& channel : writes) {
      if (lists.contains(channel))
        update.set(channel, all);
      else if (singles.contains(channel))
        update.set(channel, one);
      else
        update.set(channel, random_letters(*random, letters));
    }
    return update;
  }
};

state_graph<> wide_graph(std::size_t n) {
  state_graph<> graph{wide_schema()};
  auto add = [&graph, n](const char* name, const char* reads, std::vector<std::string> writes) {
    auto random = std::make_shared<std::minstd_rand>(name[0]); // repeats the same final state
    graph.add_node(name, mover{reads, std::move(writes), n, std::move(random)});
  };
  add("one", "messages", {"trigger_events", "primary_issue_medium"});
  add("two", "trigger_events", {"autoresponse", "issue"});
  add("three", "autoresponse", {"relevant_rules"});
  add("four", "trigger_events", {"categorizations", "responses", "memory_docs"});
  add("five", "categorizations",
      {"user_info", "crm_info", "email_thread_id", "slack_participants", "bot_id",
       "notified_assignees"});
  add("six", "responses", {"messages"});
  graph.add_edge(START, "one");
  graph.add_edge("one", "two");
  graph.add_edge("two", "three");
  graph.add_edge("two", "four");
  graph.add_edge({"three", "four"}, "five");
  graph.add_edge("five", "six");
  graph.add_conditional_edges(
    "six", [n](const state_view& state) { return state["messages"].size() > n ? END : "one"; },
    {"one", END});
  return graph;
}

run_input wide_input(const wide_size& size) {
  return value::map({{"messages", value::list({nested_map(size.outer, size.inner)})}});
}

void expect_final_state(const value& state, const wide_size& size) {
  expect(state.size() == 15, "the channels with a value");
  expect(state["messages"].size() == size.messages, "the messages");
  expect(state["trigger_events"].size() == size.events, "the trigger events");
  expect(state["memory_docs"].size() == size.events, "the memory docs");
  expect(state["categorizations"].size() == size.responses, "the categorizations");
  expect(state["responses"].size() == size.responses, "the responses");
  expect(state["relevant_rules"].size() == 1, "the relevant rules");
  for (const auto* channel : {"primary_issue_medium", "email_thread_id", "bot_id"})
    expect(state[channel].is_string() && state[channel].size() == size.letters, "a text");
  auto first = nested_map(size.outer, size.inner);
  for (const auto* channel : {"user_info", "crm_info", "slack_participants", "autoresponse",
                              "notified_assignees", "issue"})
    expect(state[channel] == first, "a map");
}

int drain(part_stream parts) {
  int count = 0;
  while (parts.next())
    ++count;
  return count;
}

figure drain_wide(const sampler& sample, const wide_size& size, std::shared_ptr<saver> store) {
  runtime machine{with_saver(std::move(store))};
  auto graph = machine.load(wide_graph(size.letters).compile());
  auto input = wide_input(size);
  auto state = graph.invoke(input, new_run(durability::exit)).value();
  expect_final_state(state, size);
  note_result(state);
  auto states = drain(graph.stream(input, new_run(durability::exit), {stream_mode::values}));
  expect(states == size.steps + 1, "the number of steps");

  return sample.each([&] {
    auto config = new_run(durability::exit);
    int events = 0;
    auto us = time_us([&] { events = drain(graph.stream(input, config)); });
    expect(events == size.node_runs, "the number of events");
    return us;
  });
}

figure compile_wide(const sampler& sample) {
  auto builder = wide_graph(600);
  std::optional<compiled_graph> graph;
  return sample.batches([&] { graph = builder.compile(); },
                        [&graph] { expect(graph->nodes().size() == 6, "the nodes"); });
}

} // namespace

void add_wide(workloads& all) {
  all.push_back({"wide_state_15x600_compilation", compile_wide});
  for (const auto& size : sizes) {
    all.push_back({"wide_dict_" + size.name,
                   [&size](const sampler& s) { return drain_wide(s, size, nullptr); }});
    all.push_back({"wide_dict_" + size.name + "_checkpoint",
                   [&size](const sampler& s) { return drain_wide(s, size, make_memory_saver()); }});
  }
}

} // namespace troupe::bench
