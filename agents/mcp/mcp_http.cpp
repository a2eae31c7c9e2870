// mcp_http: a client's connection to an MCP server over streamable HTTP: a POST for each message,
// answered by JSON or an event stream.
//
// Invariants:
//  - each question gets an answer: from its response, or when that ends or its time is up. A failed
//    request does not affect others.
//  - callbacks of transfers run on the loop's thread, and hold this object only while they run.
//  - a session that the server has forgotten is begun anew once for each request. So is the
//    authorization that a server asks for.
#include "agents/mcp/mcp_authorizer.hpp"
#include "agents/mcp/mcp_http_stream.hpp"
#include "agents/mcp/mcp_transport.hpp"
#include "agents/messages/json_text.hpp"

#include "http/loop.hpp"
#include "http/sse.hpp"

#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

namespace troupe {
namespace {

class mcp_http final : public mcp_transport, public std::enable_shared_from_this<mcp_http> {
public:
  mcp_http(mcp_endpoint endpoint, mcp_options options)
    : mcp_transport{std::move(options)},
      endpoint_{std::move(endpoint)},
      loop_{http_loop::shared()},
      posts_{std::make_shared<std::atomic<std::size_t>>(0)} {
    if (endpoint_.oauth)
      authorizer_ = std::make_shared<mcp_authorizer>(*endpoint_.oauth, endpoint_.url);
  }
  ~mcp_http() override;

  std::int64_t ask(std::string method, value params, std::chrono::milliseconds timeout,
                   mcp_session::answer then, std::shared_ptr<mcp_listener> listener) override;
  void cancel(std::int64_t id) override;
  void extend(std::int64_t id, std::chrono::milliseconds within) override;
  void tell(std::string_view method, const value& params, std::function<void()> then) override {
    post(mcp_notification(method, params), std::move(then));
  }
  void reply(std::string text) override { post(std::move(text)); }
  void agree(const value& greeting) override {
    std::scoped_lock lock{mutex_};
    version_ = text_in(greeting["protocolVersion"]);
    const auto& can = greeting["capabilities"];
    has_changes_ = can["resources"]["subscribe"] == value(true);
    for (const char* part : {"tools", "resources", "prompts"})
      has_changes_ = has_changes_ || can[part]["listChanged"] == value(true);
  }
  void established() override;

private:
  // A question on its way.
  struct exchange {
    std::string text;
    std::string method;
    std::chrono::milliseconds timeout;
    bool listens = false; // its time can be extended
    http_transfer_ptr transfer = nullptr;
    int status = 0;
    std::optional<sse_decoder> events = {}; // unset: the body is JSON
    std::string body = {};
    bool renewed = false;                                   // sent again in a new session
    bool authorized = false;                                // sent again with another token
    std::optional<http_loop::clock::time_point> until = {}; // set when it was first sent
    std::string last_event = {}; // its id; the server can send the events after it again
    unsigned resumes = 0;        // in a row, without an event between
  };

  http_request request_for(std::string method, std::string body,
                           std::chrono::milliseconds timeout) const; // called under the lock
  void begin(std::int64_t id, exchange one);
  void post(std::string text, std::function<void()> then = {});
  void then_at(std::int64_t id, http_sign sign, void (mcp_http::*act)(std::int64_t),
               const http_transfer_ptr& transfer);

  // -- on the loop's thread
  void take_head(std::int64_t id);
  void take_body(std::int64_t id);
  bool take_piece(std::int64_t id, const std::string& piece);
  void take_end(std::int64_t id);
  bool resume(std::int64_t id);
  void resume_now(std::int64_t id);
  void hear(std::string_view text, std::optional<std::int64_t> carrier = {});
  void fail(std::int64_t id, const error& why);
  void renew(std::int64_t id);
  void renewed(const result<value>& greeting);
  void authorize(std::int64_t id, const std::string& challenge);
  void authorized(const std::optional<error>& failed);

  http_transfer_ptr transfer_of(std::int64_t id) const {
    std::scoped_lock lock{mutex_};
    auto found = live_.find(id);
    return found == live_.end() ? nullptr : found->second.transfer;
  }
  // Removes a question, and ends its transfer if that is still running.
  std::optional<exchange> settle(std::int64_t id);
  error refusal(const exchange& one) const;

