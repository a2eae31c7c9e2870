// The teams of this example, and the models in them.
#pragma once

#include <troupe/agents.hpp>

#include <string>
#include <vector>

namespace teams {

/// The model that TROUPE_MODEL names ("provider:model"), or else a script with these lines.
troupe::chat_model_ptr model(std::vector<troupe::scripted_model::answer> lines);

/// An assistant's message that calls one tool, for scripts.
troupe::value call(const std::string& tool, troupe::value args = troupe::value::map());

troupe::compiled_graph supervisor();
troupe::compiled_graph hierarchy();
troupe::compiled_graph swarm();
troupe::compiled_graph network();
troupe::compiled_graph agents_as_tools();
troupe::compiled_graph plan_execute();

} // namespace teams
