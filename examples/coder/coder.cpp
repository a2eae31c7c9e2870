// See coder.hpp.
#include "examples/coder/coder.hpp"

#include "examples/coder/permissions.hpp"
#include "examples/coder/script.hpp"

#include <cstdlib>

namespace coder {

namespace {

constexpr const char* order =
  "You work on the project in the current folder. Look before you change: read, glob and grep are "
  "free, and `task` sends an explorer to find something out, who sees nothing of this "
  "conversation. edit, write and shell ask the user; when he says no, do not try again another "
  "way. Keep changes small, run what tests there are, and end with what you did and what is open. "
  "Look into /memories with the memory tool first, and note there what helps next time.";

constexpr const char* explorer_order =
  "You find things out in the project in the current folder, and change nothing. Answer in a few "
  "sentences, with the paths and lines that matter.";

constexpr std::int64_t summarize_at_tokens = 100'000;
constexpr std::int64_t model_calls_max = 200; // of a run

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

// What tools throw, told to the model.
troupe::tool_errors told() {
  return troupe::tool_errors::handler{
    [](const troupe::error& why) -> std::optional<std::string> { return why.text(); }};
}

std::vector<troupe::tool> joined(std::vector<troupe::tool> some,
                                 const std::vector<troupe::tool>& more) {
  some.insert(some.end(), more.begin(), more.end());
  return some;
}

} // namespace

minds choose_minds(const std::string& name) {
  auto wanted = name.empty() ? model_of_environment() : name;
  if (wanted.empty())
    return {scripted_agent(), scripted_explorer(),
            "no model: a script plays one. It does not understand the task, it writes CODER.md, a "
            "list of the folder's files",
            true};
  auto model = troupe::init_chat_model(wanted);
  return {model, model, "model " + wanted};
}

troupe::shell_options shell_of_project() {
  return {.sandbox = troupe::shell_sandbox::if_there,
          .timeout = std::chrono::seconds{120},
          .lines_max = lines_shown_max,
          .hidden = {own_folder}};
}

troupe::compiled_graph build_coder(project_ptr p, const coder_options& options) {
  auto explorer = troupe::create_agent({.model = options.who.explorer,
                                        .tools = reading_tools(p),
                                        .system_prompt = explorer_order,
                                        .tool_node = {.handle_tool_errors = told()},
                                        .name = "explorer"});
  auto memory = troupe::memory_tool(troupe::make_folder_memory(p->folder / own_folder));
  auto task = troupe::agent_as_tool(explorer, "task", "Sends an explorer, who can only read");
  auto tools = joined(reading_tools(p), writing_tools(p));
  return troupe::create_agent(
    {.model = options.who.agent,
     .tools = joined(tools, {troupe::shell_tool(p->folder, options.shell), task, memory}),
     .system_prompt = order,
     .middleware = {troupe::todo_list(),
                    troupe::summarization(options.who.agent,
                                          {.trigger_tokens = summarize_at_tokens}),
                    troupe::model_call_limit({.run = model_calls_max}),
                    ask_before({"edit", "write", "shell"})},
     .tool_node = {.handle_tool_errors = told()},
     .name = "coder"});
}

} // namespace coder
