// authenticators: from the headers of a request to its caller.
#include "server/edge/authenticators.hpp"

#include "http/client.hpp"
#include "server/rules/webhook_policy.hpp"

#include <troupe/server/limits.hpp>

#include <chrono>
#include <fstream>
#include <memory>
#include <utility>

namespace troupe::server {
namespace {

error not_known(const char* why) {
  return {errc::invalid_value, why};
}

using key_lookup = std::function<std::optional<caller>(std::string_view key)>;

authenticator by_key_lookup(key_lookup look_up) {
  return [look_up = std::move(look_up)](const http_asked& head) -> result<caller> {
    auto key = presented_key(head.header("x-api-key"), head.header("authorization"));
    if (key.empty())
      return not_known("Missing API key");
    auto who = look_up(key);
    return who ? result<caller>{std::move(*who)} : not_known("Invalid API key");
  };
}

using key_list = jwks_cache::key_list;

authenticator by_tokens(std::function<key_list(const std::string& id)> keys, jwt_rules rules) {
  return
    [keys = std::move(keys), rules = std::move(rules)](const http_asked& head) -> result<caller> {
      auto token = presented_key({}, head.header("authorization"));
      if (token.empty())
        return not_known("Missing token");
      auto header = read_jwt_header(token);
      if (!header)
        return header.error();
      auto now = std::chrono::duration_cast<std::chrono::seconds>(
                   std::chrono::system_clock::now().time_since_epoch())
                   .count();
      auto claims = verified_claims(token, *keys(header->id), rules, now);
      return claims ? caller_of_claims(*claims, rules) : result<caller>{claims.error()};
    };
}

} // namespace

authenticator by_api_keys(std::vector<api_key> keys) {
  return by_key_lookup(
    [keys = std::move(keys)](std::string_view key) { return holder_of(keys, key); });
}

authenticator by_api_key_file(const std::filesystem::path& file,
                              std::function<void(const std::string&)> report) {
  auto keys = std::make_shared<api_key_file>(file, std::move(report));
  return by_key_lookup(
    [keys](std::string_view key) { return keys->holder(key, api_key_file::clock::now()); });
}

authenticator by_jwt(std::vector<jwt_key> keys, jwt_rules rules) {
  auto all = std::make_shared<const std::vector<jwt_key>>(std::move(keys));
  return by_tokens([all](const std::string&) { return all; }, std::move(rules));
}

authenticator by_jwks(std::shared_ptr<jwks_cache> keys, jwt_rules rules) {
  return by_tokens(
    [keys = std::move(keys)](const std::string& id) {
      return keys->keys_for(id, std::chrono::steady_clock::now());
    },
    std::move(rules));
}

authenticator by_any_of(std::vector<authenticator> all) {
  return [all = std::move(all)](const http_asked& head) -> result<caller> {
    auto out = result<caller>{not_known("Unauthorized")};
    for (const auto& one : all)
      if (out = one(head); out)
        break;
    return out;
  };
}

std::function<result<std::string>()> jwks_file(std::filesystem::path file) {
  return [file = std::move(file)]() -> result<std::string> {
    std::ifstream in{file, std::ios::binary};
    std::string out(limits::server_jwks_bytes_max + 1, '\0');
    in.read(out.data(), static_cast<std::streamsize>(out.size()));
    out.resize(static_cast<std::size_t>(in.gcount()));
    if (out.empty() || out.size() > limits::server_jwks_bytes_max)
      return error{errc::storage_failed, file.string() + ": cannot be read, empty or too large"};
    return out;
  };
}

std::function<result<std::string>()> jwks_url(std::string url, bool allows_private) {
  webhook_policy policy{.require_https = !allows_private,
                        .disable_loopback = !allows_private,
                        .disable_private = !allows_private};
  return [url = std::move(url), policy = std::move(policy)]() -> result<std::string> {
    if (auto problem = webhook_problem(policy, url); !problem.empty())
      return error{errc::invalid_config, "the URL of the key set: " + problem};
    http_request request;
    request.url = url;
    request.timeouts.total = limits::server_jwks_timeout;
    request.body_bytes_max = limits::server_jwks_bytes_max;
    request.may_connect = [policy](const std::string& at) { return may_call_address(policy, at); };
    try {
      auto response = http_fetch_and_wait(std::move(request));
      if (response.head.status == 200)
        return std::move(response.body);
      return error{errc::node_failed,
                   "the key set: status " + std::to_string(response.head.status)};
    } catch (const error& e) {
      return e;
    }
  };
}

} // namespace troupe::server
