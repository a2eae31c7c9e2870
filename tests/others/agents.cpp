// An agent, or a client of an MCP server, for tests with the tools of others.
//
//   others_agents react|agent MODEL QUESTION [stream] [handle]   its messages, a line each
//   others_agents mcp TOOL JSON PROGRAM [ARGUMENT…]              or, in place of the program, a URL
//
// The agent has two tools: add {a, b}, and fall {}, which throws 42. `handle`: errors of tools are
// reported to the model. A failure is reported on stderr, with its facts.
#include <troupe/agents.hpp>

#include <algorithm>
#include <chrono>
#include <iostream>

namespace {

using namespace std::chrono_literals;
using troupe::value;

struct talk_options {
  bool is_streamed = false;
  bool handles_errors = false;
};

int talk(const std::string& kind, const std::string& name, const std::string& question,
         const talk_options& how) {
  auto model = troupe::init_chat_model(name, {.retry_first = 10ms, .retry_max = 20ms});
  troupe::tool add{"add", "Adds two numbers",
                   [](troupe::arg<"a", std::int64_t> a, troupe::arg<"b", std::int64_t> b) {
                     return *a + *b;
                   }};
  troupe::tool fall{"fall", "Falls", []() -> int { throw 42; }};
  troupe::tool_node_options errors;
  if (how.handles_errors)
    errors.handle_tool_errors = true;
  std::vector tools{add, fall};
  auto graph =
    kind == "react"
      ? troupe::create_react_agent(
        {.model = model, .tools = tools, .name = "sums", .tool_node = errors})
      : troupe::create_agent({.model = model, .tools = tools, .tool_node = errors, .name = "sums"});
  troupe::runtime rt;
  auto app = rt.load(graph);
  value input{{"messages", value::list({troupe::human_message(question)})}};
  auto modes = how.is_streamed ? std::vector{troupe::stream_mode::messages}
                               : std::vector{troupe::stream_mode::values};
  auto parts = app.stream(input, {}, modes);
  while (auto part = parts.next()) {}
  for (const auto& m : parts.outcome()->value()["messages"].items()) {
    std::cout << troupe::message_role(m) << ": " << troupe::message_text(m);
    for (const auto& call : troupe::message_tool_calls(m).items())
      std::cout << " [" << to_json(call["name"]) << ' ' << to_json(call["args"]) << ']';
    std::cout << '\n';
  }
  return 0;
}

int call_tool(const std::string& tool, const std::string& arguments,
              std::vector<std::string> server) {
  bool is_url = server.at(0).starts_with("http");
  auto connected = is_url ? troupe::mcp_client::connect(troupe::mcp_endpoint{.url = server[0]})
                          : troupe::mcp_client::connect(troupe::mcp_program{
                            .file = server[0], .arguments = {server.begin() + 1, server.end()}});
  auto& client = connected.value();
  auto tools = client.tools().value();
  std::cout << "protocol " << client.protocol_version() << '\n';
  for (const auto& t : tools)
    std::cout << "tool " << t.name() << '\n';
  // As an agent calls it.
  auto called = troupe::ai_message(
    "", {{.name = tool, .args = troupe::from_json(arguments).value(), .id = "1"}});
  auto model = std::make_shared<troupe::scripted_model>(
    std::vector<troupe::scripted_model::answer>{called, "done"});
  troupe::runtime rt;
  auto app = rt.load(troupe::create_agent({.model = model, .tools = tools}));
  auto out = app.invoke(value{{"messages", value::list({troupe::human_message("go")})}});
  const auto& result = out.value()["messages"][2];
  std::cout << "result " << to_json(troupe::message_member(result, "status")) << ' '
            << troupe::message_text(result) << '\n';
  return 0;
}

} // namespace

int main(int argc, char** argv) try {
  std::vector<std::string> words{argv + 1, argv + argc};
  if (words.size() > 3 && words[0] == "mcp")
    return call_tool(words[1], words[2], {words.begin() + 3, words.end()});
  if (words.size() > 2) {
    auto is_given = [&](const char* word) {
      return std::find(words.begin() + 3, words.end(), word) != words.end();
    };
    return talk(words[0], words[1], words[2], {is_given("stream"), is_given("handle")});
  }
  std::cerr << "usage: others_agents react|agent MODEL QUESTION [stream] [handle]\n";
  return 2;
} catch (const troupe::error& e) {
  std::cerr << "error " << to_string(e.code()) << ' ' << e.type() << ": " << e.what() << '\n';
  return 1;
}
