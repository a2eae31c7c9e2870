// webhook_policy: which URLs the server calls when a run ends. Pure.
//
// A URL comes from a client, and the server may reach hosts that the client may not. So the URL is
// checked when a run is made, and the address again when it is connected to: a name may resolve to
// another address by then.
#pragma once

#include <troupe/error.hpp>
#include <troupe/server/limits.hpp>
#include <troupe/value.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace troupe::server {

/// Shape:  `allowed_domains`: host names, or "*.example.com" for those below one; empty allows all.
///         `allowed_ports`: empty allows all.
/// Source: langgraph_cli/schemas.py, WebhooksConfig and WebhookUrlPolicy; `disable_private` is
///         troupe's.
struct webhook_policy {
  bool require_https = true;
  bool disable_loopback = true; ///< loopback addresses, and relative URLs: routes of the server
  bool disable_private = true;  ///< private, link-local and reserved addresses
  std::vector<std::string> allowed_domains{};
  std::vector<std::uint16_t> allowed_ports{};
  std::size_t max_url_length = limits::server_webhook_url_bytes_max; ///< in bytes
  /// Headers of each call. Shape: `${{ env.NAME }}` in a text stands for the variable.
  std::vector<std::pair<std::string, std::string>> headers{};

  /// The member `webhooks` of a configuration: {"url": {…}, "headers": {…}, "env_prefix"}. Null
  /// gives the default.
  /// Shape:  `variable` gives a variable of the environment. Only names that begin with
  ///         `env_prefix` ("LG_WEBHOOK_" by default) are asked for.
  /// Errors: invalid_config that names the member: of the wrong kind, unknown, or a variable that
  ///         is missing.
  static result<webhook_policy>
  from(const value& config,
       const std::function<std::optional<std::string>(const std::string&)>& variable);
};

/// The reason why a URL may not be called, for an answer with status 422; empty when it may.
/// Shape:  a text that begins with `/` is a route of the server.
std::string webhook_problem(const webhook_policy& policy, const std::string& url);

/// Whether an address that a webhook's host resolved to may be connected to, for
/// http_request::may_connect.
bool may_call_address(const webhook_policy& policy, const std::string& address);

} // namespace troupe::server
