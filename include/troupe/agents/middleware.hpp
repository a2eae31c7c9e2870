// Ready-made middleware.
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

/// What happens at a limit.
enum class limit_exit : std::uint8_t {
  go_on, ///< tools only: calls beyond the limit are answered with an error, the others run
  end,   ///< the agent ends, and says why
  fail,  ///< the run fails
};

/// At most so many calls of the model in a thread, and in a run. A run that was paused and goes on
/// counts as one (the reference begins anew).
/// Units:  calls; nullopt: no bound.
/// Errors: throws error{invalid_config} without any bound. Of a run: node_failed of class
///         ModelCallLimitExceededError.
/// Source: langchain/agents/middleware/model_call_limit.py.
struct call_limits {
  std::optional<std::int64_t> thread = std::nullopt;
  std::optional<std::int64_t> run = std::nullopt;
};
middleware model_call_limit(call_limits limits, limit_exit at_limit = limit_exit::end);

/// At most so many calls of a tool, or with an empty name of all tools. Calls that have a message
/// already are not counted.
/// Errors: throws error{invalid_config} without any bound, or a run's greater than the thread's. Of
///         a run: node_failed of class ToolCallLimitExceededError.
/// Source: langchain/agents/middleware/tool_call_limit.py.
middleware tool_call_limit(std::string tool, call_limits limits,
                           limit_exit at_limit = limit_exit::go_on);

// ---- failures -------------------------------------------------------------------------------

/// Asks these models in turn when the one before fails.
/// Errors: of a run: the last one's error.
/// Source: langchain/agents/middleware/model_fallback.py.
middleware model_fallback(std::vector<chat_model_ptr> models);

/// How often, and how long after a failure, something is tried again.
/// Units:  attempt n (from 1) is followed by min(delay_max, delay * factor^(n-1)), with jitter a
///         quarter more or less.
/// Shape:  `retry_on` unset: every error. `give_up`: the text of an answer, or of a tool's message,
///         in place of the error; unset: the error is raised. Such an answer is marked:
///         response_metadata.error.
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
middleware model_retry(retry_options options = {});
/// Shape:  `tools`: names; empty: all. By default a tool that fails for good is reported to the
///         model.
/// Source: langchain/agents/middleware/tool_retry.py.
middleware tool_retry(retry_options options = {}, std::vector<std::string> tools = {});

/// Makes messages to the model of what these tools throw. It stands inside of the middleware before
/// it and outside of what is behind it: behind tool_retry, a failure is retried no more.
/// Shape:  `content` gives the text of an error message, or nothing: then the failure goes on.
///         `tools`: names; empty: all. What ends the run whatever is said is not asked about.
/// Source: langchain/agents/middleware/tool_error.py.
using tool_error_text =
  std::function<std::optional<std::string>(const error& failure, const value& call)>;
middleware tool_error_messages(tool_error_text content, std::vector<std::string> tools = {});

/// Which tools there are, and which calls may run, decided anew each time.
/// Shape:  `enabled` false: the model is not shown the tool, and a call of it is refused.
///         `refusal` gives why a call must not run, or nothing. Both unset: yes. A call that is
///         refused is answered with an error that says why. Both are pure: they run again when a
///         run is resumed.
/// Source: troupe; langgraph-cpp, ToolPolicy.
struct tool_policy_options {
  std::function<bool(const std::string& tool, const value& state)> enabled = {};
  std::function<std::optional<std::string>(const value& call, const value& state)> refusal = {};
};
middleware tool_policy(tool_policy_options options);

/// Before a run, answers the calls that one before it left open: patched_tool_calls. So a message
/// that interrupts a run (multitask_strategy::interrupt), or comes after one that failed, finds a
/// conversation that a model can go on with.
/// Source: deepagents/middleware/patch_tool_calls.py, PatchToolCallsMiddleware.
middleware patch_tool_calls();

