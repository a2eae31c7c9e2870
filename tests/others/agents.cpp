// An agent, or a client of an MCP server, for tests with the tools of others.
//
//   others_agents react|agent MODEL QUESTION [stream] [handle]   its messages, a line each
//   others_agents mcp TOOL JSON PROGRAM [ARGUMENT…]              or, in place of the program, a URL
//   others_agents serve stdio|http                               an MCP server, until stdin ends
//
// The agent has two tools: add {a, b}, and fall {}, which throws 42. `handle`: errors of tools are
// reported to the model. A failure is reported on stderr, with its facts.
#include <troupe/agents.hpp>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <limits>

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

// The first resource and the first prompt of a server; each kind may be missing.
void show_parts(const troupe::mcp_client& client) {
  auto resources = client.resources();
  if (resources && !resources->empty()) {
    auto uri = (*resources)[0]["uri"].as<std::string>();
    auto read = client.read_resource_and_wait(uri).value();
    std::cout << "resource " << uri << ' ' << (read[0].contains("text") ? "text" : "blob") << '\n';
  }
  if (auto templates = client.resource_templates())
    for (const auto& t : *templates)
      std::cout << "template " << t["uriTemplate"].as_string() << '\n';
  auto prompts = client.prompts();
  for (const auto& p : prompts ? *prompts : std::vector<value>{}) {
    std::cout << "prompt " << p["name"].as_string() << '\n';
    if (p["arguments"].empty())
      std::cout << "message "
                << troupe::message_text(
                     client.prompt_and_wait(p["name"].as<std::string>()).value()[0])
                << '\n';
  }
}

int call_tool(const std::string& tool, const std::string& arguments,
              std::vector<std::string> server) {
  bool is_url = server.at(0).starts_with("http");
  troupe::mcp_options options{.elicitation = true};
  options.sampling.model = std::make_shared<troupe::echo_model>();
  auto connected =
    is_url
      ? troupe::mcp_client::connect(troupe::mcp_endpoint{.url = server[0]}, options)
      : troupe::mcp_client::connect(
        troupe::mcp_program{.file = server[0], .arguments = {server.begin() + 1, server.end()}},
        options);
  auto& client = connected.value();
  auto tools = client.tools().value();
  std::cout << "protocol " << client.protocol_version() << '\n';
  for (const auto& t : tools)
    std::cout << "tool " << t.name() << '\n';
  show_parts(client);
  // As an agent calls it.
  auto called = troupe::ai_message(
    "", {{.name = tool, .args = troupe::from_json(arguments).value(), .id = "1"}});
  auto model = std::make_shared<troupe::scripted_model>(
    std::vector<troupe::scripted_model::answer>{called, "done"});
  troupe::runtime rt{{.saver = troupe::make_memory_saver()}};
  auto app = rt.load(troupe::create_agent({.model = model, .tools = tools}));
  troupe::run_config config{.thread_id = "t"};
  for (auto& part : app.stream(value{{"messages", value::list({troupe::human_message("go")})}},
                               config, {troupe::stream_mode::custom}))
    std::cout << "custom " << to_json(part.data) << '\n';
  auto now = app.get_state(config);
  while (!now.interrupts.empty()) { // a model may answer, and a person does not
    const auto& question = now.interrupts[0].value;
    std::cout << "question " << to_json(question) << '\n';
    bool is_sampling = question["type"] == value("mcp_sampling");
    app.invoke(troupe::command{.resume = is_sampling ? value(true) : value{{"action", "decline"}}},
               config);
    now = app.get_state(config);
  }
  const auto& result = now.values["messages"][2];
  std::cout << "result " << to_json(troupe::message_member(result, "status")) << ' '
            << troupe::message_text(result) << '\n';
  return 0;
}

// An MCP server with a part of each kind.
int serve(const std::string& way) {
  troupe::runtime rt{{.saver = troupe::make_memory_saver()}};
  troupe::tool works{"works", "Works in three steps", [](troupe::tool_runtime& run) {
                       for (int i = 1; i <= 3; ++i)
                         troupe::report_mcp_progress(
                           run.info(), {.progress = double(i), .total = 3, .message = "step"});
                       return "done";
                     }};
  troupe::state_graph<> g{{{"name", troupe::last_value}}};
  g.add_node("ask", [](const troupe::state_view&, troupe::context& ctx) -> value {
    return {{"name", ctx.interrupt("Your name?")}};
  });
  g.add_edge(troupe::START, "ask");
  troupe::mcp_resource readme{
    .uri = "file:///readme", .name = "readme", .read = [](const std::string&) {
      return troupe::mcp_content{.data = "Read me"};
    }};
  troupe::mcp_resource_template user{.uri_template = "user://{name}",
                                     .name = "user",
                                     .read = [](const std::string&, const value& parts) {
                                       return troupe::mcp_content{
                                         .data = "About " + parts["name"].as<std::string>()};
                                     }};
  troupe::mcp_prompt review{.name = "review",
                            .arguments = {{.name = "file", .required = true}},
                            .get = [](const value& arguments) {
                              return std::vector<value>{troupe::human_message(
                                "Review " + arguments["file"].as<std::string>())};
                            }};
  troupe::mcp_server server{rt,
                            {.tools = {works},
                             .graphs = {{.app = rt.load(g.compile({.name = "ask"}))}},
                             .resources = {readme},
                             .resource_templates = {user},
                             .prompts = {review}}};
  if (way == "stdio") {
    troupe::serve_stdio(server).value();
    return 0;
  }
  troupe::mcp_http_server http{server};
  std::cout << to_json(value{{"url", http.url()}}) << std::endl;
  std::cin.ignore(std::numeric_limits<std::streamsize>::max());
  return 0;
}

} // namespace

int main(int argc, char** argv) try {
  std::vector<std::string> words{argv + 1, argv + argc};
  if (words.size() > 3 && words[0] == "mcp")
    return call_tool(words[1], words[2], {words.begin() + 3, words.end()});
  if (words.size() == 2 && words[0] == "serve")
    return serve(words[1]);
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
