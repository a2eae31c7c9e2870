// mcp_call: one call of a server's tool by an agent: its progress, the questions of its server, and
// its answer. A call whose question waits for a person is held, while the run is paused.
#pragma once

#include "agents/mcp/mcp_tools.hpp"
#include "agents/mcp/mcp_transport.hpp"

#include <troupe/completion.hpp>

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// A call on its way. The connection's thread adds events, one body at a time takes them.
/// Invariants:
///  - of progress, only the last report waits. Further questions than limits::mcp_questions_max are
///    refused, so that a server cannot fill the memory.
///  - after the end no further event comes.
class mcp_call : public mcp_listener, public std::enable_shared_from_this<mcp_call> {
public:
  /// One of the three is set.
  struct event {
    std::optional<value> progress = {};
    std::optional<mcp_asked> asked = {};
    std::optional<result<value>> ended = {};
  };
  /// A question of the server, which each body of the call puts to its run in the same order.
  struct question {
    mcp_asked asked;
    bool for_person = true; ///< else the permission is known
    bool is_sent = false;   ///< the server has the answer
  };

  mcp_call(std::weak_ptr<mcp_transport> transport, const mcp_options& options)
    : transport_{std::move(transport)},
      options_{options} {}

  void begin(const std::string& tool, const value& arguments);
  /// The next event; nullopt when none waits.
  std::optional<event> next();
  /// Completes `done` when there is an event.
  void wake_by(completer<void> done);
  /// Sends the answer to a question.
  void answer(question& asked, const result<value>& with, rpc_refused why);
  void cancel();
  bool has_failed() const;

  void progressed(const value& params) override;
  bool asked(mcp_asked request) override;

  std::vector<question> questions; ///< so far, in order; used by the body only

private:
  void ended(result<value> how);
  void wake(std::unique_lock<std::mutex> lock);

  const std::weak_ptr<mcp_transport> transport_;
  const mcp_options options_;

  mutable std::mutex mutex_;
  std::int64_t id_ = -1;
  std::optional<value> progress_;
  std::deque<mcp_asked> asked_;
  std::size_t asked_count_ = 0;
  std::optional<result<value>> ended_;
  bool is_over_ = false;
  bool has_failed_ = false;
  std::optional<completer<void>> wake_;
};

/// The calls that wait for a person, by the task and call of their runs. Thread: any.
class mcp_held_calls {
public:
  /// Adds a call. The oldest of more than limits::mcp_held_calls_max is cancelled.
  void put(const std::string& key, std::shared_ptr<mcp_call> call);
  /// Removes the call; null without one.
  std::shared_ptr<mcp_call> take(const std::string& key);

private:
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<mcp_call>> calls_;
  std::deque<std::string> order_;
};

/// The data for the calls of one tool.
struct mcp_called_tool {
  std::shared_ptr<mcp_transport> transport;
  std::shared_ptr<mcp_held_calls> held;
  mcp_options options;
  mcp_definition definition;
  std::shared_ptr<const void> client; ///< keeps the connection
};
coro<tool_output> run_mcp_tool(std::shared_ptr<const mcp_called_tool> of, value args,
                               tool_runtime& runtime);

// -- pure

/// The refusal of a malformed request of a server; nullopt for one that can be answered.
std::optional<std::string> mcp_refused_request(const mcp_asked& request);
/// The result for the server, from a person's answer to an elicitation.
/// Errors: invalid_resume that names the mistake.
result<value> mcp_elicited(const mcp_asked& request, const value& answer);
/// The request for the model. Errors: invalid_value that names the limit or the mistake.
result<model_request> mcp_sampled_request(const mcp_asked& request, const mcp_sampling& sampling);
value mcp_sampled_result(const chat_model& model, const value& answer);

} // namespace troupe
