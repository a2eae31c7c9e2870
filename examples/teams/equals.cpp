// Agents without a supervisor, which hand over to each other. The next message goes to the last
// speaker.
#include "examples/teams/teams.hpp"

namespace teams {

troupe::compiled_graph swarm() {
  auto ada = troupe::create_react_agent(
    {.model = model({call("transfer_to_bob")}),
     .tools = {troupe::create_swarm_handoff_tool({.agent = "Bob"})},
     .prompt = "You are Ada. Send who wants to talk like a pirate to Bob.",
     .name = "Ada"});
  auto bob =
    troupe::create_react_agent({.model = model({"Arr, here be Bob!", "Ye still talk to Bob."}),
                                .tools = {troupe::create_swarm_handoff_tool({.agent = "Ada"})},
                                .prompt = "You are Bob, a pirate.",
                                .name = "Bob"});
  return troupe::create_swarm({.agents = {ada, bob}, .default_active_agent = "Ada"})
    .compile({.name = "swarm"});
}

// create_network() makes the handoffs from each agent to each other one.
troupe::compiled_graph network() {
  return troupe::create_network(
           {.agents = {{.model = model({call("transfer_to_hotels")}), .name = "flights"},
                       {.model = model({call("transfer_to_cars")}), .name = "hotels"},
                       {.model = model({"A car waits at the hotel.", "It is a red one."}),
                        .name = "cars"}}})
    .compile({.name = "network"});
}

} // namespace teams
