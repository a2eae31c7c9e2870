// See crash_agent.hpp.
#include "tests/crash/crash_agent.hpp"

#include <troupe/agents/messages.hpp>
#include <troupe/agents/model_providers.hpp>
#include <troupe/agents/react_agent.hpp>
#include <troupe/runtime.hpp>

#include <iostream>
#include <mutex>

#include <unistd.h>

namespace crash {

namespace {

using troupe::value;

// Whole lines, of whichever thread.
void say(const std::string& line) {
  static std::mutex mutex;
  std::scoped_lock lock{mutex};
  std::cout << line << std::endl;
}

troupe::tool make_tool(const std::string& name, bool holds) {
  auto body = [name, holds]() -> std::string {
    say("S " + name);
    while (holds)
      ::pause();
    return name + " is done";
  };
  return {name, "A tool that is killed", body};
}

} // namespace

int run_agent(const std::string& data, const std::string& holds, const std::string& model,
              const std::string& url) {
  troupe::runtime rt{{.data_dir = data, .worker_threads = 2}};
  auto app = rt.load(troupe::create_react_agent(
    {.model = troupe::init_chat_model(model, {.base_url = url}),
     .tools = {make_tool("first", holds == "first"), make_tool("second", holds == "second")}}));
  troupe::run_config config{.thread_id = "t", .durability = troupe::durability::sync};
  bool is_new = app.get_state(config).config.checkpoint_id.empty();
  auto input = is_new ? troupe::run_input{value::map({{"messages", {{"user", "go"}}}})}
                      : troupe::run_input{nullptr};
  auto parts = app.stream(input, config, {troupe::stream_mode::tasks});
  while (auto part = parts.next())
    if (part->data.contains("result"))
      say("T " + part->data["name"].as<std::string>() + ' ' + to_json(part->data["result"]));
  auto state = app.get_state(config).values;
  std::vector<value> messages;
  for (const auto& m : state["messages"].items())
    messages.push_back(troupe::message_to_json(m));
  say("M " + to_json(value::list(std::move(messages))));
  return 0;
}

} // namespace crash
