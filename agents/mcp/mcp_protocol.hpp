// mcp_protocol: MCP's messages, JSON-RPC 2.0: writing and reading them, and the open questions
// between two sides. Pure: no clock, no thread, no transport.
#pragma once

#include <troupe/error.hpp>
#include <troupe/value.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// The newest version, which is offered.
inline constexpr std::string_view mcp_version = "2025-11-25";
bool is_known_mcp_version(std::string_view version) noexcept;
/// The version to speak with a client that offers this one.
std::string_view agreed_mcp_version(std::string_view offered) noexcept;

/// The codes with which a request is refused.
enum class rpc_refused : std::int16_t {
  no_json = -32700,
  no_request = -32600,
  unknown_method = -32601,
  wrong_params = -32602,
  by_server = -32000, ///< one of those that JSON-RPC leaves to servers
};

/// JSON text without line breaks, and without troupe's `$` forms: maps are written unchanged.
std::string mcp_request(std::int64_t id, std::string_view method, const value& params);
std::string mcp_notification(std::string_view method, const value& params);
std::string mcp_answer(const value& id, const value& result);
/// A null id answers a message whose id could not be read.
std::string mcp_refusal(const value& id, rpc_refused why, std::string_view message);

/// The notification that this answer is not wanted any more; empty for the first question, the
/// greeting, which may not be cancelled.
std::string mcp_cancellation(std::int64_t id);
value mcp_greeting();                                        ///< the params of `initialize`
error mcp_failure(std::string_view doing, std::string what); ///< node_failed of class McpError

/// The open questions to a server.
/// Invariant: whatever the server sends, each question is answered at most once.
class mcp_session {
public:
  using answer = std::function<void(result<value>)>;

  /// The consequences of a message, which the caller carries out while it holds no lock.
  struct heard {
    answer then = {}; ///< of the answered question
    std::optional<result<value>> with = {};
    std::optional<std::int64_t> id = {}; ///< of the answered question
    std::string reply = {};              ///< to send; empty: nothing
    std::string log = {};                ///< to log; empty: nothing
  };

  /// The error overloaded when no further question may be asked now; `server` is its name in the
  /// message.
  std::optional<error> refusal(std::string_view server) const;
  /// Adds a question. Result: its number, from 0.
  std::int64_t ask(std::string method, answer then);
  /// Removes a question; nullopt when it did not wait any more.
  std::optional<answer> forget(std::int64_t id);
  /// Removes all questions and returns their callbacks, in order.
  std::vector<answer> forget_all();
  std::size_t waiting() const noexcept { return open_.size(); }

  /// Handles a message of the server.
  heard hear(std::string_view text);

  /// How often the server reported that its tools have changed.
  std::uint64_t tool_changes() const noexcept { return tool_changes_; }

private:
  struct question {
    std::string method;
    answer then;
  };
  heard hear_answer(const value& message);
  heard hear_request(const value& message);
  heard hear_notification(const value& message);

  std::map<std::int64_t, question> open_;
  std::int64_t next_ = 0;
  std::uint64_t tool_changes_ = 0;
};

} // namespace troupe
