// http_listener: accepting connections, draining, and stopping.
#include "http/listener_core.hpp"
#include "http/web_socket.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <utility>

namespace troupe {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;
using boost::system::error_code;

namespace {

// The system ends a connection whose peer vanished without a word: one that acknowledges neither
// bytes nor, while no bytes are sent, probes. The time-out for bytes covers the probes, too.
void bound_silence(int socket, std::chrono::milliseconds timeout) {
  if (timeout.count() <= 0)
    return;
  auto set = [socket](int level, int option, int number) {
    ::setsockopt(socket, level, option, &number, sizeof number); // a refusal leaves the defaults
  };
  constexpr int probes = 3;
  auto seconds = static_cast<int>(std::chrono::ceil<std::chrono::seconds>(timeout).count());
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(timeout.count()));
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, std::max(1, seconds / 2));
  set(IPPROTO_TCP, TCP_KEEPINTVL, std::max(1, seconds / 2 / probes));
  set(IPPROTO_TCP, TCP_KEEPCNT, probes);
}

} // namespace

// ---- the listener ---------------------------------------------------------------------------

void http_listener::core::accept() {
  acceptor.async_accept([this](error_code failed, tcp::socket socket) {
    if (!acceptor.is_open())
      return;
    if (failed) { // no descriptors are left: tries again later
      retry.expires_after(std::chrono::milliseconds{100});
      retry.async_wait([this](error_code stopped) {
        if (!stopped)
          accept();
      });
      return;
    }
    error_code ignored;
    ignored = socket.set_option(tcp::no_delay{true}, ignored);
    ignored = socket.non_blocking(true, ignored); // pieces of streams are written at once
    bound_silence(socket.native_handle(), options.peer_timeout);
    auto context = tls ? tls->get(tls_context::clock::now(), options.report) : nullptr;
    auto one = std::make_shared<http_connection>(shared_from_this(), std::move(socket),
                                                 std::move(context));
    open.insert(one);
    options.load->connections = open.size();
    open.size() > options.connections_max ? one->turn_away() : one->begin_reading();
    is_full = open.size() >= options.connections_max + options.turned_away_max;
    if (!is_full)
      accept();
  });
}

void http_listener::core::forget(const std::shared_ptr<http_connection>& gone) {
  auto was_there = open.erase(gone) > 0;
  options.load->connections = open.size();
  if (std::exchange(is_full, false) && !drains)
    accept();
  if (was_there && drains && open.empty())
    drained.set_value();
}

void http_listener::core::drain() {
  if (std::exchange(drains, true))
    return;
  error_code ignored;
  ignored = acceptor.close(ignored);
  if (open.empty())
    drained.set_value();
  auto idle = open; // a copy, since each removes itself
  for (const auto& one : idle)
    if (one->asks())
      one->close();
}

void http_listener::core::end_streams() {
  auto all = open; // a copy, since each may remove itself
  for (const auto& one : all)
    one->end_stream();
}

http_listener::http_listener(const http_listener_options& options, http_handler handler)
  : core_{std::make_shared<core>(options, std::move(handler))} {
  error_code failed;
  auto address = asio::ip::make_address(options.address, failed);
  auto wrong = [&](const std::string& why) {
    return error{errc::invalid_config, "listen at `" + options.address + ':'
                                         + std::to_string(options.port) + "`: " + why};
  };
  if (failed)
    throw wrong("not a numeric IPv4 or IPv6 address");
  try {
    tcp::endpoint at{address, options.port};
    core_->acceptor.open(at.protocol());
    core_->acceptor.set_option(tcp::acceptor::reuse_address{true});
    core_->acceptor.bind(at);
    core_->acceptor.listen();
    core_->at = core_->acceptor.local_endpoint();
  } catch (const boost::system::system_error& e) {
    throw wrong(e.code().message());
  }
  core_->accept();
  core_->thread = std::thread{[core = core_.get()] {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
    core->io.run();
  }};
}

http_listener::~http_listener() {
  asio::post(core_->io, [core = core_.get()] {
    error_code ignored;
    ignored = core->acceptor.close(ignored);
    core->retry.cancel();
    auto open = core->open; // a copy, since each removes itself
    for (const auto& one : open)
      one->cut();
    core->io.stop();
  });
  core_->thread.join();
  core_->open.clear();
}

