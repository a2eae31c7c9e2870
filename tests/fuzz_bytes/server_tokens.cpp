// Tokens of callers and sets of keys: a token counts with the signature of the one key alone.
// Input: a token and a key set, a line each.
#include "tests/fuzz_bytes/target.hpp"

#include "server/auth/jwt.hpp"

#include <openssl/hmac.h>

#include <algorithm>
#include <string>

namespace troupe::fuzz_bytes {

namespace {

using namespace server;

constexpr std::string_view secret = "a secret of thirty-two bytes or so";
constexpr std::int64_t now = 1'000'000;

std::string base64url(std::string_view data) {
  constexpr std::string_view digits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string out;
  for (std::size_t bit = 0; bit < data.size() * 8; bit += 6) {
    unsigned word = 0;
    for (std::size_t at = bit / 8; at < bit / 8 + 2; ++at)
      word = word << 8 | (at < data.size() ? static_cast<unsigned char>(data[at]) : 0u);
    out += digits[word >> (10 - bit % 8) & 63];
  }
  return out;
}

std::string signed_token(std::string_view header, std::string_view claims) {
  auto text = base64url(header) + '.' + base64url(claims);
  unsigned char code[32];
  unsigned size = sizeof code;
  ::HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
         reinterpret_cast<const unsigned char*>(text.data()), text.size(), code, &size);
  return text + '.' + base64url({reinterpret_cast<const char*>(code), size});
}

void try_token(std::string_view token, std::span<const jwt_key> others) {
  const jwt_key key = *jwt_secret(std::string{secret}, "one");
  const jwt_rules rules{.issuer = "us", .audiences = {"a"}};
  auto header = read_jwt_header(token);
  auto claims = verified_claims(token, std::span{&key, 1}, rules, now);
  require(!verified_claims(token, {}, rules, now), "without a key nothing counts");
  require(!verified_claims(token, others, rules, now), "no other key signed it");
  if (!claims) {
    require(claims.error().code() == errc::invalid_value, "a refusal is an invalid_value");
    require(claims.error().message().size() < 100, "a refusal has no part of the token");
    return;
  }
  require(header && header->algorithm == "HS256", "the key decides the algorithm");
  auto dot = token.rfind('.');
  auto signature = from_base64url(token.substr(dot + 1));
  require(signature && fits_hs256(secret, token.substr(0, dot), *signature), "it was signed");
  require((*claims)["exp"].is_number() && (*claims)["exp"].as_double() > double(now) - 30,
          "it has not expired");
  require((*claims)["iss"] == value("us"), "it is of its issuer");
  if (auto who = caller_of_claims(*claims, rules))
    require(!who->identity.empty() && who->is_authenticated, "a caller has a name");
}

} // namespace

void try_bytes(std::string_view bytes) {
  auto token = bytes.substr(0, bytes.find('\n'));
  bytes.remove_prefix(std::min(bytes.size(), token.size() + 1));
  auto keys = read_jwks(bytes);
  if (keys) {
    require(!keys->empty() && keys->size() <= limits::server_jwt_keys_max, "a set has keys");
    for (const auto& key : *keys)
      require(key.open && key.secret.empty() && key.algorithm != jwt_algorithm::hs256,
              "keys of a set are public");
  } else {
    require(keys.error().code() == errc::invalid_config, "a refusal is an invalid_config");
  }
  try_token(token, keys ? std::span<const jwt_key>{*keys} : std::span<const jwt_key>{});
  if (auto data = from_base64url(token))
    require(base64url(*data) == token, "each text has one form");
}

std::vector<std::string> seeds() {
  constexpr const char* claims =
    R"({"sub":"ann","exp":1000100,"iss":"us","aud":["a","b"],"scope":"x y","nbf":1,"iat":2})";
  constexpr const char* set =
    R"({"keys":[{"kty":"EC","crv":"P-256","kid":"e","use":"sig","alg":"ES256",)"
    R"("x":"axfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYwpY",)"
    R"("y":"T-NC4v4af5uO5-tKfA-eFivOM1drMV7Oy7ZAaDe_UfU"},{"kty":"oct","k":"AAAA"}]})";
  return {signed_token(R"({"alg":"HS256","kid":"one","typ":"JWT"})", claims) + '\n' + set,
          signed_token(R"({"alg":"HS256"})", claims) + "\n{\"keys\":[]}",
          signed_token(R"({"alg":"none"})", claims) + '\n',
          signed_token(R"({"alg":"HS256","kid":"../one"})", claims) + '\n',
          signed_token(R"({"alg":"ES256","kid":"e"})", claims) + '\n' + set,
          base64url(R"({"alg":"none"})") + '.' + base64url(claims) + ".\n",
          R"(AA
{"keys":[{"kty":"RSA","n":"AQAB","e":"AQAB","kid":7}]})"};
}

} // namespace troupe::fuzz_bytes