/// Lets `model` answer in place of these tools; for tests of agents whose tools cost or change
/// something.
/// Shape:  `tools`: names; empty: all. Arguments are not checked, and readers of the `messages`
///         stream don't see what the model says for the tool.
/// Errors: of a run: what the model throws.
/// Source: langchain/agents/middleware/tool_emulator.py.
middleware tool_emulator(chat_model_ptr model, std::vector<std::string> tools = {});

// ---- people ---------------------------------------------------------------------------------

/// What a person may decide about a call.
/// Shape:  `decisions`: of "approve", "edit", "reject", "respond". `when` unset: always; it runs
///         again when the run goes on, so it must be pure.
struct review {
  std::vector<std::string> decisions = {"approve", "edit", "reject", "respond"};
  std::string description = "Tool execution requires approval";
  std::function<bool(const value& call, const value& state)> when = {};
};
/// How many questions an answer with several calls leads to.
enum class review_mode : std::uint8_t {
  batched,  ///< one; no call runs before it is answered
  per_call, ///< one for each call, within its task; calls without a review run meanwhile
};
/// Asks a person before these tools run, about calls that have no message yet.
/// Shape:  batched: the question is {action_requests: [{name, args, description}], review_configs:
///         [{action_name, allowed_decisions}]}; the answer {decisions: [{type …}]}, in order. Per
///         call: {type: "tool_approval", tool_call_id, name, args, description}; the answer one
///         decision, by the question's id where there are several. A decision is {type: "approve"},
///         {type: "edit", edited_action: {name, args}}, {type: "reject", message} or {type:
///         "respond", message}. An edited call runs in place of the original one, and its result
///         says so, unless `edit_notice` is false; per call it stays one of the same tool. A
///         decision holds for that call alone: a later call with the same id is reviewed again.
/// Errors: of a run: invalid_resume (of class ValueError) for another number of decisions, one that
///         is not allowed, or one that lacks a member. The question then stays open with the same
///         id, and the next answer or a new input resumes the thread. node_failed of class
///         ValueError, in the tools' task, for an edit to an unknown tool.
/// Source: langchain/agents/middleware/human_in_the_loop.py.
middleware human_in_the_loop(std::vector<std::pair<std::string, review>> tools,
                             review_mode mode = review_mode::batched, bool edit_notice = true);

// ---- what the model sees --------------------------------------------------------------------
// Three parts keep a conversation within what a model can read; agents/README.md compares them.
// `summarization` replaces older messages in the state for good. `context_editing` shows the model
// a placeholder for older tool results, and the state keeps them. `compaction_control`
// (troupe/tool_runner.hpp) is for the loop without a graph.

/// When a conversation is summarized (any of the triggers, or with `all_triggers` all that are
/// given), and what is kept of it as it is.
/// Units:  tokens as `token_counter` says (the estimate), for the trigger also as the model counted
///         those of its last answer; fractions of max_input_tokens in the model's profile, in
///         (0, 1]; 0: not looked at.
/// Shape:  `keep_tokens` or `keep_fraction` stand in for `keep_messages`; the last message stays
///         whatever its size. `prompt` has the conversation in place of "{messages}".
struct summary_options {
  std::int64_t trigger_tokens = 0;
  double trigger_fraction = 0;
  std::size_t trigger_messages = 0;
  bool all_triggers = false;
  std::size_t keep_messages = 20;
  std::int64_t keep_tokens = 0;
  double keep_fraction = 0;
  std::function<std::int64_t(const value& messages)> token_counter = {};
  std::string prompt = {};                 ///< empty: one with four sections
  std::int64_t tokens_to_summarize = 4000; ///< of the older messages; the oldest are left out
};
/// Replaces the older part of a conversation by a summary that `model` makes, once it is long
/// enough. Calls stay with their answers. When that is too much for the model (its error is of
/// class ContextOverflowError), it is asked once more, with the middle of that part cut out.
/// Errors: throws error{invalid_config} without a trigger, for a bound that is no such number, and
///         for a fraction of a model whose profile does not say. Of a run: what the model throws.
/// Source: langchain/agents/middleware/summarization.py.
middleware summarization(chat_model_ptr model, summary_options options);

