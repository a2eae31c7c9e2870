// Section A: the tool-calling loop, with a model that answers at once; and what it leaves on disk.

#include "bench/fresh_store.hpp"

#include <troupe/message.hpp>

#include <mutex>
#include <random>

namespace troupe::bench {

namespace {

std::string repeat(const std::string& text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i)
    out += text;
  return out;
}

/// Asks for a tool so many times, then answers, then starts over.
class fake_model {
public:
  explicit fake_model(int rounds) : rounds_{rounds} {}

  message answer(const value& /*all messages*/) {
    std::scoped_lock lock{mutex_};
    if (asked_ == rounds_) {
      asked_ = 0;
      return {.role = "assistant", .content = repeat("answer", 100), .id = uuid()};
    }
    ++asked_;
    auto call = value::map({{"name", "search"},
                            {"args", value::map({{"query", repeat(uuid(), 100)}})},
                            {"id", uuid()},
                            {"type", "tool_call"}});
    return {.role = "assistant",
            .content = "",
            .id = uuid(),
            .more = value::map({{"tool_calls", value::list({call})}})};
  }

  std::string uuid() {
    static const char* const digits = "0123456789abcdef";
    std::string out = "xxxxxxxx-xxxx-4xxx-8xxx-xxxxxxxxxxxx";
    for (auto& c : out)
      if (c == 'x')
        c = digits[random_() % 16];
    return out;
  }

private:
  std::mutex mutex_;
  int rounds_;
  int asked_ = 0;
  std::minstd_rand random_{std::random_device{}()};
};

value search(const value& call) {
  auto found = repeat("result for query: " + call["args"]["query"].as<std::string>(), 10);
  return value_traits<message>::to(
    {.role = "tool",
     .content = found,
     .more = value::map({{"name", call["name"]}, {"tool_call_id", call["id"]}})});
}

const value& last_message(const state_view& state) {
  const auto& all = state["messages"];
  return all[all.size() - 1].payload();
}

compiled_graph react_agent(int rounds) {
  auto model = std::make_shared<fake_model>(rounds);
  state_graph<> graph{schema{{"messages", add_messages}}};
  graph.add_node("agent", [model](const state_view& state) {
    auto said = value_traits<message>::to(model->answer(state["messages"]));
    return state_update{}.set("messages", value::list({said}));
  });
  graph.add_node("tools", [](const state_view& state) {
    std::vector<value> results;
    const auto& calls = last_message(state)["tool_calls"];
    for (std::size_t i = 0; i < calls.size(); ++i)
      results.push_back(search(calls[i]));
    return state_update{}.set("messages", value::list(std::move(results)));
  });
  graph.add_edge(START, "agent");
  graph.add_conditional_edges("agent",
                              [](const state_view& state) {
                                return last_message(state).contains("tool_calls") ? "tools" : END;
                              },
                              {"tools", END});
  graph.add_edge("tools", "agent");
  return graph.compile();
}

run_input question() {
  return value::map({{"messages", value::list({value_traits<message>::to({.content = "hi?"})})}});
}

void expect_conversation(const value& state, int rounds) {
  const auto& messages = state["messages"];
  expect(messages.size() == 2 * static_cast<std::size_t>(rounds) + 2, "the number of messages");
  for (std::size_t i = 0; i < messages.size(); ++i)
    expect(messages[i].payload()["id"].size() == 36, "the id of a message");
  expect(messages[2].payload()["content"].size() == 36'180, "the tool's result");
  expect(messages[messages.size() - 1].payload()["content"].size() == 600, "the answer");
}

figure drain_react(const sampler& sample, int rounds, std::shared_ptr<saver> store) {
  runtime machine{{.saver = std::move(store)}};
  auto graph = machine.load(react_agent(rounds));
  expect_conversation(graph.invoke(question(), new_run(durability::exit)).value(), rounds);
  auto input = question();
  return sample.each([&] {
    auto config = new_run(durability::exit);
    int events = 0;
    auto us = time_us([&] {
      auto parts = graph.stream(input, config);
      while (parts.next())
        ++events;
    });
    expect(events == 2 * rounds + 1, "the number of events");
    return us;
  });
}

struct stored_run {
  double us;
  double stored_bytes;
  double state_bytes; // of the final state, encoded
};

/// One run with a checkpoint each step, in a store of its own.
stored_run store_react(int rounds, medium where) {
  fresh_store store{where};
  auto graph = store.load(react_agent(rounds));
  run_result result;
  auto config = new_run(durability::async);
  auto us = time_us([&] { result = graph.invoke(question(), config); });
  expect_conversation(result.value(), rounds);
  auto checkpoints = store.checkpoints();
  expect(checkpoints >= 2 * static_cast<std::size_t>(rounds) + 2, "the number of checkpoints");
  auto state_bytes = static_cast<double>(to_msgpack(result.value()).value().size());
  return {us, static_cast<double>(store.close()), state_bytes};
}

figure time_stored_react(const sampler& sample, int rounds, medium where) {
  return sample.each([rounds, where] { return store_react(rounds, where).us; });
}

figure measure_stored_react(const sampler& sample, int rounds, medium where) {
  double state_bytes = 0;
  auto one = [&state_bytes, rounds, where] {
    auto stored = store_react(rounds, where);
    state_bytes = stored.state_bytes;
    return stored.stored_bytes;
  };
  auto out = sample.exactly(runs_min, one, "bytes");
  out.further = {{"final_state_bytes", state_bytes}, {"ratio", median(out.samples) / state_bytes}};
  return out;
}

} // namespace

void add_react(workloads& all) {
  for (int rounds : {10, 100}) {
    auto name = "react_agent_" + std::to_string(rounds) + "x";
    all.push_back({name, [rounds](const sampler& s) { return drain_react(s, rounds, nullptr); }});
    all.push_back({name + "_checkpoint", [rounds](const sampler& s) {
                     return drain_react(s, rounds, make_memory_saver());
                   }});
    // A checkpoint each step; the texts repeat themselves, so compression hides what is stored
    // twice.
    for (auto [ending, where] :
         {std::pair{"_file_async", medium::file},
          std::pair{"_file_async_uncompressed", medium::uncompressed_file}}) {
      all.push_back({name + ending, [rounds, where = where](const sampler& s) {
                       return time_stored_react(s, rounds, where);
                     }});
      all.push_back({name + ending + "_bytes", [rounds, where = where](const sampler& s) {
                       return measure_stored_react(s, rounds, where);
                     }});
    }
  }
}

} // namespace troupe::bench
