// jwt: signed tokens of callers. Pure: keys, rules and the time are arguments.
//
// A key decides the algorithm, never the token: a token whose header names another one is refused,
// and `none` is not an algorithm.
// Source: RFC 7515, 7517, 7518, 7519; best practices of RFC 8725.
#pragma once

#include <troupe/error.hpp>
#include <troupe/server/access.hpp>
#include <troupe/server/limits.hpp>
#include <troupe/value.hpp>

#include <openssl/evp.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::server {

enum class jwt_algorithm : std::uint8_t { hs256, rs256, es256 };
std::string_view to_string(jwt_algorithm which) noexcept; ///< "HS256"

/// A key that checks signatures.
/// Shape:  `id`: the `kid` of its tokens, or empty, which fits all. `secret` for HS256, else
///         `open`.
struct jwt_key {
  jwt_algorithm algorithm = jwt_algorithm::hs256;
  std::string id = {};
  std::string secret = {};
  std::shared_ptr<EVP_PKEY> open = {};
};

/// A shared secret.
/// Errors: invalid_config when it is shorter than 32 bytes (RFC 7518, 3.2).
result<jwt_key> jwt_secret(std::string secret, std::string id = {});
/// A public key in PEM: RSA of at least 2048 bits gives RS256, P-256 gives ES256.
/// Errors: invalid_config for other keys, and for private ones.
result<jwt_key> jwt_public_key(std::string_view pem, std::string id = {});
/// The keys of a JSON Web Key Set. Keys that cannot check RS256 or ES256 are left out: secrets,
/// keys for encryption, and unknown kinds. Units:  at most limits::server_jwt_keys_max keys.
/// Errors: invalid_config when it is not a set, or none of its keys fits.
result<std::vector<jwt_key>> read_jwks(std::string_view json);

/// Shape:  `issuer` and `audience`: empty accepts any, also a missing one; several audiences accept
///         each. `identity`: the claim with the caller's identity. `permissions`: a claim with a
///         list of texts, or with words between blanks.
struct jwt_rules {
  std::string issuer{};
  std::vector<std::string> audiences{};
  std::string identity = "sub";
  std::string permissions = "scope";
  bool needs_expiry = true;
  std::chrono::seconds leeway{30}; ///< for clocks that differ; of `exp`, `nbf` and `iat`
};

/// The header of a token, before its signature is checked: nothing in it is to be trusted.
struct jwt_header {
  std::string algorithm;
  std::string id;
};
result<jwt_header> read_jwt_header(std::string_view token);

/// The claims of a token whose signature fits one of the keys, and which counts `now`, in seconds
/// since 1970.
/// Errors: invalid_value with a reason for the caller; no part of the token is in it.
result<value> verified_claims(std::string_view token, std::span<const jwt_key> keys,
                              const jwt_rules& rules, std::int64_t now);

/// The caller of verified claims; all claims are in `more`.
/// Errors: invalid_value when the claim of the identity is missing or not a text.
result<caller> caller_of_claims(const value& claims, const jwt_rules& rules);

// -- the algorithms; none throws

bool fits_hs256(std::string_view secret, std::string_view text, std::string_view signature);
bool fits_rs256(EVP_PKEY& key, std::string_view text, std::string_view signature);
/// Shape:  `signature`: r and s, 32 bytes each.
bool fits_es256(EVP_PKEY& key, std::string_view text, std::string_view signature);

/// Base64 for URLs, without padding; nullopt for text that another text encodes, too.
std::optional<std::string> from_base64url(std::string_view text);

} // namespace troupe::server
