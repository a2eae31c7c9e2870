// A coding agent: its models, its tools, its graph.
#pragma once

#include <troupe/agents.hpp>

#include <filesystem>
#include <string>

namespace coder {

/// What the coder keeps in the project's folder: its threads and its memory. Closed to its tools.
inline constexpr const char* own_folder = ".coder";

/// Who thinks: the agent, and the explorer that it sends to look at things.
struct minds {
  troupe::chat_model_ptr agent;
  troupe::chat_model_ptr explorer;
  std::string what; ///< for people
  std::string name; ///< of the model; "a script" without one
  bool scripted = false;
};
/// The model of that name; without one, that of TROUPE_MODEL, OPENAI_BASE_URL (with OPENAI_MODEL)
/// or ANTHROPIC_API_KEY; without any, a script (script.hpp). `tool_grammar`: the server that holds
/// the model to its tools by a grammar, "llama.cpp" or "vllm"; empty: none.
/// Errors: throws error{invalid_config}, as init_chat_model.
minds choose_minds(const std::string& name, const std::string& tool_grammar);

struct coder_options {
  minds who;
  troupe::shell_options shell;
};
/// How commands run in a project's folder: in a sandbox where there is one.
troupe::shell_options shell_of_project();
/// The agent as a graph. It works in `folder`, and keeps notes in its .coder/memories.
troupe::compiled_graph build_coder(const std::filesystem::path& folder,
                                   const coder_options& options);

} // namespace coder
