// The node of an agent that asks the model.
#pragma once

#include <troupe/agent.hpp>

namespace troupe {

/// The body of the node: repairs the history, asks the model through all wrappers, and reads a
/// structured answer.
node_body model_node_of(const agent_options& options);

<<<<<<< HEAD
=======
/// Whether its state has `structured_response`: it has a response_format, or a wrapper may give
/// one.
bool has_structured_response(const agent_options& options);

/// The messages with an error behind each answer's calls that nobody answered, or that could not be
/// read; nothing when all is well.
std::optional<value> repaired_history(const value& messages);

>>>>>>> 9806720 (agents: wrappers see the data of an answer, and how it fails)
/// What stands before the colon of a model's name.
std::string provider_of(const chat_model& model);

} // namespace troupe
