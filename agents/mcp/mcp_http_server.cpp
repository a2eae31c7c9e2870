// mcp_http_server: an MCP server over streamable HTTP.
//
// Invariants:
//  - sessions belong to the listener's thread; answers of calls come on threads of the runtime.
//  - a request has one answer: JSON when it comes at once, else an event of a stream. Messages that
//    belong to a call are events of its stream before the answer.
//  - each session has at most one stream of the server's own.
#include "agents/mcp/mcp_http_gate.hpp"
#include "agents/mcp/mcp_protocol.hpp"

#include <mutex>
#include <utility>

namespace troupe {

namespace {

std::string sse_event_of(const std::string& message) {
  return "event: message\ndata: " + message + "\n\n";
}
void begin_events(const http_responder& to) {
  to.begin({{"Content-Type", "text/event-stream"}, {"Cache-Control", "no-cache"}}, ": \n\n");
}

// An answer that may come before or after the listener's thread looks for it.
class http_turn {
public:
  http_turn(http_responder to, bool takes_events)
    : to_{std::move(to)},
      takes_events_{takes_events} {}

  void answered(mcp_reply reply) {
    {
      std::scoped_lock lock{mutex_};
      if (!is_waited_for_) {
        at_once_ = std::move(reply);
        return;
      }
    }
    if (!takes_events_)
      to_.send(whole(reply));
    else if (!reply.text.empty())
      to_.piece(sse_event_of(reply.text));
    to_.end();
  }

  /// A message before the answer. Only for clients that take events.
  void said(const std::string& message) {
    {
      std::scoped_lock lock{mutex_};
      if (!is_waited_for_) {
        early_.push_back(message);
        return;
      }
    }
    to_.piece(sse_event_of(message));
  }

  /// The answer, if it has come by now; otherwise it is sent later by itself.
  std::optional<mcp_reply> look() {
    std::scoped_lock lock{mutex_};
    is_waited_for_ = !at_once_;
    if ((is_waited_for_ && takes_events_) || !early_.empty())
      begin_events(to_);
    if (early_.empty())
      return std::move(at_once_);
    for (const auto& message : early_)
      to_.piece(sse_event_of(message));
    if (at_once_) {
      if (!at_once_->text.empty())
        to_.piece(sse_event_of(at_once_->text));
      to_.end();
    }
    return std::nullopt;
  }

  static http_whole whole(const mcp_reply& reply) {
    if (reply.text.empty())
      return {.status = 202};
    return {.status = reply.refused ? 400 : 200,
            .headers = {{"Content-Type", "application/json"}},
            .body = reply.text};
  }

private:
  const http_responder to_;
  const bool takes_events_;
  std::mutex mutex_;
  bool is_waited_for_ = false;
  std::optional<mcp_reply> at_once_;
  std::vector<std::string> early_;
};

error not_listening(const std::string& why) {
  return {errc::invalid_config, "serve MCP over HTTP: " + why};
}

} // namespace

struct mcp_http_server::state {
  state(const mcp_server& server, mcp_http_options o)
    : options{std::move(o)},
      is_loopback{is_loopback_address(options.address)},
      host{server.host()},
      sessions{options.sessions_max, options.session_idle},
      listener{
        {.address = options.address,
         .port = options.port,
         .body_bytes_max = limits::mcp_message_bytes_max},
        {.screen =
           [this](const http_asked& head) { return refused_by_head(options, is_loopback, head); },
         .answer = [this](http_asked request,
                          http_responder to) { answer(request, std::move(to)); }}} {}

  void answer(const http_asked& request, http_responder to);
  void greet(const http_asked& request, const http_responder& to);
  void stream(mcp_connection& session, const http_responder& to);
  void end_streams();
  void end(std::string_view id, const http_responder& to);

