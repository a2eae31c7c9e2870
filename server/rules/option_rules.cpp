// option_rules: options that exclude each other, and paths that are switched off.
#include "server/rules/option_rules.hpp"

#include <algorithm>
#include <cmath>

namespace troupe::server {

namespace {

std::string storage_problem(const server_options& o) {
  if (o.postgres && !o.data_dir.empty())
    return "`data_dir` and `postgres` exclude each other: a server keeps its records in one place";
  if (o.postgres && o.postgres->keyring && o.keyring)
    return "`keyring` and `postgres->keyring` exclude each other: set the first one";
  return {};
}

std::string tls_problem(const server_options& o) {
  if (o.tls_certificate.empty() == o.tls_key.empty())
    return {};
  return o.tls_key.empty() ? "`tls_certificate` needs `tls_key`"
                           : "`tls_key` needs `tls_certificate`";
}

std::string token_problem(const token_rules& rules) {
  if (rules.jwks.empty() == rules.secret_file.empty())
    return rules.jwks.empty()
             ? "`tokens` needs `jwks` or `secret_file`: nothing could check a signature"
             : "`tokens.jwks` and `tokens.secret_file` exclude each other";
  if (rules.identity.empty())
    return "`tokens.identity` is empty: it names the claim with the caller's identity";
  return {};
}

std::string caller_problem(const server_options& o) {
  auto asks = !o.api_keys.empty() || o.tokens || o.authenticate;
  if (o.no_auth && asks)
    return "`no_auth` serves everybody, and excludes `api_keys`, `tokens` and `authenticate`";
  return o.tokens ? token_problem(*o.tokens) : std::string{};
}

bool is_request_amount(double n) {
  return std::isfinite(n) && n >= 0;
}

std::string rate_problem(const request_rate& rate) {
  if (!is_request_amount(rate.per_second) || !is_request_amount(rate.burst))
    return "`rate` is not a number of requests";
  if (rate.burst > 0 && rate.per_second == 0)
    return "`rate.burst` needs `rate.per_second`";
  if (rate.burst > 0 && rate.burst < 1)
    return "`rate.burst` is below 1: no request would ever be served";
  return {};
}

std::string cors_problem(const cors_rules& rules) {
  if (rules.credentials && std::ranges::find(rules.origins, "*") != rules.origins.end())
    return "`cors.credentials` needs origins by name: with \"*\", any page could act as its user";
  return rules.max_age.count() < 0 ? "`cors.max_age` is below 0" : std::string{};
}

std::string expiry_problem(const thread_expiry& expiry) {
  if (expiry.strategy != "delete" && expiry.strategy != "keep_latest")
    return "`expiry.strategy` is not delete or keep_latest: " + expiry.strategy;
  if (expiry.minutes
      && (!(*expiry.minutes > 0) || *expiry.minutes > limits::server_ttl_minutes_max))
    return "`expiry.minutes` is not a number of minutes above 0, and at most 100 years";
  if (expiry.sweep_interval < limits::server_sweep_interval_min
      || expiry.sweep_interval > limits::server_sweep_interval_max)
    return "`expiry.sweep_interval` is below a second, or above 100 days";
  return {};
}

bool is_below(std::string_view pattern, std::string_view prefix) {
  return pattern.starts_with(prefix)
         && (pattern.size() == prefix.size() || pattern[prefix.size()] == '/');
}

// Paths of runs are also below a thread: its runs, commands and events.
bool is_of_runs(std::string_view pattern) {
  if (is_below(pattern, "/runs"))
    return true;
  if (!pattern.starts_with("/threads/{"))
    return false;
  auto rest = pattern.substr(
    std::min(pattern.find('/', std::string_view{"/threads/"}.size()), pattern.size()));
  return is_below(rest, "/runs") || is_below(rest, "/commands") || is_below(rest, "/stream");
}

} // namespace

std::string options_problem(const server_options& options) {
  for (auto problem :
       {storage_problem(options), tls_problem(options), caller_problem(options),
        rate_problem(options.rate), cors_problem(options.cors), expiry_problem(options.expiry)})
    if (!problem.empty())
      return problem;
  return {};
}

bool is_served(const disabled_paths& disabled, std::string_view pattern) {
  if (is_of_runs(pattern))
    return !disabled.runs;
  for (auto [prefix, is_off] : {std::pair{"/assistants", disabled.assistants},
                                {"/threads", disabled.threads},
                                {"/store", disabled.store},
                                {"/mcp", disabled.mcp},
                                {"/a2a", disabled.a2a},
                                {"/.well-known/agent-card.json", disabled.a2a},
                                {"/info", disabled.meta},
                                {"/metrics", disabled.meta},
                                {"/docs", disabled.meta},
                                {"/openapi.json", disabled.meta}})
    if (is_below(pattern, prefix))
      return !is_off;
  return true;
}

} // namespace troupe::server
