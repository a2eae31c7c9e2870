// listener_core: the acceptor of a listener and its connections. Only the listener's two sources
// include this; no other file of the library sees Beast.
//
// Invariants:
//  - sockets, timers and written bytes belong to the one thread; handles post to it.
//  - a connection reads a request only when the one before is answered in full.
#pragma once

#include "http/listener.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>

namespace troupe {

struct http_listener::core : std::enable_shared_from_this<core> {
  core(const http_listener_options& o, http_handler h) : options{o}, handler{std::move(h)} {}

  void accept();
  void forget(const std::shared_ptr<http_connection>& gone);
  void drain();

  const http_listener_options options;
  const http_handler handler;
  // Declared before the members below, so destroyed after them: handlers that are left in it hold
  // connections with their sockets.
  boost::asio::io_context io{1};
  boost::asio::ip::tcp::acceptor acceptor{io};
  boost::asio::ip::tcp::endpoint at; // the address it listens at
  boost::asio::steady_timer retry{io};
  std::set<std::shared_ptr<http_connection>> open;
  bool is_full = false; // accepts again when a connection ends
  bool drains = false;  // connections are closed after their answers
  std::promise<void> drained;
  const std::shared_future<void> is_drained{drained.get_future()};
  std::thread thread;
};

class http_connection : public std::enable_shared_from_this<http_connection> {
public:
  http_connection(std::shared_ptr<http_listener::core> of, boost::asio::ip::tcp::socket socket)
    : listener_{of},
      handler_{of->handler},
      options_{of->options},
      stream_{std::move(socket)},
      quiet_timer_{of->io} {}

  void read_head();
  void close();

  // -- called by handles, on any thread; `turn`: the number of the answer

  // A socket must not outlive the listener: a thread that holds a connection here holds the
  // listener, too, and for longer.
  struct address {
    std::weak_ptr<http_listener::core> listener;
    std::weak_ptr<http_connection> connection;
    std::uint64_t turn = 0;
  };
  static void post(const address& to, std::function<void(http_connection&)> what) {
    auto listener = to.listener.lock();
    auto self = to.connection.lock();
    if (!listener || !self)
      return;
    boost::asio::post(listener->io, [self = std::move(self), turn = to.turn,
                                     what = std::move(what)] {
      if (self->turn_ == turn && self->state_ != stage::asks && self->stream_.socket().is_open())
        what(*self);
    });
  }

  // -- on the thread

  address here() { return {listener_, weak_from_this(), turn_}; }

  void send(http_whole answer);
  void begin(const http_headers& headers, std::string quiet);
  void piece(const std::string& bytes);
  void end();
  bool is_answered() const noexcept { return state_ != stage::waits; }
  bool is_streaming() const noexcept { return state_ == stage::streams; }
  bool asks() const noexcept { return state_ == stage::asks; }

private:
  enum class stage : std::uint8_t { asks, waits, streams, ends };

  auto then(void (http_connection::*act)(boost::system::error_code)) {
    return [self = shared_from_this(), act](boost::system::error_code failed, auto...) {
      (*self.*act)(failed);
    };
  }
  bool is_draining() const {
    auto listener = listener_.lock();
    return !listener || listener->drains;
  }
  http_asked head_of() const;
  void take_head(boost::system::error_code failed);
  void read_body(boost::system::error_code failed);
  void take_body(boost::system::error_code failed);
  void refuse(boost::system::error_code why);
  void refuse(http_whole answer);
  void pass_over(boost::system::error_code failed);
  void answer();
  void watch();
  void say_when_quiet();
  std::string status_line(int status) const;
  void write(std::string bytes);
  void write_next();
  void written(boost::system::error_code failed);

  const std::weak_ptr<http_listener::core> listener_;
  const http_handler& handler_;          // of the listener
  const http_listener_options& options_; // of the listener, too
  boost::beast::tcp_stream stream_;
  boost::asio::steady_timer quiet_timer_;
  boost::beast::flat_buffer buffer_;
  std::optional<boost::beast::http::request_parser<boost::beast::http::string_body>> parser_;
  stage state_ = stage::asks;
  std::uint64_t turn_ = 0;
  bool keeps_ = true;
  bool is_watched_ = false;
  bool is_refused_ = false;
  bool is_chunked_ = false;
  std::string quiet_;
  std::deque<std::string> unsent_;
  std::size_t sent_ = 0; // bytes of the first one
  std::size_t unsent_bytes_ = 0;
};

} // namespace troupe
