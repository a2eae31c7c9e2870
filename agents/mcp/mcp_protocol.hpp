// mcp_protocol: MCP's messages, JSON-RPC 2.0: writing and reading them, and the open questions
// between two sides. Pure: no clock, no thread, no transport.
#pragma once

#include <troupe/error.hpp>
#include <troupe/value.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
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
  no_resource = -32002,
  by_person = -1, ///< the person of the client refused it
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
/// The requests of a server that a client answers.
struct mcp_abilities {
  bool elicitation = false;
  bool sampling = false;
};
value mcp_greeting(mcp_abilities abilities = {});            ///< the params of `initialize`
error mcp_failure(std::string_view doing, std::string what); ///< node_failed of class McpError

/// A request of the server that this side answers, under the server's id.
struct mcp_asked {
  value id;
  std::string method;
  value params = {};
};

/// Receives the events of one question before its answer, without a lock held.
class mcp_listener {
public:
  mcp_listener() = default;
  mcp_listener(const mcp_listener&) = delete;
  mcp_listener& operator=(const mcp_listener&) = delete;
  virtual ~mcp_listener() = default;
  /// The params of a progress notification.
  virtual void progressed(const value& params) = 0;
  /// A request that belongs to the question. Result: whether it will be answered.
  virtual bool asked(mcp_asked request) = 0;
};

/// The member of a request's `_meta` that names the call it belongs to. troupe's servers set it,
/// because a connection can carry several calls.
inline constexpr const char* mcp_related_member = "troupe/relatedRequestId";

/// The answer that cancels a request of the server which nobody can answer.
std::string mcp_unanswerable(const mcp_asked& request);

/// The announcement of a change.
/// Shape:  `what` is the part of the server that changed: tools, resources, prompts, or `resource`,
///         then with its `uri`.
struct mcp_announced {
  std::string_view what;
  std::string uri = {};
};

/// The open questions to a server.
/// Invariant: whatever the server sends, each question is answered at most once.
class mcp_session {
public:
  using answer = std::function<void(result<value>)>;

  /// The consequences of a message, which the caller carries out while it holds no lock.
  struct heard {
    answer then = {}; ///< of the answered question
    std::optional<result<value>> with = {};
    std::optional<std::int64_t> id = {};         ///< of the answered question
    std::string reply = {};                      ///< to send; empty: nothing
    std::string log = {};                        ///< to log; empty: nothing
    std::shared_ptr<mcp_listener> listener = {}; ///< receives one of the next two
    std::optional<value> progress = {};          ///< the params of the notification
    std::optional<mcp_asked> asked = {};
    std::optional<mcp_announced> changed = {};
  };

  explicit mcp_session(mcp_abilities abilities = {}) : abilities_{abilities} {}

  /// The error overloaded when no further question may be asked now; `server` is its name in the
  /// message.
  std::optional<error> refusal(std::string_view server) const;
  /// Adds a question. Result: its number, from 0. With a listener, progress and requests of the
  /// server during the question go there.
  std::int64_t ask(std::string method, answer then, std::shared_ptr<mcp_listener> listener = {});
  /// Removes a question; nullopt when it did not wait any more.
  std::optional<answer> forget(std::int64_t id);
  /// Removes all questions and returns their callbacks, in order.
  std::vector<answer> forget_all();
  std::size_t waiting() const noexcept { return open_.size(); }

  /// Handles a message of the server. `carrier`: the question whose response brought it.
  heard hear(std::string_view text, std::optional<std::int64_t> carrier = {});

  /// How often the server reported that its tools have changed.
  std::uint64_t tool_changes() const noexcept { return tool_changes_; }
  /// Counts a change, since another process of the server may have other tools.
  void restarted() noexcept { ++tool_changes_; }

private:
  struct question {
    std::string method;
    answer then;
    std::shared_ptr<mcp_listener> listener;
  };
  heard hear_answer(const value& message);
  heard hear_request(const value& message, std::optional<std::int64_t> carrier);
  heard hear_notification(const value& message);

  std::shared_ptr<mcp_listener> listener_of(const value& params,
                                            std::optional<std::int64_t> carrier) const;

  const mcp_abilities abilities_;
  std::map<std::int64_t, question> open_;
  std::int64_t next_ = 0;
  std::uint64_t tool_changes_ = 0;
};

} // namespace troupe
