// The commands of the part for agents: each function adds the flags and the action of one. Also the
// graph `chat`.
#pragma once

#include "tools/troupe/commands.hpp"

#include <troupe/agents/model_providers.hpp>
#include <troupe/compiled_graph.hpp>

#include <string>

namespace troupe::cli {

void define_chat(CLI::App* command, chosen_command& chosen);
void define_mcp(CLI::App* command, chosen_command& chosen);

/// The built-in graph `chat` with this model, as init_chat_model finds it; empty: the one that
/// TROUPE_MODEL names, else echo.
/// Errors: throws error{invalid_config}.
compiled_graph chat_graph(const std::string& model, chat_model_options options = {});

} // namespace troupe::cli
