// mcp_authorizer: the steps of an authorization.
#include "agents/mcp/mcp_authorizer.hpp"

#include "agents/messages/failure.hpp"
#include "agents/messages/json_text.hpp"
#include "agents/messages/message_lists.hpp"
#include "http/client.hpp"
#include "http/listener.hpp"

#include <troupe/limits.hpp>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

namespace troupe {
namespace {

constexpr const char* redirect_path = "/callback";

// Random text that needs no escape: 244 bits.
std::string secret_text() {
  auto out = random_id() + random_id();
  std::erase(out, '-');
  return out;
}

// The redirect's listener. It lives while a person decides.
class redirect_listener {
public:
  redirect_listener(std::uint16_t port, std::string state, std::string issuer)
    : state_{std::move(state)},
      issuer_{std::move(issuer)},
      listener_{{.address = "127.0.0.1",
                 .port = port,
                 .body_bytes_max = 0,
                 .header_bytes_max = 2 * limits::oauth_text_bytes_max},
                {.screen = [this](const http_asked& head) { return screen(head); },
                 .answer = [this](const http_asked& request,
                                  const http_responder& to) { to.send(answer(request)); }}} {}

  std::string url() const {
    return "http://127.0.0.1:" + std::to_string(listener_.port()) + redirect_path;
  }
  /// Waits for the redirect. Blocks: `at_most`, or until stop().
  result<std::string> code(std::chrono::milliseconds at_most) {
    std::unique_lock lock{mutex_};
    changed_.wait_for(lock, at_most, [this] { return code_ || is_stopped_; });
    if (code_)
      return *code_;
    return oauth_failure("get the person's agreement",
                         is_stopped_ ? "it was given up" : "nobody agreed in time");
  }
  void stop() {
    std::scoped_lock lock{mutex_};
    is_stopped_ = true;
    changed_.notify_all();
  }

private:
  static http_whole page(int status, const char* text) {
    return {.status = status,
            .headers = {{"Content-Type", "text/plain; charset=utf-8"},
                        {"Cache-Control", "no-store"},
                        {"Referrer-Policy", "no-referrer"}},
            .body = text};
  }
  std::optional<http_whole> screen(const http_asked& head) {
    auto path = head.target.substr(0, head.target.find('?'));
    std::scoped_lock lock{mutex_};
    if (++requests_ > limits::oauth_redirects_max)
      return page(429, "Too many requests");
    if (head.method != "GET" || path != redirect_path)
      return page(404, "Not Found");
    return std::nullopt;
  }
  http_whole answer(const http_asked& request) {
    auto redirect = read_redirect(request.target, state_, issuer_);
    if (!redirect.is_ours)
      return page(400, "This redirect does not belong to an authorization that waits");
    std::scoped_lock lock{mutex_};
    if (!code_)
      code_ = redirect.code;
    changed_.notify_all();
    return *code_ ? page(200, "Authorized. This window can be closed.")
                  : page(200, "Not authorized. This window can be closed.");
  }

  const std::string state_;
  const std::string issuer_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<result<std::string>> code_;
  std::size_t requests_ = 0;
  bool is_stopped_ = false;
  http_listener listener_; // the last member: its thread uses all others
};

// A store that throws counts as one without credentials.
mcp_credentials stored_in(mcp_credential_store* store, const std::string& resource) {
  try {
    return store ? store->load(resource).value_or(mcp_credentials{}) : mcp_credentials{};
  } catch (const std::exception&) {
    return {};
  }
}

// Whether the store took them.
bool save_in(mcp_credential_store* store, const std::string& resource, const mcp_credentials& now) {
  try {
    if (store)
      store->save(resource, now);
    return store != nullptr;
  } catch (const std::exception&) {
    return false;
  }
}

} // namespace

struct mcp_authorizer::core {
  core(const mcp_oauth& s, const std::string& url)
    : settings{s},
      resource{url.substr(0, url.find_first_of("?#"))},
      is_loopback{url.starts_with("http://")} {}

  std::optional<error> renew(const std::string& challenge);

  const mcp_oauth settings;
  const std::string resource;
  const bool is_loopback; // then its authorization server may be so, too