bool http_listener::drain(std::chrono::milliseconds at_most) {
  asio::post(core_->io, [core = core_.get()] { core->drain(); });
  return core_->is_drained.wait_for(at_most) == std::future_status::ready;
}

void http_listener::end_streams() {
  asio::post(core_->io, [core = core_.get()] { core->end_streams(); });
}

std::uint16_t http_listener::port() const noexcept {
  return core_->at.port();
}

bool is_loopback_address(const std::string& address) noexcept {
  error_code failed;
  auto read = asio::ip::make_address(address, failed);
  return !failed && read.is_loopback();
}

// ---- handles --------------------------------------------------------------------------------

struct http_responder::last_one {
  http_connection::address to;
  std::atomic<bool> is_answered = false; // a handle has called send() or end()

  explicit last_one(http_connection::address a) : to{std::move(a)} {}
  last_one(const last_one&) = delete;
  last_one& operator=(const last_one&) = delete;
  ~last_one() {
    http_connection::post(to, [](http_connection& c) {
      if (!c.is_answered())
        c.send(c.own_answer(500));
      c.end_or_cut();
    });
  }
};

http_responder::http_responder(http_connection& to)
  : held_{std::make_shared<last_one>(to.here())} {}

void http_responder::send(http_whole answer) const {
  held_->is_answered = true;
  http_connection::post(held_->to, [answer = std::move(answer)](auto& c) { c.send(answer); });
}
void http_responder::begin(http_headers headers, std::string quiet) const {
  auto what = [headers = std::move(headers), quiet = std::move(quiet)](http_connection& c) {
    c.begin(200, headers, {.text = quiet, .every = c.options().quiet_max});
  };
  http_connection::post(held_->to, std::move(what));
}
void http_responder::start(int status, http_headers headers, http_beat beat) const {
  auto what = [status, headers = std::move(headers), beat = std::move(beat)](http_connection& c) {
    c.begin(status, headers, beat);
  };
  http_connection::post(held_->to, std::move(what));
}
void http_responder::piece(std::string bytes) const {
  http_connection::post(held_->to, [bytes = std::move(bytes)](auto& c) { c.piece(bytes); });
}
void http_responder::cut_unless_ended() const {
  http_connection::post(held_->to, [](auto& c) { c.be_whole(); });
}
void http_responder::end() const {
  held_->is_answered = true;
  http_connection::post(held_->to, [](auto& c) { c.end(); });
}
void http_responder::with(http_headers more, std::function<void(int)> answered) const {
  auto what = [more = std::move(more), answered = std::move(answered)](http_connection& c) {
    c.with(more, answered);
  };
  http_connection::dispatch(held_->to, std::move(what));
}
void http_responder::upgrade(http_socket_handler handler, http_headers headers) const {
  held_->is_answered = true;
  auto what = [handler = std::move(handler), headers = std::move(headers)](http_connection& c) {
    c.upgrade(handler, headers);
  };
  http_connection::post(held_->to, std::move(what));
}

void http_responder::when_gone(std::function<void()> gone) const {
  std::weak_ptr<last_one> held = held_;
  auto unless_answered = [held, gone = std::move(gone)] {
    if (auto one = held.lock(); one && !one->is_answered)
      gone();
  };
  auto listener = held_->to.listener.lock();
  if (!listener)
    return;
  asio::post(listener->io, [to = held_->to, unless_answered] {
    auto connection = to.connection.lock();
    if (connection && connection->is_open() && connection->here().turn == to.turn)
      connection->when_gone(unless_answered);
    else
      unless_answered();
  });
}

struct http_socket::place {
  http_connection::address at;
};

http_socket::http_socket(http_connection& of) : at_{std::make_shared<const place>(of.here())} {}

void http_socket::send(std::string text) const {
  http_connection::post(at_->at, [text = std::move(text)](http_connection& c) {
    if (c.socket())
      c.socket()->send(text);
  });
}
void http_socket::close(std::uint16_t code, std::string reason) const {
  http_connection::post(at_->at, [code, reason = std::move(reason)](http_connection& c) {
    if (c.socket())
      c.socket()->close(code, reason);
  });
}

} // namespace troupe
