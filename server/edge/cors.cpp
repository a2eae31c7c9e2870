// cors: answers to preflight requests, and headers of answers.
#include "server/edge/cors.hpp"

#include <algorithm>
#include <string_view>

namespace troupe::server {
namespace {

std::string joined_words(const std::vector<std::string>& words) {
  std::string out;
  for (const auto& word : words)
    out += (out.empty() ? "" : ", ") + word;
  return out;
}

bool allows_any_page(const cors_options& rules) {
  return std::ranges::find(rules.origins, "*") != rules.origins.end();
}

// The origin by name unless all are allowed: browsers send credentials to a named origin alone.
void add_origin(const cors_options& rules, std::string_view origin, http_headers& out) {
  bool is_any = allows_any_page(rules) && !rules.credentials;
  out.emplace_back("Access-Control-Allow-Origin", is_any ? "*" : std::string{origin});
  if (rules.credentials)
    out.emplace_back("Access-Control-Allow-Credentials", "true");
}

} // namespace

bool is_allowed_origin(const cors_options& rules, std::string_view origin) {
  return origin.empty() || allows_any_page(rules)
         || std::ranges::find(rules.origins, origin) != rules.origins.end();
}

std::optional<http_whole> preflight_answer(const cors_options& rules, const http_asked& head) {
  auto origin = head.header("origin");
  if (head.method != "OPTIONS" || origin.empty() || !head.has("access-control-request-method"))
    return std::nullopt;
  http_whole out{.status = 200, .body = "OK"};
  out.headers = {
    {"Content-Type", "text/plain; charset=utf-8"},
    {"Vary", "Origin, Access-Control-Request-Method, Access-Control-Request-Headers, "
             "Access-Control-Request-Private-Network"},
    {"Access-Control-Allow-Methods", joined_words(rules.methods)},
    {"Access-Control-Max-Age", std::to_string(rules.max_age.count())},
  };
  if (!is_allowed_origin(rules, origin)) {
    out.status = 400;
    out.body = "Disallowed CORS origin";
    return out;
  }
  add_origin(rules, origin, out.headers);
  auto wanted = head.header("access-control-request-headers");
  auto allowed = rules.headers.empty() ? std::string{wanted} : joined_words(rules.headers);
  if (!allowed.empty())
    out.headers.emplace_back("Access-Control-Allow-Headers", allowed);
  if (rules.private_network && head.header("access-control-request-private-network") == "true")
    out.headers.emplace_back("Access-Control-Allow-Private-Network", "true");
  return out;
}

http_headers cors_headers(const cors_options& rules, const http_asked& head) {
  http_headers out{{"Vary", "Origin"}};
  auto origin = head.header("origin");
  if (origin.empty() || !is_allowed_origin(rules, origin))
    return out;
  add_origin(rules, origin, out);
  out.emplace_back("Access-Control-Expose-Headers", joined_words(rules.exposed));
  return out;
}

} // namespace troupe::server
