// mcp_authorizer: the token of one MCP server over HTTP, and how another one is got: by the refresh
// token, else with a person's agreement.
#pragma once

#include "agents/mcp/mcp_oauth_rules.hpp"

#include "http/exchange.hpp"

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace troupe {

/// Invariants:
///  - one renewal at a time, on a thread of its own, since it waits for servers and for a person.
///  - secrets are in no error and in no log.
/// Thread: any.
class mcp_authorizer {
public:
  /// Reads stored credentials.
  /// Errors: throws AuthorizationError for a URL that read_oauth_url refuses.
  mcp_authorizer(const mcp_oauth& settings, const std::string& url);
  mcp_authorizer(const mcp_authorizer&) = delete;
  mcp_authorizer& operator=(const mcp_authorizer&) = delete;
  /// Gives a renewal up. Blocks: while it waits for a server, oauth_request_timeout at most.
  ~mcp_authorizer();

  std::string token() const; ///< empty: none is known
  /// Gets another token than that of `used`, the refused Authorization header. `then` is called
  /// once, at once or on the renewal's thread.
  /// Shape:  `challenge`: the WWW-Authenticate of the refusal.
  void renew(const std::string& challenge, const std::string& used,
             std::function<void(const std::optional<error>& failed)> then);

private:
  struct core;
  std::shared_ptr<core> core_;
  std::mutex mutex_;
  std::thread thread_;
};

} // namespace troupe
