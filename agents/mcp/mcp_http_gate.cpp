// mcp_http_gate: checking heads, and keeping sessions.
#include "agents/mcp/mcp_http_gate.hpp"

#include "agents/mcp/mcp_protocol.hpp"
#include "agents/messages/message_lists.hpp"

#include <openssl/crypto.h>

#include <algorithm>
#include <array>
#include <utility>

namespace troupe {
namespace {

std::string lower_case(std::string_view text) {
  std::string out{text};
  std::ranges::transform(out, out.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return out;
}

// The name in "name:port" or "[address]:port".
std::string name_of_host(std::string_view host) {
  auto end = host.starts_with('[') ? host.find(']') : host.find(':');
  if (end == host.npos)
    end = host.size();
  return lower_case(host.substr(0, host.starts_with('[') ? end + 1 : end));
}

bool is_loopback_name(const std::string& name) {
  return name == "localhost" || name == "127.0.0.1" || name == "[::1]";
}

bool is_known_host(const mcp_http_options& rules, std::string_view host) {
  auto name = name_of_host(host);
  auto same = [&name](const std::string& known) { return lower_case(known) == name; };
  return is_loopback_name(name) || same(rules.address) || std::ranges::any_of(rules.hosts, same);
}

// Whether the page of this origin may ask. A browser's page of another origin could have been given
// this host's name.
bool is_known_origin(const mcp_http_options& rules, bool is_loopback, std::string_view origin) {
  if (std::ranges::find(rules.origins, origin) != rules.origins.end())
    return true;
  auto at = origin.find("://");
  return is_loopback && at != origin.npos && is_known_host(rules, origin.substr(at + 3));
}

bool has_token(const mcp_http_options& rules, std::string_view given) {
  constexpr std::string_view scheme = "bearer ";
  if (lower_case(given.substr(0, scheme.size())) != scheme)
    return false;
  given.remove_prefix(scheme.size());
  return given.size() == rules.token.size()
         && ::CRYPTO_memcmp(given.data(), rules.token.data(), given.size()) == 0;
}

bool is_json(std::string_view content_type) {
  auto type = content_type.substr(0, content_type.find(';'));
  while (type.ends_with(' '))
    type.remove_suffix(1);
  return lower_case(type) == "application/json";
}

bool accepts(std::string_view accept, std::string_view type) {
  auto any = std::string{type.substr(0, type.find('/'))} + "/*";
  auto known = lower_case(accept);
  return known.find(type) != known.npos || known.find(any) != known.npos
         || known.find("*/*") != known.npos;
}

std::optional<http_whole> refused_stranger(const mcp_http_options& rules, bool is_loopback,
                                           const http_asked& head) {
  if (is_loopback && !is_known_host(rules, head.header("host")))
    return mcp_http_refusal(403, "Forbidden: unknown Host");
  if (head.has("origin") && !is_known_origin(rules, is_loopback, head.header("origin")))
    return mcp_http_refusal(403, "Forbidden: unknown Origin");
  if (rules.token.empty() || has_token(rules, head.header("authorization")))
    return std::nullopt;
  auto no = mcp_http_refusal(401, "Unauthorized");
  no.headers.emplace_back("WWW-Authenticate", "Bearer");
  return no;
}

} // namespace

http_whole mcp_http_refusal(int status, std::string_view why) {
  return {.status = status,
          .headers = {{"Content-Type", "application/json"}},
          .body = mcp_refusal({}, rpc_refused::by_server, why)};
}

bool takes_events(const http_asked& head) {
  return accepts(head.header("accept"), "text/event-stream");
}

std::optional<http_whole> refused_by_head(const mcp_http_options& rules, bool is_loopback,
                                          const http_asked& head) {
  if (auto no = refused_stranger(rules, is_loopback, head))
    return no;
  if (head.target.substr(0, head.target.find('?')) != rules.path)
    return mcp_http_refusal(404, "Not Found");
  if (head.method != "POST" && head.method != "GET" && head.method != "DELETE") {
    auto no = mcp_http_refusal(405, "Method Not Allowed");
    no.headers.emplace_back("Allow", "GET, POST, DELETE");
    return no;
  }
  auto version = head.header("mcp-protocol-version");
  if (!version.empty() && !is_known_mcp_version(version))
    return mcp_http_refusal(400, "Bad Request: unsupported Mcp-Protocol-Version");
  if (head.method == "DELETE")
    return std::nullopt;
  if (head.method == "GET")
    return takes_events(head)
             ? std::nullopt
             : std::optional{
               mcp_http_refusal(406, "Not Acceptable: the stream is text/event-stream")};
  if (!is_json(head.header("content-type")))
    return mcp_http_refusal(415, "Unsupported Media Type: Content-Type is not application/json");
  if (!takes_events(head) && !accepts(head.header("accept"), "application/json"))
    return mcp_http_refusal(406, "Not Acceptable: neither application/json nor text/event-stream");
  return std::nullopt;
}

// ---- sessions -------------------------------------------------------------------------------

std::optional<std::string> mcp_http_sessions::add(std::shared_ptr<mcp_connection> who,
                                                  clock::time_point now) {
  forget_idle(now);
  while (all_.size() >= most_) {
    auto idle = all_.end();
    for (auto at = all_.begin(); at != all_.end(); ++at)
      if (at->second.who->running() == 0
          && (idle == all_.end() || at->second.used < idle->second.used))
        idle = at;
    if (idle == all_.end())
      return std::nullopt;
    all_.erase(idle);
  }
  auto id = random_id();
  all_.emplace(id, session{std::move(who), now});
  return id;
}

std::shared_ptr<mcp_connection> mcp_http_sessions::find(std::string_view id,
                                                        clock::time_point now) {
  forget_idle(now);
  auto found = all_.find(id);
  if (found == all_.end())
    return nullptr;
  found->second.used = now;
  return found->second.who;
}

std::shared_ptr<mcp_connection> mcp_http_sessions::remove(std::string_view id) {
  auto found = all_.find(id);
  if (found == all_.end())
    return nullptr;
  auto who = std::move(found->second.who);
  all_.erase(found);
  return who;
}

void mcp_http_sessions::forget_idle(clock::time_point now) {
  for (auto& [id, one] : all_)
    if (one.who->running() > 0)
      one.used = now; // idle time counts from the end of its calls, as far as this check sees it
  std::erase_if(all_, [&](const auto& one) { return now - one.second.used > idle_; });
}

} // namespace troupe
