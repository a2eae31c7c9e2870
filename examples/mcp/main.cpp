// Tools of an MCP server: `mcp PROGRAM [ARGUMENT…]` starts one, lists its tools, and lets an agent
// call the first. The model is a script, as in the example `agent`.
//
//     mcp npx -y @modelcontextprotocol/server-everything
#include <troupe/agents.hpp>

#include <iostream>

namespace {

// A model that calls this tool, and then repeats its result.
std::shared_ptr<troupe::scripted_model> model_that_calls(const troupe::tool& first) {
  auto called = troupe::ai_message("", {{.name = first.name(), .id = "1"}});
  auto says = [](const troupe::value& messages) {
    return troupe::value(troupe::message_text(messages[messages.size() - 1]));
  };
  return std::make_shared<troupe::scripted_model>(
    std::vector<troupe::scripted_model::answer>{called, says});
}

} // namespace

int main(int argc, char** argv) try {
  if (argc < 2)
    throw std::runtime_error{"usage: mcp PROGRAM [ARGUMENT…]"};
  auto server = troupe::mcp_client::connect(
    troupe::mcp_program{.file = argv[1], .arguments = {argv + 2, argv + argc}});
  auto tools = server.value().tools().value();
  for (const auto& tool : tools)
    std::cout << tool.name() << ": " << tool.description() << "\n";

  troupe::runtime rt;
  auto app =
    rt.load(troupe::create_react_agent({.model = model_that_calls(tools.at(0)), .tools = tools}));
  auto out = app.invoke({{"messages", {{"user", "Try your first tool"}}}});
  const auto& messages = out.value()["messages"];
  std::cout << troupe::message_text(messages[messages.size() - 1]) << "\n";
} catch (const std::exception& e) {
  std::cerr << "mcp: " << e.what() << "\n";
  return 1;
}
