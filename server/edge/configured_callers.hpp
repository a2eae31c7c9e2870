// configured_callers: the authenticator that the options of a server ask for.
#pragma once

#include "server/edge/http_edge.hpp"

#include <troupe/server.hpp>

#include <functional>
#include <string>

namespace troupe::server {

/// Knows the callers of `api_keys`, `tokens` and `authenticate`, asked in this order; empty when
/// the options have none of them. `report` gets a line when a changed file of keys does not fit.
/// Errors: throws error{invalid_config}: a file that is missing or malformed, a secret that others
///         can read, a URL of keys that may not be called.
authenticator authenticator_of(const server_options& options,
                               std::function<void(const std::string& line)> report);

} // namespace troupe::server
