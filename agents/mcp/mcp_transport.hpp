// mcp_transport: the connection of an MCP client to its server.
#pragma once

#include "agents/mcp/mcp_protocol.hpp"

#include <troupe/agents/mcp.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <string>

namespace troupe {

class mcp_service; // agents/mcp/mcp_service.hpp

/// A connection. Thread: any. Its destructor fails all open questions.
class mcp_transport {
public:
  mcp_transport() = default;
  mcp_transport(const mcp_transport&) = delete;
  mcp_transport& operator=(const mcp_transport&) = delete;
  virtual ~mcp_transport() = default;

  /// Sends a question. `then` is called once, with the result, McpError, node_timeout or
  /// overloaded: perhaps at once, else on the connection's thread. Result: the question's number.
  virtual std::int64_t ask(std::string method, value params, std::chrono::milliseconds timeout,
                           mcp_session::answer then) = 0;
  /// Cancels a question: the server is notified that its answer is not wanted.
  virtual void cancel(std::int64_t id) = 0;
  /// Sends a notification. `then` is called when it has arrived, or never will.
  virtual void tell(std::string_view method, const value& params, std::function<void()> then) = 0;
  /// Sets the version that both sides speak, once it is known.
  virtual void agree(const std::string& version) = 0;
  virtual std::uint64_t tool_changes() const = 0;
};

/// Sends nothing yet.
std::shared_ptr<mcp_transport> make_mcp_http(const mcp_endpoint& endpoint,
                                             const mcp_options& options);
/// Starts the program. Errors: throws error{invalid_config}.
std::shared_ptr<mcp_transport> make_mcp_stdio(const mcp_program& program,
                                              const mcp_options& options);
std::shared_ptr<mcp_transport> make_mcp_in_process(std::shared_ptr<const mcp_service> server,
                                                   const mcp_options& options);

} // namespace troupe
