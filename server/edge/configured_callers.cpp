// configured_callers: files and URLs of keys, checked at the start.
#include "server/edge/configured_callers.hpp"

#include "server/auth/secret_file.hpp"
#include "server/edge/authenticators.hpp"
#include "server/rules/webhook_policy.hpp"

#include <utility>
#include <vector>

namespace troupe::server {

namespace {

using reporter = std::function<void(const std::string&)>;

bool is_url(const std::string& place) {
  return place.find("://") != place.npos;
}

error bad_key_set(const std::string& place, const std::string& why) {
  return {errc::invalid_config, "read the keys of tokens: " + place + ": " + why};
}

// A URL is fetched when the first token comes: its host may start later than this one.
void check_key_url(const token_rules& rules) {
  webhook_policy policy{.require_https = !rules.allow_private_jwks,
                        .disable_loopback = !rules.allow_private_jwks,
                        .disable_private = !rules.allow_private_jwks};
  if (auto problem = webhook_problem(policy, rules.jwks); !problem.empty())
    throw bad_key_set(rules.jwks.substr(0, rules.jwks.find_first_of("@?#")), problem);
}

authenticator by_key_set(const token_rules& rules, const jwt_rules& accepted,
                         const reporter& report) {
  std::function<result<std::string>()> fetch;
  if (is_url(rules.jwks)) {
    check_key_url(rules);
    fetch = jwks_url(rules.jwks, rules.allow_private_jwks);
  } else {
    fetch = jwks_file(rules.jwks);
    auto text = fetch();
    auto keys = text ? read_jwks(*text) : result<std::vector<jwt_key>>{text.error()};
    if (!keys)
      throw bad_key_set(rules.jwks, keys.error().text());
  }
  return by_jwks(std::make_shared<jwks_cache>(std::move(fetch), report), accepted);
}

authenticator by_token_rules(const token_rules& rules, const reporter& report) {
  jwt_rules accepted{.issuer = rules.issuer,
                     .audiences = rules.audiences,
                     .identity = rules.identity,
                     .permissions = rules.permissions};
  if (rules.secret_file.empty())
    return by_key_set(rules, accepted, report);
  auto secret = read_secret_file(rules.secret_file).value();
  return by_jwt({jwt_secret(std::move(secret)).value()}, std::move(accepted));
}

authenticator by_lookup(caller_lookup look_up) {
  return [look_up = std::move(look_up)](const http_asked& asked) -> result<caller> {
    std::string_view target = asked.target;
    auto known =
      look_up({.method = asked.method,
               .path = target.substr(0, target.find('?')),
               .peer = asked.peer,
               .header = [&asked](std::string_view name) { return asked.header(name); }});
    if (known)
      known->is_authenticated = true;
    return known;
  };
}

} // namespace

authenticator authenticator_of(const server_options& options, reporter report) {
  std::vector<authenticator> all;
  if (!options.api_keys.empty())
    all.push_back(by_api_key_file(options.api_keys, report));
  if (options.tokens)
    all.push_back(by_token_rules(*options.tokens, report));
  if (options.authenticate)
    all.push_back(by_lookup(options.authenticate));
  if (all.empty())
    return {};
  return all.size() == 1 ? std::move(all.front()) : by_any_of(std::move(all));
}

} // namespace troupe::server
