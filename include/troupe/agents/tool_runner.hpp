// The tool runner: a loop of a model and its tools without a graph, for a body that examines each
// turn. Compaction replaces a long conversation by a summary.
#pragma once

#include <troupe/agents/chat_model.hpp>
#include <troupe/agents/tool_node.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// When and how a conversation is compacted. Agents that are graphs use `summarization` and
/// `context_editing` (troupe/middleware.hpp) instead.
/// Units:  `context_token_threshold` in tokens of the last answer's usage (context_tokens).
/// Shape:  `model` null: the runner's; `summary_prompt` empty: a default with five sections.
/// Errors: see tool_runner.
/// Source: anthropic/lib/tools/_beta_compaction_control.py.
struct compaction_control {
  bool enabled = false;
  std::int64_t context_token_threshold = 100'000;
  chat_model_ptr model = nullptr;
  std::string summary_prompt = {};
};

/// The tokens of the conversation and the answer: input, cache writes and reads, and output. 0
/// without usage.
/// Errors: none.
/// Source: anthropic/lib/tools/_beta_runner.py, _check_and_compact.
std::int64_t context_tokens(const value& answer);

/// The conversation as one user message that holds its summary. Unanswered calls of the last answer
/// are hidden from the model.
/// Shape:  `settings` of the request, e.g. max_tokens. The request has the header
///         X-Stainless-Helper: compaction, no tools, and no system message except those in
///         `messages`.
/// Errors: the coroutine throws the error of the model; node_failed of class ValueError for an
///         answer without text.
/// Source: anthropic/lib/tools/_beta_runner.py, _check_and_compact.
coro<value> compacted(chat_model& model, value messages, std::string summary_prompt, context& ctx,
                      value settings = value::map());

/// The settings of a tool runner.
/// Units:  `max_iterations` in answers; 0: no bound.
/// Errors: see tool_runner.
/// Source: anthropic/lib/tools/_beta_runner.py, BetaToolRunner.
struct tool_runner_options {
  std::uint32_t max_iterations = 0;
  compaction_control compaction = {};
  value settings = value::map(); ///< of every request
  tool_errors handle_tool_errors = true;
};

/// The parts of a runner's requests that the caller may change between two turns.
/// Shape:  `settings` of every request: max_tokens, temperature …; `tool_choice` as of
///         model_request; `messages` a list.
/// Errors: see tool_runner::set_messages_params.
/// Source: anthropic/lib/tools/_beta_runner.py, BetaToolRunner._params.
struct tool_runner_params {
  chat_model_ptr model;
  std::vector<tool> tools = {};
  value messages = value::list();
  value settings = value::map();
  value tool_choice = {};
};

/// Asks a model, runs the tools it calls, and asks again, one answer at a time:
///     troupe::tool_runner runner{model, tools, messages};
///     while (true) {
///       auto turn = runner.next(ctx);
///       auto answer = co_await turn;
///       if (!answer) break;
///     }
/// Between two turns the caller may change the conversation, the model, its tools and its settings.
/// A change counts from the next request on; the tools of the last answer run as they are then. The
/// loop ends with an answer that calls no tool; that answer is part of messages(), and is not
/// compacted. An answer that the provider only paused (pause_turn) is added, and the model is asked
/// again. At max_iterations the tools of the last answer are not run, and messages() lacks that
/// answer.
/// Thread: one body.
/// Errors: the coroutines throw the error of the model.
/// Source: anthropic/lib/tools/_beta_runner.py, BetaToolRunner, BetaStreamingToolRunner.
class tool_runner {
public:
  using part_reader = std::function<void(const value& part)>;

  /// Errors: throws error{invalid_config} without a model, and the errors of tool_node.
  tool_runner(chat_model_ptr model, std::vector<tool> tools, value messages,
              tool_runner_options options = {});

  /// The next answer, or nothing at the end. `on_part` gets the parts of the answer as they arrive;
  /// join_chunks() of them is the answer. A model that does not stream gives it as one part.
  /// Errors: the coroutine throws the error of the model.
  coro<std::optional<value>> next(context& ctx, part_reader on_part = {});
  /// The last answer. `on_part` gets the parts of all answers.
  /// Errors: the coroutine throws invalid_value when the model gave no answer within
  /// max_iterations.
  coro<value> until_done(context& ctx, part_reader on_part = {});

  /// The tool messages for the last answer's calls, a list; the tools run once a turn.
  /// Errors: the coroutine throws a tool's error that is not handled (tool_errors).
  coro<value> tool_response(context& ctx);

  const value& messages() const noexcept { return params_.messages; }
  /// Replaces the conversation; the last answer and its results are still added to it.
  void set_messages(value messages) { params_.messages = std::move(messages); }
  const tool_runner_params& params() const noexcept { return params_; }
  /// Replaces the parameters. A turn still adds its messages to `messages`.
  /// Errors: throws error{invalid_config} without a model, and invalid_graph for two tools of one
  ///         name; the old parameters stand.
  void set_messages_params(tool_runner_params params);
  void set_messages_params(const std::function<tool_runner_params(tool_runner_params)>& change);
  /// Adds tools.
  /// Errors: as set_messages_params.
  void add_tools(const std::vector<tool>& tools);
  /// Removes the tools of these names. A call of such a tool is answered as one of an unknown tool.
  /// Errors: throws error{missing_key} for a name that the runner does not know.
  void remove_tools(const std::vector<std::string>& names);
  /// Adds messages. This turn then adds no messages itself: the caller must also add the answer.
  void append_messages(const std::vector<value>& messages);

private:
  coro<bool> finish_turn(context& ctx);
  bool is_too_long() const;

  tool_runner_params params_;
  tool_runner_options options_; // without its settings
  tool_node node_;
  std::uint32_t iterations_ = 0;
  value answer_; // of this turn; null before the first
  std::optional<value> response_;
  bool modified_ = false;
  bool ended_ = false;
};

} // namespace troupe
