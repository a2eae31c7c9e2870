// http_edge: from a request to its handler.
//
// Invariants:
//  - the listener's thread decides what needs no waiting: preflights, routes, full queues.
//  - authentication, authorisation and handlers run on the pool's threads.
//  - the listener ends first and the pool second, so no job is added to a pool that is gone, and no
//    answer is awaited of it.
#include "server/edge/http_edge.hpp"

#include "actors/log.hpp"
#include "server/edge/handler_pool.hpp"
#include "server/edge/query.hpp"
#include "server/edge/refusal.hpp"

#include <troupe/server/limits.hpp>

#include <algorithm>
#include <mutex>
#include <optional>
#include <random>
#include <stdexcept>
#include <utility>

namespace troupe::server {
namespace {

using clock = std::chrono::steady_clock;

std::string new_request_id() {
  static constexpr char digits[] = "0123456789abcdef";
  thread_local std::random_device source; // slow to open
  std::string out;
  for (int word = 0; word < 4; ++word)
    for (auto bits = source(); out.size() < 8u * static_cast<std::size_t>(word + 1); bits >>= 4)
      out += digits[bits & 15];
  return out;
}

std::string request_id_of(const http_asked& head) {
  auto given = head.header("x-request-id");
  return is_request_id(given) ? std::string{given} : new_request_id();
}

// A target in absolute form becomes the usual one; its host counts instead of the header.
void bring_to_origin_form(http_asked& request) {
  auto absolute = read_absolute(request.target);
  if (!absolute)
    return;
  request.target = std::move(absolute->path);
  std::erase_if(request.headers, [](const auto& header) { return header.first == "host"; });
  request.headers.emplace_back("host", std::move(absolute->host));
}

http_whole refused_by_route(const no_route& no, std::string_view target) {
  if (no.status == 405)
    return answer_of(refusal{405, "Method Not Allowed", {{"Allow", no.allow}}});
  if (no.status == 307) {
    std::string without_slash{target};
    without_slash.erase(
      without_slash.find('?') == target.npos ? target.size() - 1 : target.find('?') - 1, 1);
    return {.status = 307, .headers = {{"Location", std::move(without_slash)}}};
  }
  return answer_of(refusal{404, "Not Found"});
}

// The answers of the listener itself, which has no handler for them.
http_whole refused_by_listener(int status) {
  if (status == 500) // a handler gave no answer; the request has its id by then
    return answer_of(refusal{500, "Internal Server Error"});
  http_headers headers{{"x-request-id", new_request_id()}};
  if (status == 503)
    headers.emplace_back("Retry-After", "1");
  const char* why = status == 413   ? "Request Entity Too Large"
                    : status == 431 ? "Request Header Fields Too Large"
                    : status == 503 ? "Service Unavailable"
                                    : "Bad Request";
  return answer_of(refusal{status, why, std::move(headers)});
}

refusal rate_refusal(std::chrono::seconds wait) {
  return {429, "Too Many Requests", {{"Retry-After", std::to_string(wait.count())}}};
}

void check_listening(const edge_options& options) {
  if (is_loopback_address(options.listen.address) || options.authenticate || options.no_auth)
    return;
  throw error{errc::invalid_config,
              "serve at `" + options.listen.address
                + "`: others can reach this address, and requests are not authenticated: set "
                  "`authenticate`, or `no_auth` to serve everybody"};
}

edge_options with_defaults(edge_options options) {
  check_listening(options);
  if (!options.log)
    options.log = [](const std::string& line) { log_warning(line); };
  if (!options.listen.report)
    options.listen.report = options.log;
  return options;
}

} // namespace

bool is_request_id(std::string_view id) {
  return !id.empty() && id.size() <= limits::server_request_id_bytes_max
         && std::ranges::all_of(id, [](char c) { return c > ' ' && c < '\x7f'; });
}

class http_edge::state {
public:
  state(edge_options options, router routes)
    : options_{with_defaults(std::move(options))},
      routes_{std::move(routes)},
      rates_{options_.rate},
      pool_{options_.handler_threads, options_.queued_requests_max},
      listener_{
        std::in_place, options_.listen,
        http_handler{.screen = [](const http_asked&) { return std::nullopt; },
                     .answer = [this](http_asked request,
                                      http_responder to) { answer(std::move(request), to); },
                     .refusal = [this](int status) { return refuse(status); }}} {}

  ~state() { listener_.reset(); }

  http_listener& listener() { return *listener_; }
  const request_meter& meter() const { return meter_; }
  edge_load load() const {
    const auto& of = *options_.listen.load;
    return {of.connections, of.streams, of.sockets, pool_.waiting()};
  }

private:
  http_whole refuse(int status);
  void answer(http_asked request, const http_responder& to);
  void run(const route& found, api_call call, const http_responder& to);
  void authenticate(const route& found, api_call& call);
  void authorise(const route& found, api_call& call) const;
  value filter_of(const caller& who, const access& what, const value& body) const;
  void check_rate(const std::string& who);
  void log_failure(const api_call& call, const std::string& why) const {
    options_.log("request " + call.request_id + ": " + call.request.method + ' '
                 + call.request.target.substr(0, call.request.target.find('?')) + ": " + why);
  }

