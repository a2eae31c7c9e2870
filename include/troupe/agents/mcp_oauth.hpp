// Authorization of an MCP client at a server over HTTP (OAuth 2.1): a person agrees in a browser,
// and the client gets a token.
//
//     troupe::mcp_oauth oauth{.open = [](const std::string& url) { show_in_browser(url); }};
//     auto client = troupe::mcp_client::connect(
//       troupe::mcp_endpoint{.url = "https://mcp.example/mcp", .oauth = oauth});
#pragma once

#include <troupe/limits.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace troupe {

/// The result of an authorization: secrets, which belong into no log.
/// Shape:  `client_id` and `client_secret` are those of the registration. An empty
///         `refresh_token`: the person is asked again when the token has expired.
/// Errors: none.
/// Source: RFC 6749; RFC 7591.
struct mcp_credentials {
  std::string client_id;
  std::string client_secret = {};
  std::string access_token = {};
  std::string refresh_token = {};
  std::string token_endpoint = {};
  std::string scope = {};
};

/// The place where credentials are kept between processes.
/// Thread: any; one call at a time for one client.
/// Shape:  `resource` is the server's URL without its query.
/// Errors: an exception is ignored. After one of load() the client has no credentials; after one of
///         save() the token is valid in this process.
/// Source: mcp.client.auth, TokenStorage.
class mcp_credential_store {
public:
  mcp_credential_store() = default;
  mcp_credential_store(const mcp_credential_store&) = delete;
  mcp_credential_store& operator=(const mcp_credential_store&) = delete;
  virtual ~mcp_credential_store() = default;
  /// Errors: an exception counts as missing credentials.
  virtual std::optional<mcp_credentials> load(const std::string& resource) = 0;
  /// Errors: an exception is ignored, since the token is valid in this process.
  virtual void save(const std::string& resource, const mcp_credentials& credentials) = 0;
};

/// How a client gets a token.
/// Shape:  the server's metadata (RFC 9728) names the authorization server, whose metadata (RFC
///         8414) must offer PKCE with S256. Without `client_id`, the client registers itself (RFC
///         7591). The redirect comes to a listener on 127.0.0.1, which lives only meanwhile.
/// Errors: AuthorizationError for
///         - a server that does not offer all of this
///         - an address that is not https; a server on loopback may name one on loopback
///         - a redirect with another `state`
///         - a person who does not agree within `person_wait`
///         No error and no log has a token, code or secret.
/// Source: modelcontextprotocol.io, 2025-11-25, basic/authorization; mcp.client.auth,
///         OAuthClientProvider.
struct mcp_oauth {
  /// Shows the URL to a person, in a browser. Called on a thread of the authorization; must not
  /// wait for the answer. Unset: only stored credentials are used.
  std::function<void(const std::string& url)> open = {};
  std::shared_ptr<mcp_credential_store> store = nullptr; ///< null: kept in this client only
  std::string client_id = {};         ///< of an earlier registration; empty: the client registers
  std::string client_secret = {};     ///< of an earlier registration
  std::string client_name = "troupe"; ///< for the person
  std::string scope = {};             ///< empty: as the server asks
  std::uint16_t redirect_port = 0;    ///< 0: any; else as registered
  std::chrono::milliseconds person_wait = limits::oauth_person_wait;
};

} // namespace troupe
