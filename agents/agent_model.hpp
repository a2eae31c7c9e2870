// agent_model: the node of an agent that asks the model.
#pragma once

#include <troupe/agents/agent.hpp>

namespace troupe {

/// The body of the node: repairs the history, asks the model through all wrappers, and reads a
/// structured answer.
node_body model_node_of(const agent_options& options);

/// Whether the agent's state has `structured_response`: the agent has a response_format, or a
/// wrapper may give one.
bool has_structured_response(const agent_options& options);

/// The part of a model's name before the colon.
std::string provider_of(const chat_model& model);

} // namespace troupe
