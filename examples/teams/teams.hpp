// The teams of this example, and who speaks in them.
#pragma once

#include <troupe/agents.hpp>

#include <string>
#include <vector>

namespace teams {

/// The model that TROUPE_MODEL names ("provider:model"); without it, one that says these lines.
troupe::chat_model_ptr model(std::vector<troupe::scripted_model::answer> lines);

/// An assistant's message that calls one tool, as a script has it.
troupe::value call(const std::string& tool, troupe::value args = troupe::value::map());

troupe::compiled_graph supervisor();
troupe::compiled_graph hierarchy();
troupe::compiled_graph swarm();
troupe::compiled_graph network();
troupe::compiled_graph agents_as_tools();
troupe::compiled_graph plan_execute();

} // namespace teams
