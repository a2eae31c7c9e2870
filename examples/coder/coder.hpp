// coder: the models, the tools and the graph of a coding agent.
#pragma once

#include <troupe/agents.hpp>

#include <filesystem>
#include <string>

namespace coder {

/// The coder's folder in the project, for threads and memory. Hidden from its tools.
inline constexpr const char* own_folder = ".coder";

/// The models of the agent and of the explorer that it sends to look at things.
struct minds {
  troupe::chat_model_ptr agent;
  troupe::chat_model_ptr explorer;
  std::string what; ///< for people
  std::string name; ///< of the model; "a script" without one
  bool scripted = false;
};
/// Chooses a model, the first of these that is set:
/// - `name`
/// - TROUPE_MODEL
/// - OPENAI_BASE_URL (with OPENAI_MODEL)
/// - ANTHROPIC_API_KEY
/// - a script (script.hpp)
/// Shape:  `tool_grammar`: the server that holds the model to its tools by a grammar, "llama.cpp"
///         or "vllm"; empty: no grammar.
/// Errors: throws error{invalid_config}, as init_chat_model.
minds choose_minds(const std::string& name, const std::string& tool_grammar);

struct coder_options {
  minds who;
  troupe::shell_options shell;
};
/// The options of commands in a project's folder: in a sandbox where one is available.
troupe::shell_options shell_of_project();
/// The agent as a graph. Works in `folder`, and keeps notes in `folder`/.coder/memories.
troupe::compiled_graph build_coder(const std::filesystem::path& folder,
                                   const coder_options& options);

} // namespace coder
