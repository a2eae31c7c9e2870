// A supervisor that decides which agent works next, and a supervisor of supervisors.
#include "examples/teams/teams.hpp"

namespace teams {

using troupe::arg;

namespace {

troupe::compiled_graph mathematician() {
  auto add = troupe::tool("add", "Adds two numbers",
                          [](arg<"a", double> a, arg<"b", double> b) { return *a + *b; });
  return troupe::create_react_agent(
    {.model = model({call("add", {{"a", 67317}, {"b", 66000}}), "Together they are 133317."}),
     .tools = {add},
     .prompt = "You do sums, one step at a time.",
     .name = "math"});
}

troupe::compiled_graph researcher() {
  auto search = troupe::tool("search", "Searches", [](arg<"for", std::string>) {
    return "Company A has 67317 people, company B 66000.";
  });
  return troupe::create_react_agent(
    {.model = model({call("search", {{"for", "headcount of A and B"}}), "A has 67317, B 66000."}),
     .tools = {search},
     .prompt = "You look things up, and do no sums.",
     .name = "research"});
}

} // namespace

troupe::compiled_graph supervisor() {
  return troupe::create_supervisor(
           {.agents = {researcher(), mathematician()},
            .model = model({call("transfer_to_research"), call("transfer_to_math"),
                            "A and B have 133317 people."}),
            .prompt = "You lead a researcher and a mathematician."})
    .compile({.name = "headcount"});
}

// A team with a name is an agent of the team above.
troupe::compiled_graph hierarchy() {
  auto author = troupe::create_react_agent({.model = model({"133317 people: a large choir."}),
                                            .prompt = "You write one sentence.",
                                            .name = "author"});
  auto writing = troupe::create_supervisor(
                   {.agents = {author},
                    .model = model({call("transfer_to_author"), "The sentence is written."}),
                    .output_mode = troupe::output_mode::full_history,
                    .supervisor_name = "editor"})
                   .compile({.name = "writing"});
  return troupe::create_supervisor(
           {.agents = {supervisor(), writing},
            .model = model({call("transfer_to_headcount"), call("transfer_to_writing"),
                            "133317 people: a large choir."}),
            .prompt = "You lead two teams.",
            .add_handoff_back_messages = false,
            .supervisor_name = "director"})
    .compile({.name = "company"});
}

// The same work without handoffs: the supervisor has its agents as tools.
troupe::compiled_graph agents_as_tools() {
  auto research = troupe::agent_as_tool(researcher(), "research", "Looks things up");
  auto math = troupe::agent_as_tool(mathematician(), "math", "Does sums");
  return troupe::create_react_agent(
    {.model = model({call("research", {{"task", "How many people do A and B have?"}}),
                     call("math", {{"task", "67317 + 66000"}}), "A and B have 133317 people."}),
     .tools = {research, math},
     .name = "lead"});
}

} // namespace teams
