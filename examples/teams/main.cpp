// Agents that work together, in six ways.
//
//   teams [supervisor|hierarchy|tools|swarm|network|plan_execute]…      without a name: all of them
//
// Models are scripts, so the program needs no network. TROUPE_MODEL=provider:model uses a real one.
#include "examples/teams/teams.hpp"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <memory>

namespace teams {

troupe::chat_model_ptr model(std::vector<troupe::scripted_model::answer> lines) {
  if (const char* name = std::getenv("TROUPE_MODEL"))
    return troupe::init_chat_model(name);
  return std::make_shared<troupe::scripted_model>(std::move(lines));
}

troupe::value call(const std::string& tool, troupe::value args) {
  return troupe::ai_message("", {{.name = tool, .args = std::move(args), .id = "call-" + tool}});
}

} // namespace teams

namespace {

struct team {
  const char* name;
  troupe::compiled_graph (*build)();
  std::vector<const char*> questions; // each is a run on the same thread
};

std::vector<team> all_teams() {
  const char* headcount = "How many people do the companies A and B have together?";
  return {{"supervisor", teams::supervisor, {headcount}},
          {"hierarchy", teams::hierarchy, {"Write about the companies A and B."}},
          {"tools", teams::agents_as_tools, {headcount}},
          {"swarm", teams::swarm, {"I'd like to talk to a pirate.", "Who are you?"}},
          {"network", teams::network, {"A flight, a room and a car, please.", "Which colour?"}},
          {"plan_execute", teams::plan_execute, {"a cup of tea"}}};
}

void show(const troupe::value& message) {
  const auto& name = troupe::message_member(message, "name");
  std::cout << "  " << (name.is_string() ? name.as_string() : troupe::message_role(message)) << ": "
            << troupe::message_text(message);
  for (const auto& call : troupe::message_tool_calls(message).items())
    std::cout << "→ " << call["name"].as_string() << " " << troupe::to_json(call["args"]);
  std::cout << "\n";
}

void run(troupe::runtime& rt, const team& t) {
  std::cout << t.name << "\n";
  auto app = rt.load(t.build());
  std::size_t shown = 0;
  for (const auto* question : t.questions) {
    auto out = app.invoke({{"messages", {{"user", question}}}}, {.thread_id = t.name}).value();
    auto said = out["messages"].items();
    for (; shown < said.size(); ++shown)
      show(said[shown]);
  }
}

} // namespace

int main(int argc, char** argv) {
  std::vector<std::string> wanted{argv + 1, argv + argc};
  troupe::runtime rt{{.saver = troupe::make_memory_saver()}};
  auto all = all_teams();
  for (const auto& name : wanted)
    if (std::ranges::none_of(all, [&name](const team& t) { return t.name == name; })) {
      std::cerr << "teams: unknown team " << name << "\n";
      return 2;
    }
  for (const auto& t : all)
    if (wanted.empty() || std::ranges::find(wanted, t.name) != wanted.end())
      run(rt, t);
}