  const mcp_endpoint endpoint_;
  const std::shared_ptr<http_loop> loop_;
  std::shared_ptr<mcp_authorizer> authorizer_;             // null: without oauth
  const std::shared_ptr<std::atomic<std::size_t>> posts_ = // on their way
    std::make_shared<std::atomic<std::size_t>>(0);

  // under the lock
  std::map<std::int64_t, exchange> live_;
  std::map<std::int64_t, exchange> to_renew_;     // these wait for a new session
  std::map<std::int64_t, exchange> to_authorize_; // these wait for a token
  std::map<std::int64_t, exchange> to_resume_;    // these wait before they read on
  std::shared_ptr<mcp_http_stream> stream_;       // the server's own
  std::string session_id_;
  std::string version_;
  bool has_changes_ = false; // the server announces some
};

// ---- sending --------------------------------------------------------------------------------

http_request mcp_http::request_for(std::string method, std::string body,
                                   std::chrono::milliseconds timeout) const {
  http_request out;
  out.method = std::move(method);
  out.url = endpoint_.url;
  out.headers = endpoint_.headers;
  if (!body.empty()) {
    out.headers.emplace_back("Content-Type", "application/json");
    out.headers.emplace_back("Accept", "application/json, text/event-stream");
  }
  if (!session_id_.empty())
    out.headers.emplace_back("Mcp-Session-Id", session_id_);
  if (!version_.empty())
    out.headers.emplace_back("Mcp-Protocol-Version", version_);
  if (auto token = authorizer_ ? authorizer_->token() : std::string{}; !token.empty())
    out.headers.emplace_back("Authorization", "Bearer " + token);
  out.body = std::move(body);
  out.timeouts.response = timeout;
  out.timeouts.total = timeout;
  return out;
}

void mcp_http::then_at(std::int64_t id, http_sign sign, void (mcp_http::*act)(std::int64_t),
                       const http_transfer_ptr& transfer) {
  transfer->when(sign, [weak = weak_from_this(), id, act] {
    if (auto self = weak.lock())
      (*self.*act)(id);
  });
}

// The time after which a question has no answer; small enough for sums with the clock.
http_loop::clock::time_point end_of(std::chrono::milliseconds within) {
  return http_loop::clock::now()
         + std::min<std::chrono::milliseconds>(within, std::chrono::hours{24 * 365});
}

void mcp_http::begin(std::int64_t id, exchange one) {
  using std::chrono::milliseconds;
  http_transfer_ptr transfer;
  std::optional<http_loop::clock::time_point> until;
  auto within = one.timeout;
  try {
    std::scoped_lock lock{mutex_};
    if (!one.until)
      one.until = end_of(one.timeout);
    auto left = std::chrono::ceil<milliseconds>(*one.until - http_loop::clock::now());
    left = std::max(left, milliseconds{1}); // 0 would be no limit
    bool resumes = !one.last_event.empty();
    auto request = request_for(resumes ? "GET" : "POST", resumes ? std::string{} : one.text,
                               one.listens ? milliseconds{0} : left);
    if (resumes) {
      request.headers.emplace_back("Accept", "text/event-stream");
      request.headers.emplace_back("Last-Event-ID", one.last_event);
    }
    check_request(request);
    transfer = std::make_shared<http_transfer>(std::move(request), false);
    one.transfer = transfer;
    if (one.listens)
      until = one.until;
    live_.insert_or_assign(id, std::move(one));
  } catch (const error& e) {
    fail(id, e);
    return;
  }
  // Before the transfer starts, so that it is not called from here.
  then_at(id, http_sign::head, &mcp_http::take_head, transfer);
  loop_->start(transfer);
  if (until)
    loop_->expect(transfer, until, "no answer within " + std::to_string(within.count()) + " ms");
}

void mcp_http::extend(std::int64_t id, std::chrono::milliseconds within) {
  auto until = end_of(within);
  http_transfer_ptr transfer;
  {
    std::scoped_lock lock{mutex_};
    if (auto found = live_.find(id); found != live_.end()) {
      found->second.until = until;
      transfer = found->second.transfer;
    } else if (auto waits = to_resume_.find(id); waits != to_resume_.end()) {
      waits->second.until = until;
    }
  }
  if (transfer)
    loop_->expect(transfer, until, "no answer within " + std::to_string(within.count()) + " ms");
}

std::int64_t mcp_http::ask(std::string method, value params, std::chrono::milliseconds timeout,
                           mcp_session::answer then, std::shared_ptr<mcp_listener> listener) {
  bool listens = listener != nullptr;
  auto id = open(method, then, std::move(listener));
  if (id)
    begin(*id, {.text = question_text(*id, method, params, listens),
                .method = method,
                .timeout = timeout,
                .listens = listens});
  return id.value_or(-1);
}

// Sends a message that gets no answer; calls `then` whether it arrives or not. A server that asks
// faster than it takes the answers does not get all of them.
void mcp_http::post(std::string text, std::function<void()> then) {
  if (text.empty() || (!then && *posts_ >= limits::mcp_replies_max))
    return;
  http_transfer_ptr transfer;
  try {
    std::scoped_lock lock{mutex_};
    auto request = request_for("POST", std::move(text), options_.call_timeout);
    check_request(request);
    transfer = std::make_shared<http_transfer>(std::move(request), true);
  } catch (const error&) {
    if (then)
      then(); // the next question reports the reason
    return;
  }
  ++*posts_;
  transfer->when(http_sign::end,
                 [kept = transfer, loop = loop_, posts = posts_, then = std::move(then)] {
                   --*posts;
                   if (then)
                     then();
                 });
  loop_->start(transfer);
}

std::optional<mcp_http::exchange> mcp_http::settle(std::int64_t id) {
  std::optional<exchange> out;
  {
    std::scoped_lock lock{mutex_};
    auto found = live_.extract(id);
    if (found)
      out = std::move(found.mapped());
  }
  if (out)
    loop_->cancel(out->transfer);
  return out;
}

void mcp_http::cancel(std::int64_t id) {
  bool waits = false;
  {
    std::scoped_lock lock{mutex_};
    waits = session_.forget(id).has_value();
    to_renew_.erase(id);
    to_authorize_.erase(id);
    to_resume_.erase(id);
  }
  settle(id);
  if (waits)
    post(mcp_cancellation(id));
}

mcp_http::~mcp_http() {
  auto live = std::exchange(live_, {});
  for (auto& [id, one] : live)
    loop_->cancel(one.transfer);
  if (stream_)
    stream_->close();
  for (auto& then : session_.forget_all())
    then(closed());
  if (session_id_.empty())
    return;
  // Its end is not waited for, but the loop lives until then.
  auto bye = std::make_shared<http_transfer>(request_for("DELETE", {}, limits::mcp_stop_wait),
                                             true);
  bye->when(http_sign::end, [kept = bye, loop = loop_] {});
  loop_->start(bye);
}

// ---- what comes back ------------------------------------------------------------------------

void mcp_http::fail(std::int64_t id, const error& why) {
  settle(id);
  std::optional<mcp_session::answer> then;
  {
    std::scoped_lock lock{mutex_};
    then = session_.forget(id);
  }
  if (!then)
    return;
  if (why.code() == errc::node_timeout)
    post(mcp_cancellation(id));
  (*then)(why);
}

void mcp_http::take_head(std::int64_t id) {
  auto transfer = transfer_of(id);
  if (!transfer)
    return;
  std::optional<http_head> head;
  try {
    head = transfer->head();
  } catch (const error& e) {
    fail(id, e);
    return;
  }
  auto type = head->header("content-type");
  bool is_stream = type.starts_with("text/event-stream");
  bool forgotten = false;
  bool refused = false;
  {
    std::scoped_lock lock{mutex_};
    auto found = live_.find(id);
    if (found == live_.end())
      return;
    auto& one = found->second;
    one.status = head->status;
    forgotten = head->status == 404 && !session_id_.empty() && !one.renewed;
    refused = authorizer_ && !one.authorized
              && asks_for_token(head->status, head->header("www-authenticate"));
    if (one.method == "initialize")
      session_id_ = head->header("mcp-session-id");
    if (is_stream)
      one.events.emplace(sse_bounds{limits::mcp_message_bytes_max, limits::mcp_message_bytes_max});
  }
  if (forgotten)
    renew(id);
  else if (refused)
    authorize(id, std::string{head->header("www-authenticate")});
  else if (head->status == 200 && !is_stream && !type.starts_with("application/json"))
    fail(id, mcp_failure("response", "Unexpected content type: " + quoted_text(type)));
  else
    then_at(id, http_sign::data, &mcp_http::take_body, transfer);
}

void mcp_http::take_body(std::int64_t id) {
  auto transfer = transfer_of(id);
  if (!transfer)
    return;
  bool had_to_wait = false;
  std::string piece;
  try {
    piece = transfer->take(had_to_wait);
  } catch (const http_error& e) {
    if (e.fault() != http_fault::broken || !resume(id))
      fail(id, e);
    return;
  }
  if (had_to_wait)
    loop_->go_on(transfer);
  if (piece.empty())
    take_end(id);
  else if (take_piece(id, piece))
    then_at(id, http_sign::data, &mcp_http::take_body, transfer);
}

// Whether further pieces are wanted.
bool mcp_http::take_piece(std::int64_t id, const std::string& piece) {
  std::vector<sse_event> events;
  bool too_large = false;
  {
    std::scoped_lock lock{mutex_};
    auto found = live_.find(id);
    if (found == live_.end())
      return false;
    auto& one = found->second;
    if (one.events && one.status == 200)
      too_large = !one.events->feed(piece, events);
    else if (too_large = one.body.size() + piece.size() > limits::mcp_message_bytes_max; !too_large)
      one.body += piece;
    if (!events.empty() && !events.back().id.empty()
        && events.back().id.size() <= limits::mcp_uri_bytes_max) {
      one.last_event = events.back().id;
      one.resumes = 0;
    }
  }
  for (const auto& event : events)
    if (!event.data.empty() && (event.type.empty() || event.type == "message"))
      hear(event.data, id);
  if (too_large)
    fail(id, mcp_failure("response", options_.name + ": a message of more than "
                                       + std::to_string(limits::mcp_message_bytes_max) + " bytes"));
  return transfer_of(id) != nullptr;
}

// Reads on after the last event of a stream that ended without the answer. Result: whether it
// does.
bool mcp_http::resume(std::int64_t id) {
  std::optional<exchange> one;
  std::chrono::milliseconds wait = limits::mcp_stream_retry_first;
  {
    std::scoped_lock lock{mutex_};
    auto found = live_.find(id);
    if (found == live_.end() || !found->second.events || found->second.status != 200
        || found->second.last_event.empty()
        || found->second.resumes >= limits::mcp_stream_retries_max)
      return false;
    one = std::move(found->second);
    live_.erase(found);
    ++one->resumes;
    wait = one->events->retry().value_or(wait);
    one->events.reset();
    to_resume_.insert_or_assign(id, std::move(*one));
  }
  wait = std::clamp(wait, std::chrono::milliseconds{10}, limits::mcp_stream_retry_max);
  loop_->at(http_loop::clock::now() + wait, [weak = weak_from_this(), id] {
    if (auto self = weak.lock())
      self->resume_now(id);
  });
  return true;
}

void mcp_http::resume_now(std::int64_t id) {
  std::optional<exchange> one;
  {
    std::scoped_lock lock{mutex_};
    if (auto found = to_resume_.extract(id))
      one = std::move(found.mapped());
  }
  if (one && *one->until <= http_loop::clock::now())
    fail(id, late(one->timeout));
  else if (one)
    begin(id, std::move(*one));
}

void mcp_http::take_end(std::int64_t id) {
  if (resume(id))
    return;
  auto one = settle(id);
  if (!one)
    return;
  if (one->status != 200) {
    fail(id, refusal(*one));
    return;
  }
  if (!one->events)
    hear(one->body);
  fail(id, without_answer());
}

error mcp_http::refusal(const exchange& one) const {
  auto body = from_json(one.body, json_form::plain);
  auto said = body ? text_in((*body)["error"]["message"]) : std::string{};
  said.resize(std::min(said.size(), limits::mcp_log_bytes_max));
  return mcp_failure(one.method,
                     "status " + std::to_string(one.status) + (said.empty() ? "" : ": " + said));
}

void mcp_http::hear(std::string_view text, std::optional<std::int64_t> carrier) {
  mcp_session::heard heard;
  {
    std::scoped_lock lock{mutex_};
    heard = session_.hear(text, carrier);
  }
  post(std::move(heard.reply));
  if (heard.then)
    settle(*heard.id);
  carry_out(std::move(heard));
}

// ---- the server's own stream ------------------------------------------------------------------

void mcp_http::established() {
  auto stream = std::make_shared<mcp_http_stream>(
    loop_,
    [weak = weak_from_this()] {
      auto self = weak.lock();
      if (!self)
        return http_request{};
      std::scoped_lock lock{self->mutex_};
      return self->request_for("GET", {}, std::chrono::milliseconds{0});
    },
    [weak = weak_from_this()](std::string_view text) {
      if (auto self = weak.lock())
        self->hear(text);
    });
  std::shared_ptr<mcp_http_stream> old;
  {
    std::scoped_lock lock{mutex_};
    if (!has_changes_)
      return;
    old = std::exchange(stream_, stream);
  }
  if (old)
    old->close();
  stream->open();
}

// ---- authorization ----------------------------------------------------------------------------

void mcp_http::authorize(std::int64_t id, const std::string& challenge) {
  auto one = settle(id);
  if (!one)
    return;
  std::string used;
  for (const auto& [name, text] : one->transfer->request().headers)
    if (name == "Authorization")
      used = text;
  bool first = false;
  {
    std::scoped_lock lock{mutex_};
    first = to_authorize_.empty();
    one->authorized = true;
    one->events.reset();
    to_authorize_.emplace(id, std::move(*one));
  }
  if (first)
    authorizer_->renew(challenge, used, [weak = weak_from_this()](auto failed) {
      if (auto self = weak.lock())
        self->authorized(failed);
    });
}

void mcp_http::authorized(const std::optional<error>& failed) {
  std::map<std::int64_t, exchange> waiting;
  {
    std::scoped_lock lock{mutex_};
    waiting.swap(to_authorize_);
  }
  for (auto& [id, one] : waiting)
    failed ? fail(id, *failed) : begin(id, std::move(one));
}

// ---- a session that the server has forgotten --------------------------------------------------

void mcp_http::renew(std::int64_t id) {
  auto one = settle(id);
  if (!one)
    return;
  bool first = false;
  {
    std::scoped_lock lock{mutex_};
    first = to_renew_.empty();
    one->renewed = true;
    one->events.reset();
    one->last_event.clear();
    to_renew_.emplace(id, std::move(*one));
    session_id_.clear();
    version_.clear();
  }
  if (!first)
    return;
  ask(
    "initialize", mcp_greeting(mcp_abilities_of(options_)), options_.connect_timeout,
    [weak = weak_from_this()](const result<value>& greeting) {
      if (auto self = weak.lock())
        self->renewed(greeting);
    },
    nullptr);
}

void mcp_http::renewed(const result<value>& greeting) {
  auto version = greeting ? text_in((*greeting)["protocolVersion"]) : std::string{};
  auto go_on = [weak = weak_from_this(), ok = is_known_mcp_version(version)] {
    auto self = weak.lock();
    if (!self)
      return;
    std::map<std::int64_t, exchange> waiting;
    {
      std::scoped_lock lock{self->mutex_};
      waiting.swap(self->to_renew_);
    }
    for (auto& [id, one] : waiting)
      if (ok)
        self->begin(id, std::move(one));
      else
        self->fail(id, mcp_failure(one.method, "Session terminated"));
    if (ok)
      self->established();
  };
  if (!is_known_mcp_version(version))
    return go_on();
  agree(*greeting);
  tell("notifications/initialized", value{}, go_on);
}

} // namespace

std::shared_ptr<mcp_transport> make_mcp_http(const mcp_endpoint& endpoint,
                                             const mcp_options& options) {
  return std::make_shared<mcp_http>(endpoint, options);
}

} // namespace troupe
