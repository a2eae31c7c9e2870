// jwt: checking tokens.
#include "server/auth/jwt.hpp"

#include <troupe/server/limits.hpp>

#include <algorithm>
#include <ranges>
#include <utility>

namespace troupe::server {
namespace {

error refused_token(const char* why) {
  return {errc::invalid_value, std::string{"Invalid token: "} + why};
}

struct token_parts {
  std::string_view header, claims, signature;
  std::string_view text; // that is signed
};

std::optional<token_parts> split_token(std::string_view token) {
  auto first = token.find('.');
  auto second = first == token.npos ? token.npos : token.find('.', first + 1);
  if (second == token.npos || token.find('.', second + 1) != token.npos
      || token.size() > limits::server_jwt_bytes_max)
    return std::nullopt;
  return token_parts{token.substr(0, first), token.substr(first + 1, second - first - 1),
                     token.substr(second + 1), token.substr(0, second)};
}

std::optional<value> json_map_of(std::string_view encoded) {
  auto text = from_base64url(encoded);
  if (!text)
    return std::nullopt;
  auto read = from_json(*text, json_form::plain);
  return read && read->is_map() ? std::optional{std::move(*read)} : std::nullopt;
}

bool fits_signature(const jwt_key& key, std::string_view text, std::string_view signature) {
  switch (key.algorithm) {
    case jwt_algorithm::hs256: return fits_hs256(key.secret, text, signature);
    case jwt_algorithm::rs256: return key.open && fits_rs256(*key.open, text, signature);
    case jwt_algorithm::es256: return key.open && fits_es256(*key.open, text, signature);
  }
  return false;
}

// A claim with a time, in seconds. nullopt: not a number, or beyond what a time can be.
std::optional<double> time_of(const value& claim) {
  if (!claim.is_number())
    return std::nullopt;
  auto out = claim.as_double();
  return out >= 0 && out <= 1e12 ? std::optional{out} : std::nullopt;
}

// The reason why claims do not count now; nullptr when they do.
const char* time_problem(const value& claims, const jwt_rules& rules, std::int64_t now) {
  auto leeway = static_cast<double>(rules.leeway.count());
  auto at = static_cast<double>(now);
  if (!claims.contains("exp") && rules.needs_expiry)
    return "it has no expiry";
  for (const char* name : {"exp", "nbf", "iat"}) {
    if (!claims.contains(name))
      continue;
    auto time = time_of(claims[name]);
    if (!time)
      return "a time in it is not a number of seconds";
    if (std::string_view{name} == "exp" ? at >= *time + leeway : at < *time - leeway)
      return std::string_view{name} == "exp" ? "it has expired" : "it does not count yet";
  }
  return nullptr;
}

bool fits_audience(const value& given, const std::vector<std::string>& wanted) {
  auto is_wanted = [&wanted](const value& one) {
    return one.is_string() && std::ranges::find(wanted, one.as_string()) != wanted.end();
  };
  return is_wanted(given) || std::ranges::any_of(given.items(), is_wanted);
}

const char* name_problem(const value& claims, const jwt_rules& rules) {
  if (!rules.issuer.empty() && claims["iss"] != value(rules.issuer))
    return "its issuer is another one";
  if (!rules.audiences.empty() && !fits_audience(claims["aud"], rules.audiences))
    return "it is for another audience";
  return nullptr;
}

} // namespace

std::string_view to_string(jwt_algorithm which) noexcept {
  switch (which) {
    case jwt_algorithm::hs256: return "HS256";
    case jwt_algorithm::rs256: return "RS256";
    case jwt_algorithm::es256: break;
  }
  return "ES256";
}

std::optional<std::string> from_base64url(std::string_view text) {
  static constexpr std::string_view digits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string out;
  std::uint32_t word = 0;
  unsigned bits = 0;
  for (auto c : text) {
    auto digit = digits.find(c);
    if (digit == digits.npos)
      return std::nullopt;
    word = word << 6 | static_cast<std::uint32_t>(digit);
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      out += static_cast<char>(word >> bits & 0xff);
    }
  }
  // Left over are bits of the last digit: fewer than 6, and all 0.
  return bits < 6 && (word & ((1u << bits) - 1)) == 0 ? std::optional{out} : std::nullopt;
}

result<jwt_header> read_jwt_header(std::string_view token) {
  auto parts = split_token(token);
  auto header = parts ? json_map_of(parts->header) : std::nullopt;
  if (!header)
    return refused_token("it is malformed");
  const auto& algorithm = (*header)["alg"];
  const auto& id = (*header)["kid"];
  if (!algorithm.is_string() || !(id.is_null() || id.is_string()))
    return refused_token("it is malformed");
  if (header->contains("crit")) // none of its extensions is known here
    return refused_token("it needs an extension that the server does not know");
  return jwt_header{algorithm.as<std::string>(), id.is_null() ? "" : id.as<std::string>()};
}

result<value> verified_claims(std::string_view token, std::span<const jwt_key> keys,
                              const jwt_rules& rules, std::int64_t now) {
  auto header = read_jwt_header(token);
  if (!header)
    return header.error();
  auto parts = *split_token(token);
  auto signature = from_base64url(parts.signature);
  auto fits = [&](const jwt_key& key) {
    return to_string(key.algorithm) == header->algorithm
           && (key.id.empty() || header->id.empty() || key.id == header->id)
           && fits_signature(key, parts.text, *signature);
  };
  if (!signature || std::ranges::none_of(keys, fits))
    return refused_token("its signature fits no key");
  auto claims = json_map_of(parts.claims);
  if (!claims)
    return refused_token("it is malformed");
  if (const auto* why = time_problem(*claims, rules, now))
    return refused_token(why);
  if (const auto* why = name_problem(*claims, rules))
    return refused_token(why);
  return std::move(*claims);
}

result<caller> caller_of_claims(const value& claims, const jwt_rules& rules) {
  const auto& identity = claims[rules.identity];
  if (!identity.is_string() || identity.empty())
    return refused_token("it names no caller");
  caller out{.identity = identity.as<std::string>(), .is_authenticated = true, .more = claims};
  out.display_name = claims["name"].is_string() ? claims["name"].as<std::string>() : out.identity;
  const auto& permissions = claims[rules.permissions];
  for (const auto& one : permissions.items())
    if (one.is_string())
      out.permissions.push_back(one.as<std::string>());
  if (permissions.is_string()) {
    auto words = permissions.as<std::string>();
    for (auto word : std::views::split(words, ' '))
      if (!word.empty())
        out.permissions.emplace_back(word.begin(), word.end());
  }
  return out;
}

} // namespace troupe::server
