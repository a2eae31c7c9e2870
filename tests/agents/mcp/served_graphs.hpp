// Graphs that an MCP server offers, and a client in the same process that calls them.
#pragma once

#include <troupe/agents/mcp.hpp>
#include <troupe/agents/mcp_server.hpp>

#include <cstdint>
#include <string>
#include <utility>

namespace troupe::test {

struct topic_state {
  std::string topic;
  std::int64_t count = 0;
  TROUPE_STATE(topic_state, topic, (count, sum))
};

inline compiled_graph counting_graph() {
  state_graph<topic_state> g;
  g.add_node("count", [](const topic_state&) { return set(&topic_state::count, 1); });
  g.add_edge(START, "count");
  return g.compile({.name = "counting"});
}

inline compiled_graph asking_graph() {
  state_graph<topic_state> g;
  g.add_node("ask", [](const topic_state& s, context& ctx) {
    auto answer = ctx.interrupt(value::map({{"about", s.topic}}));
    return set(&topic_state::topic, s.topic + ": " + answer.as<std::string>());
  });
  g.add_edge(START, "ask");
  return g.compile({.name = "asking"});
}

inline mcp_client client_of(const mcp_server& server, mcp_options options = {}) {
  return mcp_client::connect(server, std::move(options)).value();
}

inline value called(const mcp_client& client, const char* name, value arguments = value::map()) {
  return client.call_and_wait(name, std::move(arguments)).value();
}

// "isError text"
inline std::string answer_of(const mcp_client& client, const char* name,
                             value arguments = value::map()) {
  auto result = called(client, name, std::move(arguments));
  return (result["isError"] == value(true) ? "error " : "")
         + result["content"][0]["text"].as<std::string>();
}

inline runtime_options with_saver() {
  return {.saver = make_memory_saver()};
}

} // namespace troupe::test
