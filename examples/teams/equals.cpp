// Agents without a supervisor: each hands over to others, and who spoke last is spoken to next.
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

// The handoffs of everybody to everybody are made here.
troupe::compiled_graph network() {
  return troupe::create_network(
           {.agents = {{.model = model({call("transfer_to_hotels")}), .name = "flights"},
                       {.model = model({call("transfer_to_cars")}), .name = "hotels"},
                       {.model = model({"A car waits at the hotel.", "It is a red one."}),
                        .name = "cars"}}})
    .compile({.name = "network"});
}

} // namespace teams
