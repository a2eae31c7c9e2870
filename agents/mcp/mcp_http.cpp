// mcp_http: a client's connection to an MCP server over streamable HTTP: a POST for each message,
// answered by JSON or an event stream.
//
// Invariants:
//  - each question gets an answer: from its response, or when that ends or its time is up. A failed
//    request does not affect others.
//  - callbacks of transfers run on the loop's thread, and hold this object only while they run.
//  - a session that the server has forgotten is begun anew once for each request.
#include "agents/mcp/mcp_transport.hpp"
#include "agents/messages/json_text.hpp"

#include "http/loop.hpp"
#include "http/sse.hpp"

#include <map>
#include <mutex>
#include <optional>
#include <utility>

namespace troupe {
namespace {

class mcp_http final : public mcp_transport, public std::enable_shared_from_this<mcp_http> {
public:
  mcp_http(mcp_endpoint endpoint, mcp_options options)
    : endpoint_{std::move(endpoint)},
      options_{std::move(options)},
      loop_{http_loop::shared()} {}
  ~mcp_http() override;

  std::int64_t ask(std::string method, value params, std::chrono::milliseconds timeout,
                   mcp_session::answer then) override;
  void cancel(std::int64_t id) override;
  void tell(std::string_view method, const value& params, std::function<void()> then) override {
    post(mcp_notification(method, params), std::move(then));
  }
  void agree(const std::string& version) override {
    std::scoped_lock lock{mutex_};
    version_ = version;
  }
  std::uint64_t tool_changes() const override {
    std::scoped_lock lock{mutex_};
    return session_.tool_changes();
  }

private:
  // A question on its way.
  struct exchange {
    std::string text;
    std::string method;
    std::chrono::milliseconds timeout;
    http_transfer_ptr transfer = nullptr;
    int status = 0;
    std::optional<sse_decoder> events = {}; // unset: the body is JSON
    std::string body = {};
    bool renewed = false; // sent again in a new session
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
  void hear(std::string_view text);
  void fail(std::int64_t id, const error& why);
  void renew(std::int64_t id);
  void renewed(const result<value>& greeting);

  http_transfer_ptr transfer_of(std::int64_t id) const {
    std::scoped_lock lock{mutex_};
    auto found = live_.find(id);
    return found == live_.end() ? nullptr : found->second.transfer;
  }
  // Removes a question, and ends its transfer if that is still running.
  std::optional<exchange> settle(std::int64_t id);
  error refusal(const exchange& one) const;

  const mcp_endpoint endpoint_;
  const mcp_options options_;
  const std::shared_ptr<http_loop> loop_;

  mutable std::mutex mutex_;
  mcp_session session_;
  std::map<std::int64_t, exchange> live_;
  std::map<std::int64_t, exchange> to_renew_; // these wait for a new session
  std::string session_id_;
  std::string version_;
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

void mcp_http::begin(std::int64_t id, exchange one) {
  http_transfer_ptr transfer;
  try {
    std::scoped_lock lock{mutex_};
    auto request = request_for("POST", one.text, one.timeout);
    check_request(request);
    transfer = std::make_shared<http_transfer>(std::move(request), false);
    one.transfer = transfer;
    live_.insert_or_assign(id, std::move(one));
  } catch (const error& e) {
    fail(id, e);
    return;
  }
  then_at(id, http_sign::head, &mcp_http::take_head, transfer); // before the transfer starts, so
                                                                // not called from here
  loop_->start(transfer);
}

std::int64_t mcp_http::ask(std::string method, value params, std::chrono::milliseconds timeout,
                           mcp_session::answer then) {
  std::int64_t id = 0;
  std::optional<error> refused;
  {
    std::scoped_lock lock{mutex_};
    refused = session_.refusal(options_.name);
    if (!refused)
      id = session_.ask(method, then);
  }
  if (refused)
    then(*std::move(refused));
  else
    begin(id, {.text = mcp_request(id, method, params), .method = method, .timeout = timeout});
  return id;
}

// Sends a message that gets no answer; calls `then` whether it arrives or not.
void mcp_http::post(std::string text, std::function<void()> then) {
  if (text.empty())
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
  transfer->when(http_sign::end, [kept = transfer, loop = loop_, then = std::move(then)] {
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
  }
  settle(id);
  if (waits)
    post(mcp_cancellation(id));
}

mcp_http::~mcp_http() {
  auto live = std::exchange(live_, {});
  for (auto& [id, one] : live)
    loop_->cancel(one.transfer);
  for (auto& then : session_.forget_all())
    then(mcp_failure("connection", options_.name + ": the connection was closed"));
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
  {
    std::scoped_lock lock{mutex_};
    auto found = live_.find(id);
    if (found == live_.end())
      return;
    auto& one = found->second;
    one.status = head->status;
    forgotten = head->status == 404 && !session_id_.empty() && !one.renewed;
    if (one.method == "initialize")
      session_id_ = head->header("mcp-session-id");
    if (is_stream)
      one.events.emplace(sse_bounds{limits::mcp_message_bytes_max, limits::mcp_message_bytes_max});
  }
  if (forgotten)
    renew(id);
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
  } catch (const error& e) {
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
  }
  for (const auto& event : events)
    if (!event.data.empty() && (event.type.empty() || event.type == "message"))
      hear(event.data);
  if (too_large)
    fail(id, mcp_failure("response", options_.name + ": a message of more than "
                                       + std::to_string(limits::mcp_message_bytes_max) + " bytes"));
  return transfer_of(id) != nullptr;
}

void mcp_http::take_end(std::int64_t id) {
  auto one = settle(id);
  if (!one)
    return;
  if (one->status != 200) {
    fail(id, refusal(*one));
    return;
  }
  if (!one->events)
    hear(one->body);
  fail(id, mcp_failure(one->method, options_.name + ": the response does not contain the answer"));
}

error mcp_http::refusal(const exchange& one) const {
  auto body = from_json(one.body, json_form::plain);
  auto said = body ? text_in((*body)["error"]["message"]) : std::string{};
  said.resize(std::min(said.size(), limits::mcp_log_bytes_max));
  return mcp_failure(one.method,
                     "status " + std::to_string(one.status) + (said.empty() ? "" : ": " + said));
}

void mcp_http::hear(std::string_view text) {
  mcp_session::heard heard;
  {
    std::scoped_lock lock{mutex_};
    heard = session_.hear(text);
  }
  if (options_.on_log && !heard.log.empty())
    options_.on_log(std::string_view{heard.log}.substr(0, limits::mcp_log_bytes_max));
  post(std::move(heard.reply));
  if (!heard.then)
    return;
  settle(*heard.id);
  heard.then(std::move(*heard.with));
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
    to_renew_.emplace(id, std::move(*one));
    session_id_.clear();
    version_.clear();
  }
  if (!first)
    return;
  ask("initialize", mcp_greeting(), options_.connect_timeout,
      [weak = weak_from_this()](const result<value>& greeting) {
        if (auto self = weak.lock())
          self->renewed(greeting);
      });
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
  };
  if (!is_known_mcp_version(version))
    return go_on();
  agree(version);
  tell("notifications/initialized", value{}, go_on);
}

} // namespace

std::shared_ptr<mcp_transport> make_mcp_http(const mcp_endpoint& endpoint,
                                             const mcp_options& options) {
  return std::make_shared<mcp_http>(endpoint, options);
}

} // namespace troupe
