// a2a_forms: assistants, messages and runs as agents, messages and tasks of A2A. Pure: times and
// new ids are arguments.
//
// A context is a thread, and a task is one of its runs.
#pragma once

#include "server/rules/records.hpp"
#include "server/runs/run_service.hpp"

#include <troupe/runtime.hpp>
#include <troupe/value.hpp>

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::server {

/// The codes of A2A's errors.
enum class a2a_code : std::int16_t {
  no_json = -32700,
  no_request = -32600,
  unknown_method = -32601,
  wrong_params = -32602,
  unknown_task = -32001,
  not_cancelable = -32002,
  no_push = -32003,
  task_is_over = -32004,
  unknown_part = -32005
};

/// A request that is refused; thrown by the functions below.
class a2a_problem : public std::exception {
public:
  a2a_problem(a2a_code code, std::string why) : code_{code}, why_{std::move(why)} {}
  a2a_code code() const noexcept { return code_; }
  const char* what() const noexcept override { return why_.c_str(); }

private:
  a2a_code code_;
  std::string why_;
};

/// The id of a task: "THREAD:RUN".
struct a2a_task_id {
  std::string thread_id;
  std::string run_id;

  std::string text() const { return thread_id + ':' + run_id; }
  static std::optional<a2a_task_id> of(std::string_view text);
};

// ---- messages of clients

/// A message of a client.
/// Shape:  `content`: as messages have it, null without texts and files. `data`: the members of the
///         data parts. An empty `thread_id`: a new context. `task`: the one that it is sent to.
struct a2a_message {
  std::string id;
  std::string thread_id;
  std::optional<a2a_task_id> task = std::nullopt;
  value content = {};
  value data = value::map();
  value sent = {}; ///< as the client sent it, with parts of 0.3
};

/// Shape:  `params` of either version; `new_message_id`: for a message without an id.
/// Errors: throws a2a_problem{wrong_params}, {unknown_task} for a task id of another form,
///         {unknown_part} for a part that is neither a text, a file nor data.
a2a_message read_a2a_message(const value& params, const std::string& new_message_id);

/// The input of a run for a message.
/// Errors: throws a2a_problem{wrong_params} for texts or files to a graph without `messages`.
value input_of_message(const a2a_message& message, const assistant_record& assistant,
                       const value& input_schema);

/// The answer to a run's question: the data, or the text.
value answer_of_message(const a2a_message& message);

// ---- forms

/// Which messages a history has: all of the context, or those of the task alone.
enum class history_scope : std::uint8_t { context, task };
/// Shape:  `most`: of the newest ones.
struct history_choice {
  history_scope scope = history_scope::context;
  std::size_t most = static_cast<std::size_t>(-1);
};
/// Errors: throws a2a_problem{wrong_params}.
history_choice read_history_choice(const value& length, std::string_view scope);

/// A state's messages of users and agents.
/// Shape:  `state` as clients read it. `first_id`: of the message that began the task.
value history_form(const value& state, const a2a_task_id& task, const std::string& first_id,
                   const history_choice& choice);

/// A message of the agent with these parts.
value agent_message(value parts, const std::string& new_id, const a2a_task_id& task,
                    bool with_context);
value text_parts(std::string_view text);

/// submitted, working, completed, failed, canceled or input-required.
std::string_view task_state_of(run_status status, bool asks) noexcept;
value status_form(std::string_view state, const std::string& time, value message = {});

/// The parts of a question: its text, or its data. Several questions are one list, as data.
value parts_of_questions(const value& questions);

/// The artifact of a finished run: the last message of the agent, else the whole output.
value artifact_form(const value& output, const std::string& new_id,
                    const std::string& assistant_id);

value a2a_task_form(const a2a_task_id& task, value status, value history);
value status_update(const a2a_task_id& task, value status, bool is_final);
value artifact_update(const a2a_task_id& task, value artifact);

/// The agent card of an assistant.
/// Shape:  `url`: where its messages go.
/// Source: a2a-protocol.org, AgentCard of 0.3 and of 1.0 (`supportedInterfaces`) in one.
value agent_card(const assistant_record& assistant, const value& input_schema,
                 const std::string& url);

/// The header that chooses a history's scope: context or task.
inline constexpr std::string_view history_scope_header = "langgraph-a2a-history-scope";

} // namespace troupe::server
