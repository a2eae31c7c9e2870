// coder: the agent, its explorer and its models.
#include "examples/coder/coder.hpp"

#include "examples/coder/permissions.hpp"
#include "examples/coder/script.hpp"

#include <cstdlib>
#include <filesystem>

namespace coder {

namespace {

constexpr const char* order =
  "You work on the project in the current folder. Look before you change: that is free, and `task` "
  "sends an explorer to find something out, who sees nothing of this conversation. write_file, "
  "edit_file and shell ask the user; when he says no, do not try again another way. Keep changes "
  "small, run what tests there are, and end with what you did and what is open. "
  "Look into /memories with the memory tool first, and note there what helps next time.";

constexpr const char* explorer_order =
  "You find things out in the project in the current folder, and change nothing. Answer in a few "
  "sentences, with the paths and lines that matter.";

constexpr std::int64_t summarize_at_tokens = 100'000;
constexpr std::int64_t model_calls_max = 200;   // of a run
constexpr std::size_t lines_printed_max = 2000; // by a command

std::string set_in_environment(const char* name) {
  const char* text = std::getenv(name);
  return text ? text : "";
}

std::string model_of_environment() {
  if (auto name = set_in_environment("TROUPE_MODEL"); !name.empty())
    return name;
  if (!set_in_environment("OPENAI_BASE_URL").empty()) {
    auto name = set_in_environment("OPENAI_MODEL");
    return "openai:" + (name.empty() ? "default" : name);
  }
  return set_in_environment("ANTHROPIC_API_KEY").empty() ? "" : "anthropic:claude-sonnet-4-5";
}

// Errors of tools, as texts for the model.
troupe::tool_errors told() {
  return troupe::tool_errors::handler{
    [](const troupe::error& why) -> std::optional<std::string> { return why.text(); }};
}

} // namespace

minds choose_minds(const std::string& name, const std::string& tool_grammar) {
  auto wanted = name.empty() ? model_of_environment() : name;
  if (wanted.empty())
    return {scripted_agent(), scripted_explorer(),
            "no model: a script takes its place. It does not understand the task; it writes "
            "CODER.md, a list of the folder's files",
            "a script", true};
  auto model = troupe::init_chat_model(wanted);
  if (!tool_grammar.empty())
    model = troupe::with_tool_grammar(
      model, {.member = tool_grammar == "vllm" ? "structured_outputs.grammar" : "grammar"});
  return {model, model, "model " + wanted, wanted};
}

troupe::shell_options shell_of_project() {
  return {.sandbox = troupe::shell_sandbox::if_there,
          .timeout = std::chrono::seconds{120},
          .lines_max = lines_printed_max,
          .hidden = {own_folder}};
}

troupe::compiled_graph build_coder(const std::filesystem::path& folder,
                                   const coder_options& options) {
  auto looking = troupe::filesystem(folder, {.read_only = true, .hidden = {own_folder}});
  auto explorer = troupe::create_agent({.model = options.who.explorer,
                                        .system_prompt = explorer_order,
                                        .middleware = {looking},
                                        .tool_node = {.handle_tool_errors = told()},
                                        .name = "explorer"});
  auto memory = troupe::memory_tool(troupe::make_folder_memory(folder / own_folder));
  auto task = troupe::agent_as_tool(explorer, "task", "Sends an explorer, who can only read");
  return troupe::create_agent(
    {.model = options.who.agent,
     .tools = {task, memory},
     .system_prompt = order,
     .middleware = {troupe::filesystem(folder, {.hidden = {own_folder}}),
                    troupe::shell(folder, options.shell), troupe::todo_list(),
                    troupe::summarization(options.who.agent,
                                          {.trigger_tokens = summarize_at_tokens}),
                    troupe::model_call_limit({.run = model_calls_max}),
                    ask_before({"write_file", "edit_file", "shell"})},
     .tool_node = {.handle_tool_errors = told()},
     .name = "coder"});
}

} // namespace coder