  const edge_options options_;
  const router routes_;
  request_meter meter_;
  std::mutex rates_mutex_;
  rate_limiter rates_;
  handler_pool pool_;
  bool is_unanswered_ = false; // of the listener's thread: a handler dropped its request
  std::optional<http_listener> listener_;
};

// On the listener's thread, as the next.
http_whole http_edge::state::refuse(int status) {
  if (status == 503)
    meter_.turned_away();
  is_unanswered_ = status == 500; // the status of its request is counted next
  return refused_by_listener(status);
}

void http_edge::state::answer(http_asked request, const http_responder& to) {
  bring_to_origin_form(request);
  auto id = request_id_of(request);
  auto headers = cors_headers(options_.cors, request);
  headers.emplace_back("x-request-id", id);
  std::string_view target = request.target;
  auto path = target.substr(0, target.find('?'));
  auto matched = routes_.match(request.method, path);
  auto* found = std::get_if<route_match>(&matched);
  std::string pattern{found ? found->found->pattern : std::string_view{}};
  auto count = [this, method = found || request.method == "OPTIONS" ? request.method : "", pattern,
                begun = clock::now(), id](int status) {
    meter_.answered(method, pattern, status, clock::now() - begun);
    if (std::exchange(is_unanswered_, false))
      options_.log("request " + id + ": " + method + ' ' + pattern + ": 500 it was not answered");
  };
  if (auto preflight = preflight_answer(options_.cors, request)) {
    to.with({{"x-request-id", id}}, count);
    return to.send(std::move(*preflight));
  }
  to.with(std::move(headers), count);
  if (!found)
    return to.send(refused_by_route(std::get<no_route>(matched), target));
  if (request.wants_socket && !is_allowed_origin(options_.cors, request.header("origin")))
    return to.send(answer_of(refusal{403, "Disallowed origin"})); // no preflight protects it
  auto query = path.size() < target.size() ? target.substr(path.size() + 1) : std::string_view{};
  auto call = std::make_shared<api_call>();
  call->query = query_parameters{query};
  call->parameters = std::move(found->parameters);
  call->request_id = std::move(id);
  call->request = std::move(request);
  if (!pool_.submit(
        [this, found = found->found, call, to] { run(*found, std::move(*call), to); })) {
    meter_.turned_away();
    to.send(answer_of(refusal{503, "Service Unavailable", {{"Retry-After", "1"}}}));
  }
}

// On a thread of the pool.
void http_edge::state::run(const route& found, api_call call, const http_responder& to) {
  try {
    authenticate(found, call);
    authorise(found, call);
    found.handle(call, to);
  } catch (const refusal& no) {
    if (no.status() >= 500)
      log_failure(call, std::to_string(no.status()) + ' ' + no.detail());
    to.send(answer_of(no));
  } catch (const error& e) {
    auto answer = answer_of(e);
    if (answer.status >= 500)
      log_failure(call, std::to_string(answer.status) + ' ' + e.message());
    to.send(std::move(answer));
  } catch (const std::exception& e) {
    log_failure(call, std::string{"500 "} + e.what());
    to.send(answer_of(refusal{500, "Internal Server Error"}));
  } catch (...) {
    log_failure(call, "500 an exception of an unknown type");
    to.send(answer_of(refusal{500, "Internal Server Error"}));
  }
}

void http_edge::state::check_rate(const std::string& who) {
  std::optional<std::chrono::seconds> wait;
  {
    std::scoped_lock lock{rates_mutex_};
    wait = rates_.take(who, clock::now());
  }
  if (!wait)
    return;
  meter_.rate_limited();
  throw rate_refusal(*wait);
}

void http_edge::state::authenticate(const route& found, api_call& call) {
  auto address = "address " + call.request.peer;
  if (!options_.authenticate || found.is_public)
    return check_rate(address);
  auto known = options_.authenticate(call.request);
  if (!known) {
    meter_.unauthenticated();
    check_rate(address); // a peer that guesses keys is slowed down, too
    throw refusal{401, known.error().message(), {{"WWW-Authenticate", "Bearer"}}};
  }
  call.who = std::move(*known);
  check_rate(call.who.identity.empty() ? address : "caller " + call.who.identity);
}

void http_edge::state::authorise(const route& found, api_call& call) const {
  if (!options_.authorise || found.is_public)
    return;
  auto body = asked_members(found, call);
  if (!found.access.resource.empty())
    call.filter = filter_of(call.who, found.access, body);
  call.ask = [this, who = call.who, body](const access& what) {
    return filter_of(who, what, body);
  };
}

value http_edge::state::filter_of(const caller& who, const access& what, const value& body) const {
  auto verdict = options_.authorise(access_question{who, what, body});
  if (!verdict.is_allowed)
    throw refusal{403, "Forbidden"};
  if (auto problem = filter_problem(verdict.filter); !problem.empty())
    throw std::runtime_error{"authorise: " + problem};
  return std::move(verdict.filter);
}

http_edge::http_edge(edge_options options, router routes)
  : state_{std::make_unique<state>(std::move(options), std::move(routes))} {}

http_edge::~http_edge() = default;

bool http_edge::drain(std::chrono::milliseconds at_most, std::chrono::milliseconds for_streams) {
  constexpr std::chrono::milliseconds slice{100}; // streams that handlers begin meanwhile end then
  auto end = clock::now() + at_most;
  auto& listener = state_->listener();
  if (listener.drain(std::min(at_most, for_streams)))
    return true;
  for (;;) {
    listener.end_streams();
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - clock::now());
    if (listener.drain(std::clamp(left, std::chrono::milliseconds{0}, slice)))
      return true;
    if (left <= slice)
      return false;
  }
}

std::uint16_t http_edge::port() const noexcept {
  return state_->listener().port();
}

edge_load http_edge::load() const {
  return state_->load();
}

request_counts http_edge::counts() const {
  return state_->meter().counts();
}

} // namespace troupe::server
