// mcp_transport: the connection of an MCP client to its server, and the parts that all connections
// share.
#pragma once

#include "agents/mcp/mcp_protocol.hpp"

#include <troupe/agents/mcp.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace troupe {

class mcp_host; // agents/mcp/mcp_host.hpp

/// The requests of a server that a client with these options answers.
mcp_abilities mcp_abilities_of(const mcp_options& options);

/// A connection. Thread: any. Its destructor fails all open questions.
class mcp_transport {
public:
  explicit mcp_transport(mcp_options options)
    : options_{std::move(options)},
      session_{mcp_abilities_of(options_)} {}
  mcp_transport(const mcp_transport&) = delete;
  mcp_transport& operator=(const mcp_transport&) = delete;
  virtual ~mcp_transport() = default;

  /// Sends a question. `then` is called once, with the result, McpError, node_timeout or
  /// overloaded: perhaps at once, else on the connection's thread. With a listener, progress is
  /// requested, and events of the question go there. Result: the question's number.
  virtual std::int64_t ask(std::string method, value params, std::chrono::milliseconds timeout,
                           mcp_session::answer then,
                           std::shared_ptr<mcp_listener> listener = {}) = 0;
  /// Cancels a question: the server is notified that its answer is not wanted.
  virtual void cancel(std::int64_t id) = 0;
  /// Gives a question more time: it fails `within` from now. No effect in this process, where only
  /// the time of runs counts.
  virtual void extend(std::int64_t id, std::chrono::milliseconds within) = 0;
  /// Sends a notification. `then` is called when it has arrived, or never will.
  virtual void tell(std::string_view method, const value& params, std::function<void()> then) = 0;
  /// Sends the answer to a request of the server.
  virtual void reply(std::string text) = 0;
  /// Sets the server's answer to the greeting, whose version both sides speak.
  virtual void agree(const value& greeting) = 0;
  /// Called when the server has heard that the connection is established.
  virtual void established() {}

  std::uint64_t tool_changes() const {
    std::scoped_lock lock{mutex_};
    return session_.tool_changes();
  }

protected:
  /// Opens a question; nullopt when `then` got a refusal.
  std::optional<std::int64_t> open(const std::string& method, const mcp_session::answer& then,
                                   std::shared_ptr<mcp_listener> listener);
  /// The text of a question that was opened. With a listener, it asks for progress.
  static std::string question_text(std::int64_t id, const std::string& method, const value& params,
                                   bool listens);
  /// Carries out the consequences of a message, except its reply. Holds no lock.
  void carry_out(mcp_session::heard heard);
  void log(std::string_view line) const;
  error late(std::chrono::milliseconds after) const; ///< node_timeout
  error closed() const;
  error without_answer() const;

  const mcp_options options_;
  mutable std::mutex mutex_;
  mcp_session session_; // under the lock
};

/// Sends nothing yet. Errors: throws error{invalid_value} for a malformed URL with `oauth`.
std::shared_ptr<mcp_transport> make_mcp_http(const mcp_endpoint& endpoint,
                                             const mcp_options& options);
/// Starts the program. Errors: throws error{invalid_config}.
std::shared_ptr<mcp_transport> make_mcp_stdio(const mcp_program& program,
                                              const mcp_options& options);
std::shared_ptr<mcp_transport> make_mcp_in_process(std::shared_ptr<mcp_host> server,
                                                   const mcp_options& options);

} // namespace troupe
