// See crash_agent.hpp.
#include "tests/crash/crash_agent.hpp"

#include <troupe/messages.hpp>
#include <troupe/react_agent.hpp>
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

// What was said so far decides, so that it goes on in another process.
value next_answer(const value& messages) {
  bool asked = troupe::message_role(messages[messages.size() - 1]) == "user";
  if (asked)
    return troupe::ai_message("", {{.name = "first", .id = "c1"}, {.name = "second", .id = "c2"}});
  return "all is done";
}

troupe::compiled_graph agent(const std::string& holds) {
  auto model = std::make_shared<troupe::scripted_model>(
    std::vector<troupe::scripted_model::answer>{troupe::scripted_model::function{next_answer}},
    troupe::scripted_options{.repeat = true});
  return troupe::create_react_agent(
    {.model = model,
     .tools = {make_tool("first", holds == "first"), make_tool("second", holds == "second")}});
}

} // namespace

int run_agent(const std::string& data, const std::string& holds) {
  troupe::runtime rt{{.data_dir = data, .worker_threads = 2}};
  auto app = rt.load(agent(holds));
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
