// authenticators: the ways in which a server knows its callers. They read the headers `x-api-key`
// and `Authorization`, and no other: `x-auth-scheme`, which anybody can send, opens nothing.
#pragma once

#include "server/auth/api_keys.hpp"
#include "server/auth/jwks_cache.hpp"
#include "server/auth/jwt.hpp"
#include "server/edge/http_edge.hpp"

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace troupe::server {

/// Callers by API keys of a list, or of a file that may change.
/// Errors: throws error{invalid_config}: as api_key_file.
authenticator by_api_keys(std::vector<api_key> keys);
authenticator by_api_key_file(const std::filesystem::path& file,
                              std::function<void(const std::string&)> report);

/// Callers by tokens in `Authorization: Bearer`.
authenticator by_jwt(std::vector<jwt_key> keys, jwt_rules rules);
authenticator by_jwks(std::shared_ptr<jwks_cache> keys, jwt_rules rules);

/// A caller that one of them knows, asked in order. The error is the last one's.
authenticator by_any_of(std::vector<authenticator> all);

/// Reads a key set: from a file, or from a URL. Without `allows_private`, a URL must be https, and
/// its host must not have an address of this host or a private network.
/// Errors: of the function: storage_failed for the file; invalid_config for a URL that may not be
///         called, and those of http_fetch_and_wait.
std::function<result<std::string>()> jwks_file(std::filesystem::path file);
std::function<result<std::string>()> jwks_url(std::string url, bool allows_private);

} // namespace troupe::server
