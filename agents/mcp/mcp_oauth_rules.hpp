// mcp_oauth_rules: the decisions and texts of an authorization: which metadata is asked for, what
// of it is accepted, and the requests that follow. Pure: no clock, no network.
#pragma once

#include <troupe/agents/mcp_oauth.hpp>
#include <troupe/error.hpp>
#include <troupe/value.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe {

/// node_failed of class AuthorizationError. `why` must have no secret.
error oauth_failure(std::string_view doing, const std::string& why);

/// The code of a refusal, for a message. A text that is not such a code could have a secret.
std::string oauth_error_code(const std::string& given);

/// The parts of a URL. Shape: `origin` has no `/` at its end; `path` is empty or begins with `/`
/// and has no query and fragment.
struct oauth_url {
  std::string origin;
  std::string path;
};
/// Errors: AuthorizationError for
///         - a URL that is not https, except, with `loopback_too`, http on loopback
///         - a fragment, a name or password
///         - more than limits::oauth_text_bytes_max bytes
result<oauth_url> read_oauth_url(const std::string& text, bool loopback_too);

/// The wishes of a server in WWW-Authenticate.
/// Shape:  empty where the header does not say it.
struct oauth_challenge {
  std::string resource_metadata;
  std::string scope;
  std::string error;
};
oauth_challenge read_challenge(std::string_view header);
/// Whether an answer asks for a token, or for one of a wider scope.
bool asks_for_token(int status, std::string_view challenge);

/// The places of the metadata of a server (RFC 9728), in the order in which they are tried.
/// Errors: AuthorizationError when the challenge names another origin than the server's.
result<std::vector<std::string>> resource_metadata_urls(const std::string& resource,
                                                        const oauth_challenge& challenge,
                                                        bool loopback_too);
/// The places of the metadata of an authorization server (RFC 8414, OpenID Connect Discovery).
std::vector<std::string> server_metadata_urls(const oauth_url& issuer);

/// The authorization server's URL, and the scopes of the resource.
struct oauth_resource {
  std::string issuer;
  std::string scope = {};
};
/// Errors: AuthorizationError when the metadata is of another resource or names no server.
result<oauth_resource> read_resource_metadata(const value& metadata, const std::string& resource);

struct oauth_server {
  std::string authorization_endpoint;
  std::string token_endpoint;
  std::string registration_endpoint; ///< empty: clients cannot register
  bool takes_basic = true;           ///< a secret by HTTP Basic, else in the body
};
/// Errors: AuthorizationError when the metadata is of another issuer, has no PKCE with S256, or an
///         endpoint that read_oauth_url refuses.
result<oauth_server> read_server_metadata(const value& metadata, const std::string& issuer,
                                          bool loopback_too);

// -- requests

std::string percent_encoded(std::string_view text);
/// name=value&… Shape: empty values are left out.
std::string form_of(const std::vector<std::pair<std::string, std::string>>& fields);
/// The members of a query; nullopt for one that is not well formed or has a name twice.
std::optional<std::vector<std::pair<std::string, std::string>>> read_query(std::string_view query);
/// The PKCE challenge of a verifier: base64url of its SHA-256.
std::string pkce_challenge(const std::string& verifier);
std::string basic_authorization(const std::string& id, const std::string& secret);
/// The body of a registration.
std::string registration_of(const mcp_oauth& settings, const std::string& redirect);
/// Sets id and secret. Errors: AuthorizationError for an answer without an id.
result<void> read_registration(const value& answer, mcp_credentials& out);
/// Sets the tokens. An answer without a refresh token keeps the old one.
/// Errors: AuthorizationError for an answer without a bearer token, and a token that a header
/// cannot hold.
result<void> read_tokens(const value& answer, mcp_credentials& out);

/// The code in a redirect.
/// Errors: AuthorizationError for a refusal, and another issuer in `iss`.
struct oauth_redirect {
  bool is_ours = false; ///< its `state` is the expected one; else it counts as not come
  result<std::string> code = std::string{};
};
oauth_redirect read_redirect(std::string_view target, const std::string& state,
                             const std::string& issuer);

} // namespace troupe
