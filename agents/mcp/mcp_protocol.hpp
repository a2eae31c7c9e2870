// MCP's messages, JSON-RPC 2.0: writing and reading them, and what is open between two sides. Pure:
// no clock, no thread, no transport.
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
/// The version that is spoken with a client that offers this one.
std::string_view agreed_mcp_version(std::string_view offered) noexcept;

/// What a request is refused with.
enum class rpc_refused : std::int16_t {
  no_json = -32700,
  no_request = -32600,
  unknown_method = -32601,
  wrong_params = -32602,
  by_server = -32000, ///< of those that JSON-RPC leaves to servers
};

/// JSON text without line breaks, and without troupe's `$` forms: maps print as they stand.
std::string mcp_request(std::int64_t id, std::string_view method, const value& params);
std::string mcp_notification(std::string_view method, const value& params);
std::string mcp_answer(const value& id, const value& result);
/// Without an id (null) it answers what none could be read from.
std::string mcp_refusal(const value& id, rpc_refused why, std::string_view message);

/// That nobody waits for this answer any more; empty for the first question, the greeting, which
/// may not be cancelled.
std::string mcp_cancellation(std::int64_t id);
value mcp_greeting();                                        ///< the params of `initialize`
error mcp_failure(std::string_view doing, std::string what); ///< node_failed of class McpError

/// What is open between us and a server.
/// Invariant: whatever the server says, each question is answered at most once.
class mcp_session {
public:
  using answer = std::function<void(result<value>)>;

  /// What hearing a message leads to, for the caller to do, when it holds no lock.
  struct heard {
    answer then = {}; ///< of the question that was answered
    std::optional<result<value>> with = {};
    std::optional<std::int64_t> id = {}; ///< of that question
    std::string reply = {};              ///< to be sent; empty: nothing
    std::string log = {};                ///< to be told; empty: nothing
  };

  /// Why there may be no further question now: overloaded, of the server that is called so.
  std::optional<error> refusal(std::string_view server) const;
  /// A new question. Its number, from 0.
  std::int64_t ask(std::string method, answer then);
  /// It waits no longer; nothing when it did not.
  std::optional<answer> forget(std::int64_t id);
  /// All that wait, in order; they do no longer.
  std::vector<answer> forget_all();
  std::size_t waiting() const noexcept { return open_.size(); }

  /// A message of the server.
  heard hear(std::string_view text);

  /// How often the server said that its tools have changed.
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
