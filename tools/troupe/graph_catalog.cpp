#include "tools/troupe/graph_catalog.hpp"

#include "examples/digest/digest.hpp"
#include "tools/troupe/parts.hpp"

#include <troupe/troupe.hpp>

#include <algorithm>
#include <chrono>
#include <thread>

namespace troupe::cli {

namespace {

struct counter {
  std::int64_t count = 0;
  TROUPE_STATE(counter, (count, sum))
};

compiled_graph build_hello() {
  state_graph<counter> g;
  g.add_node("add", [](const counter&) { return set(&counter::count, 1); });
  g.add_edge(START, "add");
  g.add_conditional_edges("add", [](const counter& s) { return s.count < 3 ? "add" : END; },
                          {"add", END});
  return g.compile({.name = "hello"});
}

struct greeting {
  std::string name;
  std::string text;
  TROUPE_STATE(greeting, name, text)
};

compiled_graph build_ask() {
  state_graph<greeting> g;
  g.add_node("ask", [](const greeting&, context& ctx) {
    auto answer = ctx.interrupt(value::map({{"question", "What is your name?"}}));
    return set(&greeting::name, answer.is_string() ? answer.as<std::string>() : to_json(answer));
  });
  g.add_node("greet", [](const greeting& s, context& ctx) {
    ctx.write(value::map({{"greeted", s.name}}));
    return set(&greeting::text, "Hello, " + s.name + "!");
  });
  g.add_edge(START, "ask");
  g.add_edge("ask", "greet");
  g.add_edge("greet", END);
  return g.compile({.name = "ask"});
}

struct loop {
  std::int64_t count = 0;
  std::int64_t until = 10;
  std::int64_t delay_ms = 0;
  TROUPE_STATE(loop, (count, sum), until, delay_ms)
};

update<loop> loop_step(const loop& s, context& ctx) {
  using namespace std::chrono;
  auto end = steady_clock::now() + std::chrono::milliseconds{s.delay_ms};
  while (steady_clock::now() < end && !ctx.stop_requested())
    std::this_thread::sleep_until(
      std::min(end, steady_clock::now() + std::chrono::milliseconds{5}));
  return set(&loop::count, 1);
}

compiled_graph build_loop() {
  state_graph<loop> g;
  g.add_node("step", loop_step, {.lane = lane::blocking});
  g.add_edge(START, "step");
  g.add_conditional_edges("step", [](const loop& s) { return s.count < s.until ? "step" : END; },
                          {"step", END});
  return g.compile({.name = "loop"});
}

constexpr builtin_graph graphs[] = {
  {"hello", "counts to three; on a kept thread it counts on", "", "{}", build_hello},
  {"ask", "asks for a name and greets it", "answer with --resume '\"Ada\"'", "{}", build_ask},
  {"loop", "counts up with a pause in each step", "to try Ctrl-C, or kill, and resume",
   R"({"until": 20, "delay_ms": 100})", build_loop},
  {"digest", "reads files, drafts a report, asks, and writes it", "",
   R"({"sources": ["README.md"], "out": "digest.md"})",
   []() -> compiled_graph { return digest::build(); }},
  {"chat", "answers a conversation with a model",
   "TROUPE_MODEL names the model, default: an echo; talk with troupe chat",
   R"({"messages": [{"role": "user", "content": "Hello"}]})",
   []() -> compiled_graph { return load_agents().build_chat(); }},
};

std::string builtin_names() {
  std::string out;
  for (const auto& g : graphs)
    out += (out.empty() ? "" : ", ") + std::string{g.name};
  return out;
}

} // namespace

std::span<const builtin_graph> builtin_graphs() noexcept {
  return graphs;
}

compiled_graph find_graph(const std::string& name) {
  auto is_it = [&name](const builtin_graph& g) { return g.name == name; };
  if (auto found = std::ranges::find_if(graphs, is_it); found != std::end(graphs))
    return found->build();
  auto colon = name.rfind(':');
  if (colon == std::string::npos)
    throw error{errc::unknown_graph, "unknown graph: " + name + ": built in are " + builtin_names()
                                       + "; one of a library is path/to/lib.so:name"};
  return load_graph(name.substr(0, colon), name.substr(colon + 1)).value();
}

} // namespace troupe::cli