  mutable std::mutex mutex;
  mcp_credentials known;              // under the mutex
  bool stops = false;                 // under the mutex
  redirect_listener* waits = nullptr; // under the mutex

private:
  value fetch(http_request request, const char* doing, bool may_miss) const;
  value fetch_first(const std::vector<std::string>& urls, const char* doing) const;
  oauth_resource discover(const oauth_challenge& challenge) const;
  void authorize(const oauth_challenge& challenge);
  bool refresh(mcp_credentials from);
  mcp_credentials request_tokens(const oauth_server& server, mcp_credentials client,
                                 std::vector<std::pair<std::string, std::string>> fields) const;
  /// The token is valid in this process from now on, also when the store does not take it.
  void keep(const mcp_credentials& now);
  void require_running() const {
    std::scoped_lock lock{mutex};
    if (stops)
      throw oauth_failure("renew", "it was given up");
  }
};

// The JSON of an answer; null for a missing one where that is allowed.
value mcp_authorizer::core::fetch(http_request request, const char* doing, bool may_miss) const {
  require_running();
  request.headers.emplace_back("Accept", "application/json");
  request.body_bytes_max = limits::oauth_reply_bytes_max;
  request.timeouts.total = limits::oauth_request_timeout;
  http_response response;
  try {
    response = http_fetch_and_wait(std::move(request));
  } catch (const error& e) {
    throw oauth_failure(doing, e.message());
  }
  auto status = response.head.status;
  if (may_miss && status >= 400 && status < 500)
    return {};
  if (status != 200 && status != 201) {
    auto body = from_json(response.body, json_form::plain);
    auto why = body ? text_in((*body)["error"]) : std::string{};
    throw oauth_failure(doing, "status " + std::to_string(status)
                                 + (why.empty() ? "" : ": " + oauth_error_code(why)));
  }
  auto body = from_json(response.body, json_form::plain);
  if (!body || !body->is_map())
    throw oauth_failure(doing, "the answer is not a JSON object");
  return *body;
}

value mcp_authorizer::core::fetch_first(const std::vector<std::string>& urls,
                                        const char* doing) const {
  for (const auto& url : urls) {
    http_request request;
    request.url = url;
    if (auto found = fetch(std::move(request), doing, true); found.is_map())
      return found;
  }
  throw oauth_failure(doing, "its metadata is missing");
}

oauth_resource mcp_authorizer::core::discover(const oauth_challenge& challenge) const {
  constexpr const char* doing = "discover the server";
  auto urls = resource_metadata_urls(resource, challenge, is_loopback).value();
  return read_resource_metadata(fetch_first(urls, doing), resource).value();
}

mcp_credentials mcp_authorizer::core::request_tokens(
  const oauth_server& server, mcp_credentials client,
  std::vector<std::pair<std::string, std::string>> fields) const {
  http_request request;
  request.method = "POST";
  request.url = client.token_endpoint;
  request.headers = {{"Content-Type", "application/x-www-form-urlencoded"}};
  bool by_basic = !client.client_secret.empty() && server.takes_basic;
  if (by_basic)
    request.headers.emplace_back("Authorization",
                                 basic_authorization(client.client_id, client.client_secret));
  fields.emplace_back("client_id", client.client_id);
  if (!by_basic)
    fields.emplace_back("client_secret", client.client_secret);
  fields.emplace_back("resource", resource);
  request.body = form_of(fields);
  auto answer = fetch(std::move(request), "get a token", false);
  read_tokens(answer, client).value();
  return client;
}

void mcp_authorizer::core::keep(const mcp_credentials& now) {
  {
    std::scoped_lock lock{mutex};
    known = now;
  }
  save_in(settings.store.get(), resource, now);
}

void mcp_authorizer::core::authorize(const oauth_challenge& challenge) {
  if (!settings.open)
    throw oauth_failure("get the person's agreement", "there is no way to ask (mcp_oauth::open)");
  auto server_of = discover(challenge);
  auto issuer = read_oauth_url(server_of.issuer, is_loopback).value();
  auto metadata = fetch_first(server_metadata_urls(issuer), "discover the authorization server");
  auto server = read_server_metadata(metadata, server_of.issuer, is_loopback).value();

  auto state = secret_text();
  auto verifier = secret_text();
  redirect_listener redirect{settings.redirect_port, state, server_of.issuer};
  mcp_credentials client{.client_id = settings.client_id, .client_secret = settings.client_secret};
  client.token_endpoint = server.token_endpoint;
  if (client.client_id.empty()) {
    if (server.registration_endpoint.empty())
      throw oauth_failure("register the client", "the server does not register clients "
                                                 "(mcp_oauth::client_id)");
    http_request request;
    request.method = "POST";
    request.url = server.registration_endpoint;
    request.headers = {{"Content-Type", "application/json"}};
    request.body = registration_of(settings, redirect.url());
    read_registration(fetch(std::move(request), "register the client", false), client).value();
  }
  const auto& scope = !settings.scope.empty()    ? settings.scope
                      : !challenge.scope.empty() ? challenge.scope
                                                 : server_of.scope;
  auto url = server.authorization_endpoint;
  url += url.find('?') == url.npos ? '?' : '&';
  url += form_of({{"response_type", "code"},
                  {"client_id", client.client_id},
                  {"redirect_uri", redirect.url()},
                  {"scope", scope},
                  {"state", state},
                  {"code_challenge", pkce_challenge(verifier)},
                  {"code_challenge_method", "S256"},
                  {"resource", resource}});
  {
    std::scoped_lock lock{mutex};
    waits = &redirect;
  }
  struct no_longer_waits {
    core& of;
    ~no_longer_waits() {
      std::scoped_lock lock{of.mutex};
      of.waits = nullptr;
    }
  } until_the_end{*this};
  require_running();
  settings.open(url);
  auto code = redirect.code(settings.person_wait).value();
  keep(request_tokens(server, std::move(client),
                      {{"grant_type", "authorization_code"},
                       {"code", code},
                       {"redirect_uri", redirect.url()},
                       {"code_verifier", verifier}}));
}

// Whether the refresh token gave another one.
bool mcp_authorizer::core::refresh(mcp_credentials from) {
  try {
    auto token = from.refresh_token;
    keep(request_tokens({}, std::move(from),
                        {{"grant_type", "refresh_token"}, {"refresh_token", token}}));
    return true;
  } catch (const error&) { // expired or withdrawn: a person has to agree again
    return false;
  }
}

std::optional<error> mcp_authorizer::core::renew(const std::string& challenge) {
  try {
    mcp_credentials from;
    {
      std::scoped_lock lock{mutex};
      from = known;
    }
    auto asked = read_challenge(challenge);
    bool needs_more = asked.error == "insufficient_scope"; // a refresh would give the same scope
    if (!from.refresh_token.empty() && !needs_more && refresh(from))
      return std::nullopt;
    require_running();
    authorize(asked);
    return std::nullopt;
  } catch (const error& e) {
    return e.type() == "AuthorizationError" ? e : oauth_failure("renew", e.text());
  } catch (const std::exception& e) {
    return oauth_failure("renew", failure_of(e).text());
  }
}

// ---- the handle -------------------------------------------------------------------------------

mcp_authorizer::mcp_authorizer(const mcp_oauth& settings, const std::string& url) {
  read_oauth_url(url, true).value();
  core_ = std::make_shared<core>(settings, url);
  core_->known = stored_in(settings.store.get(), core_->resource);
  // Stored credentials may have been changed: a token must fit a header, and its address be safe.
  auto& known = core_->known;
  auto no_header = [](char c) { return c <= 0x20 || c >= 0x7f; };
  if (std::ranges::any_of(known.access_token, no_header)
      || !read_oauth_url(known.token_endpoint, core_->is_loopback))
    known = {};
}

mcp_authorizer::~mcp_authorizer() {
  std::scoped_lock lock{core_->mutex};
  core_->stops = true;
  if (core_->waits)
    core_->waits->stop();
}

std::string mcp_authorizer::token() const {
  std::scoped_lock lock{core_->mutex};
  return core_->known.access_token;
}

void mcp_authorizer::renew(const std::string& challenge, const std::string& used,
                           std::function<void(const std::optional<error>& failed)> then) {
  auto now = token();
  if (!now.empty() && used != "Bearer " + now)
    return then(std::nullopt); // another request has renewed it meanwhile
  std::thread{[core = core_, challenge, then = std::move(then)] {
    auto failed = core->renew(challenge);
    then(failed);
  }}.detach();
}

} // namespace troupe