  const mcp_http_options options;
  const bool is_loopback;
  const std::shared_ptr<mcp_host> host;
  mcp_http_sessions sessions;
  std::mutex mutex;
  bool drains = false;                                  // under the mutex
  std::vector<std::weak_ptr<mcp_connection>> streaming; // under the mutex: with a stream of its own
  http_listener listener; // the last member: its thread uses all others
};

void mcp_http_server::state::answer(const http_asked& request, http_responder to) {
  auto id = request.header("mcp-session-id");
  if (request.method == "DELETE")
    return end(id, to);
  if (id.empty() && request.method == "GET")
    return to.send(mcp_http_refusal(400, "Bad Request: Mcp-Session-Id is missing"));
  if (id.empty())
    return greet(request, to);
  auto session = sessions.find(id, mcp_http_sessions::clock::now());
  if (!session)
    return to.send(mcp_http_refusal(404, "Session not found"));
  if (request.method == "GET")
    return stream(*session, to);
  auto turn = std::make_shared<http_turn>(to, takes_events(request));
  mcp_way way{.then = [turn](mcp_reply reply) { turn->answered(std::move(reply)); }};
  if (takes_events(request))
    way.meanwhile = [turn](const std::string& message) { turn->said(message); };
  session->hear(request.body, std::move(way));
  if (auto reply = turn->look())
    to.send(http_turn::whole(*reply));
}

// The server's own stream: messages that belong to no call. It takes the place of the one before.
void mcp_http_server::state::stream(mcp_connection& session, const http_responder& to) {
  {
    std::scoped_lock lock{mutex};
    if (drains)
      return to.send(mcp_http_refusal(503, "Service Unavailable: the server ends"));
    std::erase_if(streaming, [](const auto& one) { return one.expired(); });
    streaming.push_back(session.weak_from_this());
  }
  begin_events(to);
  session.speak_by([to](const std::string& message) { to.piece(sse_event_of(message)); });
}

void mcp_http_server::state::end_streams() {
  std::vector<std::weak_ptr<mcp_connection>> all;
  {
    std::scoped_lock lock{mutex};
    drains = true;
    all.swap(streaming);
  }
  for (const auto& one : all)
    if (auto session = one.lock())
      session->speak_by({});
}

// A client without a session may only begin one.
void mcp_http_server::state::greet(const http_asked& request, const http_responder& to) {
  auto client = std::make_shared<mcp_connection>(host);
  mcp_reply reply;
  client->hear(request.body, {.then = [&reply](mcp_reply r) { reply = std::move(r); }});
  if (!client->is_greeted()) {
    auto no = mcp_http_refusal(
      400, "Bad Request: Mcp-Session-Id is missing, and the request is not initialize");
    if (!reply.text.empty())
      no.body = std::move(reply.text);
    return to.send(std::move(no));
  }
  client->join();
  auto id = sessions.add(std::move(client), mcp_http_sessions::clock::now());
  if (!id)
    return to.send(mcp_http_refusal(503, "Service Unavailable: too many sessions"));
  auto answer = http_turn::whole(reply);
  answer.headers.emplace_back("Mcp-Session-Id", *id);
  to.send(std::move(answer));
}

void mcp_http_server::state::end(std::string_view id, const http_responder& to) {
  if (id.empty())
    return to.send(mcp_http_refusal(400, "Bad Request: Mcp-Session-Id is missing"));
  auto gone = sessions.remove(id);
  if (!gone)
    return to.send(mcp_http_refusal(404, "Session not found"));
  gone->close();
  to.send({.status = 204});
}

mcp_http_server::mcp_http_server(const mcp_server& server, mcp_http_options options) {
  if (!options.path.starts_with('/'))
    throw not_listening("path must begin with `/`: " + options.path);
  if (options.sessions_max == 0)
    throw not_listening("sessions_max must be at least 1");
  if (options.token.empty() && !is_loopback_address(options.address))
    throw not_listening("a token is needed to listen beyond this host, at " + options.address);
  state_ = std::make_shared<state>(server, std::move(options));
}

mcp_http_server::~mcp_http_server() = default;

std::uint16_t mcp_http_server::port() const noexcept {
  return state_->listener.port();
}

std::string mcp_http_server::url() const {
  const auto& o = state_->options;
  bool is_v6 = o.address.find(':') != o.address.npos;
  return "http://" + (is_v6 ? '[' + o.address + ']' : o.address) + ':' + std::to_string(port())
         + o.path;
}

bool mcp_http_server::drain(std::chrono::milliseconds at_most) {
  state_->end_streams();
  return state_->listener.drain(at_most);
}

} // namespace troupe
