// The built-in middleware: limits, retries, reviews by people, context, tools, personal data.
#pragma once

#include <troupe/agents/agent.hpp>
#include <troupe/policy.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

// ---- limits ---------------------------------------------------------------------------------

/// The reaction at a limit.
/// Errors: none.
/// Source: langchain/agents/middleware/tool_call_limit.py, ExitBehavior.
enum class limit_exit : std::uint8_t {
  go_on, ///< tools only: calls beyond the limit are answered with an error, the others run
  end,   ///< the agent ends; its last message gives the reason
  fail,  ///< the run fails
};

/// Bounds the calls of the model in a thread, and in a run. A run that was paused and resumed
/// counts as one run (the reference counts anew).
/// Units:  calls; nullopt: no bound.
/// Errors: throws error{invalid_config} without any bound. A run fails with node_failed of class
///         ModelCallLimitExceededError.
/// Source: langchain/agents/middleware/model_call_limit.py.
struct call_limits {
  std::optional<std::int64_t> thread = std::nullopt;
  std::optional<std::int64_t> run = std::nullopt;
};
/// The middleware that keeps these bounds.
/// Errors: see call_limits.
/// Source: langchain/agents/middleware/model_call_limit.py, ModelCallLimitMiddleware.
middleware model_call_limit(call_limits limits, limit_exit at_limit = limit_exit::end);

/// Bounds the calls of a tool, or of all tools when `tool` is empty. Answered calls are not
/// counted.
/// Errors: throws error{invalid_config} without any bound, or when the bound of a run exceeds that
///         of the thread. A run fails with node_failed of class ToolCallLimitExceededError.
/// Source: langchain/agents/middleware/tool_call_limit.py.
middleware tool_call_limit(std::string tool, call_limits limits,
                           limit_exit at_limit = limit_exit::go_on);

// ---- failures -------------------------------------------------------------------------------

/// Asks these models in turn when the model before fails.
/// Errors: a run fails with the last model's error.
/// Source: langchain/agents/middleware/model_fallback.py.
middleware model_fallback(std::vector<chat_model_ptr> models);

