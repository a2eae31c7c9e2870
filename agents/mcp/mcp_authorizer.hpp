// mcp_authorizer: the token of one MCP server over HTTP, and how another one is got: by the refresh
// token, else with a person's agreement.
#pragma once

#include "agents/mcp/mcp_oauth_rules.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace troupe {

/// Invariants:
///  - one renewal at a time, on a thread of its own, since it waits for servers and for a person.
///    The thread is not joined: the last reference may be dropped on the thread of http_loop, for
///    which a renewal waits. It holds what it uses.
///  - secrets are in no error and in no log.
/// Thread: any.
class mcp_authorizer {
public:
  /// Reads stored credentials.
  /// Errors: throws AuthorizationError for a URL that read_oauth_url refuses.
  mcp_authorizer(const mcp_oauth& settings, const std::string& url);
  mcp_authorizer(const mcp_authorizer&) = delete;
  mcp_authorizer& operator=(const mcp_authorizer&) = delete;
  /// Gives a renewal up. Its `then` is still called.
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
};

} // namespace troupe
