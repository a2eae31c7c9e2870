// Streams: several modes at once, parts of a graph within the graph, a message token by token, and
//         a reader that leaves early.
//
//   streaming
#include <troupe/messages_state.hpp>
#include <troupe/troupe.hpp>

#include <iostream>
#include <sstream>
#include <string>
#include <vector>

namespace {

using namespace std::chrono_literals;
using troupe::stream_mode;

using chat = troupe::messages_state;

// Stands for a model: streams its answer word by word, then returns it as a whole.
troupe::coro<troupe::update<chat>> speak(const chat& c, troupe::context& ctx) {
  std::istringstream words{"you said " + c.messages.back().content.as<std::string>()};
  troupe::message answer{.role = "assistant", .content = "", .id = "answer-1"};
  std::string text, word;
  while (words >> word) {
    co_await ctx.sleep_for(10ms);
    auto token = text.empty() ? word : " " + word;
    text += token;
    auto part = answer; // the parts of a message share its id
    part.content = token;
    part.more = {{"chunk", true}};
    ctx.stream_message(troupe::value::of(part));
  }
  answer.content = text;
  co_return troupe::set(&chat::messages, std::vector{answer});
}

troupe::typed_graph<chat> switchboard() {
  troupe::state_graph<chat> model;
  model.add_node("speak", speak);
  model.add_edge(troupe::START, "speak");

  troupe::state_graph<chat> g;
  g.add_node("connect", [](troupe::context& ctx) { ctx.write({{"connecting", "the model"}}); });
  g.add_node("model", model.compile());
  g.add_edge(troupe::START, "connect");
  g.add_edge("connect", "model");
  return g.compile({.name = "switchboard"});
}

// A namespace names the tasks from the root to the graph, as "model:6fe9…".
std::string where(const troupe::stream_part& part) {
  std::string out = "switchboard";
  for (const auto& ns : part.ns)
    out += "/" + ns.substr(0, ns.find(':'));
  return out;
}

std::string what(const troupe::stream_part& part) {
  if (part.mode == stream_mode::messages) // a message, and its origin
    return troupe::to_json(part.data[0].payload()["content"]);
  if (part.mode == stream_mode::values)
    return std::to_string(part.data["messages"].size()) + " messages";
  if (part.mode == stream_mode::updates)
    return "by " + std::string{part.data.entries().front().key()};
  return troupe::to_json(part.data);
}

void listen(troupe::runtime& rt) {
  auto app = rt.load(switchboard());
  troupe::message hello{.content = "good morning"};
  troupe::run_config config{.thread_id = "call-1", .subgraphs = true};
  auto modes = {stream_mode::values, stream_mode::updates, stream_mode::custom,
                stream_mode::messages};
  for (auto& part : app.stream(troupe::set(&chat::messages, std::vector{hello}), config, modes))
    std::cout << where(part) << " " << part.mode << ": " << what(part) << "\n";
}

struct counter {
  std::int64_t count = 0;
  TROUPE_STATE(counter, (count, troupe::sum))
};

// A loop of a thousand steps; the reader wants three of them.
void hang_up(troupe::runtime& rt) {
  troupe::state_graph<counter> g;
  g.add_node("tick", [] { return troupe::set(&counter::count, 1); });
  g.add_edge(troupe::START, "tick");
  g.add_conditional_edges("tick",
                          [](const counter& c) { return c.count < 1000 ? "tick" : troupe::END; });
  auto app = rt.load(g.compile());
  troupe::run_config config{.thread_id = "call-2", .recursion_limit = 2000};
  for (auto& part : app.stream({}, config, {stream_mode::values}))
    if (part.data["count"] == 3)
      break; // the run stops at the end of its step, and keeps its work
  std::cout << "stopped at " << app.get_state(config).values["count"] << " of 1000\n";
  std::cout << "then went on to " << app.invoke(nullptr, config).state().count << "\n";
}

} // namespace

int main() {
  troupe::runtime rt{{.saver = troupe::make_memory_saver()}};
  listen(rt);
  hang_up(rt);
}