/// How often a failed call is tried again, and after which wait.
/// Units:  the wait after attempt n (from 1) is min(delay_max, delay * factor^(n-1)); with `jitter`
///         it varies by a quarter.
/// Shape:  `retry_on` unset: every error. `give_up` gives the text of an answer, or of a tool
///         message, that replaces the error; unset: the error is raised. Such an answer is marked
///         with response_metadata.error.
/// Errors: none.
/// Source: langchain/agents/middleware/_retry.py.
struct retry_options {
  std::uint32_t retries_max = 2;
  std::chrono::milliseconds delay{1000};
  double factor = 2.0;
  std::chrono::milliseconds delay_max{60'000};
  bool jitter = true;
  std::function<bool(const error&)> retry_on = {};
  std::function<std::string(const error&, std::uint32_t attempts)> give_up = {};
};
/// Asks the model again when a call of it failed.
/// Errors: a run fails with the last attempt's error, unless `give_up` replaces it.
/// Source: langchain/agents/middleware/model_retry.py, ModelRetryMiddleware.
middleware model_retry(retry_options options = {});
/// Runs a tool again when a call of it failed.
/// Shape:  `tools`: names; empty: all. By default the final failure of a tool is reported to the
///         model.
/// Errors: as model_retry.
/// Source: langchain/agents/middleware/tool_retry.py.
middleware tool_retry(retry_options options = {}, std::vector<std::string> tools = {});

/// Turns exceptions of these tools into messages to the model. Middleware before it in the list is
/// outside of it, middleware after it inside. After tool_retry in the list, it leaves no failure to
/// retry.
/// Shape:  `content` gives the text of an error message; nullopt: the failure is raised. `tools`:
///         names; empty: all. `content` does not see failures that always end the run.
/// Errors: throws error{invalid_config} without `content`.
/// Source: langchain/agents/middleware/tool_error.py.
using tool_error_text =
  std::function<std::optional<std::string>(const error& failure, const value& call)>;
/// The middleware that gives these messages.
/// Errors: see tool_error_text.
/// Source: langchain/agents/middleware/tool_error.py, ToolErrorMiddleware.
middleware tool_error_messages(tool_error_text content, std::vector<std::string> tools = {});

/// Decides anew each time which tools there are, and which calls may run.
/// Shape:  `enabled` false: the tool is hidden from the model, and a call of it is refused.
///         `refusal` gives the reason why a call must not run, or nullopt. Unset: all tools are
///         enabled, all calls may run. A refused call is answered with an error that gives the
///         reason. Both must be pure: they run again when a run is resumed.
/// Errors: none.
/// Source: troupe; langgraph-cpp, ToolPolicy.
struct tool_policy_options {
  std::function<bool(const std::string& tool, const value& state)> enabled = {};
  std::function<std::optional<std::string>(const value& call, const value& state)> refusal = {};
};
/// The middleware that keeps this policy.
/// Errors: none.
/// Source: troupe; langgraph-cpp, ToolPolicy.
middleware tool_policy(tool_policy_options options);

/// Before a run, answers the calls that an earlier run left open, as patched_tool_calls. A new
/// message after a failed run, or one that interrupts a run (multitask_strategy::interrupt), then
/// finds a conversation that models accept.
/// Errors: none.
/// Source: deepagents/middleware/patch_tool_calls.py, PatchToolCallsMiddleware.
middleware patch_tool_calls();

/// Lets `model` answer in place of these tools; for tests of agents whose tools cost or change
/// something.
/// Shape:  `tools`: names; empty: all. Arguments are not checked. Readers of the `messages` stream
///         don't see these answers.
/// Errors: a run fails with the error of the model.
/// Source: langchain/agents/middleware/tool_emulator.py.
middleware tool_emulator(chat_model_ptr model, std::vector<std::string> tools = {});

// ---- people ---------------------------------------------------------------------------------

/// The decisions a person may take about a call.
/// Shape:  `decisions`: of "approve", "edit", "reject", "respond". `when` unset: always. `when`
///         runs again when the run is resumed, so it must be pure.
/// Errors: none.
/// Source: langchain/agents/middleware/human_in_the_loop.py, InterruptOnConfig.
struct review {
  std::vector<std::string> decisions = {"approve", "edit", "reject", "respond"};
  std::string description = "Tool execution requires approval";
  std::function<bool(const value& call, const value& state)> when = {};
};
/// The number of questions for an answer with several calls.
/// Errors: none.
/// Source: langchain/agents/middleware/human_in_the_loop.py, InterruptMode.
enum class review_mode : std::uint8_t {
  batched,  ///< one question; no call runs before it is answered
  per_call, ///< one question for each call, within its task; calls without a review run meanwhile
};
/// Asks a person before these tools run, about unanswered calls.
/// Shape:  batched: the question is {action_requests: [{name, args, description}], review_configs:
///         [{action_name, allowed_decisions}]}; the answer is {decisions: [{type …}]}, in order.
///         Per call: the question is {type: "tool_approval", tool_call_id, name, args,
///         description}; the answer is one decision, given by the question's id when several are
///         open.
///         A decision is {type: "approve"}, {type: "edit", edited_action: {name, args}}, {type:
///         "reject", message} or {type: "respond", message}. An edited call runs in place of the
///         original one; per call the tool stays the same. The result mentions the edit unless
///         `edit_notice` is false. A decision holds for that call alone: a later call with the same
///         id is reviewed again.
/// Errors: throws error{invalid_config} for a tool without a permitted decision.
///         A run fails with invalid_resume (of class ValueError) for a wrong number of decisions, a
///         forbidden one, or one that lacks a member. The question then stays open with the same
///         id, and the next answer or a new input resumes the thread. The tools' task fails with
///         node_failed of class ValueError for an edit to an unknown tool.
/// Source: langchain/agents/middleware/human_in_the_loop.py.
middleware human_in_the_loop(std::vector<std::pair<std::string, review>> tools,
                             review_mode mode = review_mode::batched, bool edit_notice = true);

// ---- what the model sees --------------------------------------------------------------------
// Three parts keep a conversation within what a model can read; agents/README.md compares them.
// `summarization` replaces older messages in the state for good. `context_editing` shows the model
// a placeholder for older tool results, and the state keeps them. `compaction_control`
// (troupe/tool_runner.hpp) is for the loop without a graph.

/// When a conversation is summarized, and which part of it is kept. Any trigger suffices; with
/// `all_triggers`, all that are set must hold.
/// Units:  tokens as counted by `token_counter` (default: the estimate); a trigger also compares
///         the usage of the model's last answer. Fractions, in (0, 1], of max_input_tokens in the
///         model's profile; 0: unused.
/// Shape:  `keep_tokens` or `keep_fraction` replaces `keep_messages`; the last message always
///         stays. In `prompt`, "{messages}" stands for the conversation.
/// Errors: see summarization.
/// Source: langchain/agents/middleware/summarization.py, SummarizationMiddleware.
struct summary_options {
  std::int64_t trigger_tokens = 0;
  double trigger_fraction = 0;
  std::size_t trigger_messages = 0;
  bool all_triggers = false;
  std::size_t keep_messages = 20;
  std::int64_t keep_tokens = 0;
  double keep_fraction = 0;
  std::function<std::int64_t(const value& messages)> token_counter = {};
  std::string prompt = {};                 ///< empty: a default with four sections
  std::int64_t tokens_to_summarize = 4000; ///< of the older messages; the oldest are left out
};
/// Replaces the older part of a long conversation by a summary that `model` makes. Calls stay with
/// their answers. A part that is too long for the model fails with class ContextOverflowError. The
/// model is then asked once more, without the middle of the part.
/// Errors: throws error{invalid_config} without a trigger, for a bound out of range, and for a
///         fraction when the model's profile lacks max_input_tokens. A run fails with the error of
///         the model.
/// Source: langchain/agents/middleware/summarization.py.
middleware summarization(chat_model_ptr model, summary_options options);

/// When and which tool results are cleared.
/// Units:  tokens. `clear_at_least`: clearing stops once this many are saved; 0: all older results
///         are cleared.
/// Shape:  `keep` counts the last results of all tools. Results of `exclude_tools` always stay; the
///         tool's name is the result's, else its call's. A result without a call in the answer
///         before it stays too. `clear_tool_inputs`: the arguments of their calls become empty too;
///         the answer lists their ids in response_metadata.context_editing.cleared_tool_inputs.
/// Errors: none.
/// Source: langchain/agents/middleware/context_editing.py.
struct clear_options {
  std::int64_t trigger_tokens = 100'000;
  std::size_t keep = 3; ///< the number of last results that stay
  std::int64_t clear_at_least = 0;
  bool clear_tool_inputs = false;
  std::vector<std::string> exclude_tools = {};
  std::string placeholder = "[cleared]";
};
/// Shows the model a placeholder for older tool results once the conversation is long. The state
/// keeps the results.
/// Errors: none.
/// Source: langchain/agents/middleware/context_editing.py.
middleware context_editing(clear_options options = {});

/// Lets `model` choose, by the user's last question, the tools that the agent's model sees.
/// Shape:  `tools_max` 0: any number. The tools in `always` are added.
/// Errors: a run fails with
///         - StructuredOutputValidationError when `model` names an unknown tool
///         - ValueError for an `always` that is not among the request's tools
///         - AssertionError when the request has no user message
/// Source: langchain/agents/middleware/tool_selection.py.
struct selection_options {
  std::size_t tools_max = 0;
  std::vector<std::string> always = {};
};
/// The middleware in which `model` selects the tools.
/// Errors: see selection_options.
/// Source: langchain/agents/middleware/tool_selection.py, LLMToolSelectorMiddleware.
middleware tool_selector(chat_model_ptr model, selection_options options = {});

/// Lets the provider search these tools (empty: all), instead of showing each of them to the model.
/// Shape:  the tools get `defer_loading`, and the provider's search tool is added. Models of
///         providers other than Anthropic and OpenAI get the request unchanged.
/// Errors: none.
/// Source: langchain/agents/middleware/provider_tool_search.py.
middleware provider_tool_search(std::vector<std::string> tools = {});

/// Adds a tool `write_todos`, a channel `todos` ([{content, status}]), and instructions for their
/// use.
/// Errors: none.
/// Source: langchain/agents/middleware/todo.py.
middleware todo_list();

/// An agent that another agent may give a task to.
/// Errors: see subagents.
/// Source: deepagents/middleware/subagents.py, SubAgent.
struct subagent {
  std::string name;
  std::string description; ///< for the model that chooses
  compiled_graph graph;    ///< any graph over `messages`
};
/// Adds a tool `task` and instructions for its use. The tool gives a task to one of these agents in
/// a separate conversation and returns the agent's last message.
/// Shape:  arguments: `description` (the task), `subagent_type` (a name). Several calls of one
///         answer run side by side. The metadata of the agent's tasks has `lc_agent_name` (the
///         name) and `tool_call_id` (of the call).
/// Errors: throws error{invalid_graph} without agents, and for two of one name. A run fails with
///         the agent's error; the agent's questions are asked as the tool's own.
/// Source: deepagents/middleware/subagents.py, SubAgentMiddleware.
middleware subagents(std::vector<subagent> agents);

// ---- personal data --------------------------------------------------------------------------

/// The treatment of personal data that was found.
/// Errors: `block` fails the run; see pii.
/// Source: langchain/agents/middleware/pii.py, PIIMiddleware.
enum class pii_strategy : std::uint8_t { redact, mask, hash, block };

/// Where personal data is searched. `output` also covers what stream readers see of an answer while
/// it arrives. The end of each text is held back (limits::pii_held_bytes) until no match can begin
/// in it. With `block`, readers see nothing from a match on. `tool_results` likewise covers what
/// readers of the `tools` stream see of a call.
/// Shape:  `find` gives the places [begin, end) in a text, sorted and disjoint; unset: the rule of
///         the type.
/// Errors: see pii.
/// Source: langchain/agents/middleware/pii.py, PIIMiddleware.
struct pii_options {
  pii_strategy strategy = pii_strategy::redact;
  bool input = true;   ///< the last message of the user
  bool output = false; ///< the last answer
  bool tool_results = false;
  std::function<std::vector<std::pair<std::size_t, std::size_t>>(std::string_view)> find = {};
};
/// Removes, masks, hashes or blocks personal data of one type.
/// Shape:  types with a rule: email, credit_card (by Luhn), ip, mac_address, url.
/// Errors: throws error{invalid_config} for another type without `find`. A run with `block` fails
///         with node_failed of class PIIDetectionError.
/// Source: langchain/agents/middleware/pii.py.
middleware pii(std::string type, pii_options options = {});

} // namespace troupe