/// Units:  tokens. `clear_at_least`: once so many are saved the rest stays; 0: all go.
/// Shape:  `keep` counts the last results of all tools. Those of `exclude_tools` stay in any case;
///         the name is the result's, else its call's. A result without a call in the answer before
///         it stays too. `clear_tool_inputs`: the arguments of their calls become empty too; the
///         answer notes their ids in response_metadata.context_editing.cleared_tool_inputs.
/// Source: langchain/agents/middleware/context_editing.py.
struct clear_options {
  std::int64_t trigger_tokens = 100'000;
  std::size_t keep = 3; ///< the last results stay
  std::int64_t clear_at_least = 0;
  bool clear_tool_inputs = false;
  std::vector<std::string> exclude_tools = {};
  std::string placeholder = "[cleared]";
};
/// Shows the model a placeholder in place of older tool results, once the conversation is long. The
/// state keeps them.
middleware context_editing(clear_options options = {});

/// Lets `model` choose the tools that the agent's model is shown, by the last question of the user.
/// Shape:  `tools_max` 0: any number. `always` are shown besides.
/// Errors: of a run: StructuredOutputValidationError when it names a tool there is not, ValueError
///         for an `always` that is not among the request's tools.
/// Source: langchain/agents/middleware/tool_selection.py.
struct selection_options {
  std::size_t tools_max = 0;
  std::vector<std::string> always = {};
};
middleware tool_selector(chat_model_ptr model, selection_options options = {});

/// Lets the provider search these tools (empty: all) in place of showing the model each of them.
/// Shape:  they get `defer_loading`, and the provider's own tool for the search is added. Models of
///         other providers than Anthropic and OpenAI are asked as they are.
/// Source: langchain/agents/middleware/provider_tool_search.py.
middleware provider_tool_search(std::vector<std::string> tools = {});

/// A tool `write_todos` and a channel `todos`: [{content, status}], and how to use it.
/// Source: langchain/agents/middleware/todo.py.
middleware todo_list();

/// An agent that another one may give a task to.
struct subagent {
  std::string name;
  std::string description; ///< for the model that chooses
  compiled_graph graph;    ///< any graph over `messages`
};
/// A tool `task` that gives a task to one of these agents, in a conversation of its own, and says
/// its last message; and how to use it.
/// Shape:  arguments: `description` (the task), `subagent_type` (a name). Several calls of one
///         answer run side by side. In the metadata of the agent's tasks are `lc_agent_name` (the
///         name) and `tool_call_id` (of the call).
/// Errors: throws error{invalid_graph} without agents, and for two of one name. Of a run: what the
///         agent fails with; its questions are asked as the tool's own.
/// Source: deepagents/middleware/subagents.py, SubAgentMiddleware.
middleware subagents(std::vector<subagent> agents);

// ---- personal data --------------------------------------------------------------------------

enum class pii_strategy : std::uint8_t { redact, mask, hash, block };

/// Where personal data is looked for. With `output`, also in what readers of the stream are told of
/// an answer while it comes: the end of each text is kept back (limits::pii_held_bytes) until it
/// is clear that nothing begins in it; with `block` they see nothing from there on. With
/// `tool_results`, likewise in what readers of the `tools` stream are told of a call.
/// Shape:  `find` gives the places [begin, end) in a text, in order and apart; unset: by the type's
///         own rule.
struct pii_options {
  pii_strategy strategy = pii_strategy::redact;
  bool input = true;   ///< the last message of the user
  bool output = false; ///< the last answer
  bool tool_results = false;
  std::function<std::vector<std::pair<std::size_t, std::size_t>>(std::string_view)> find = {};
};
/// Shape:  types with a rule: email, credit_card (by Luhn), ip, mac_address, url.
/// Errors: throws error{invalid_config} for another type without `find`. Of a run: node_failed of
///         class PIIDetectionError with `block`.
/// Source: langchain/agents/middleware/pii.py.
middleware pii(std::string type, pii_options options = {});

} // namespace troupe
