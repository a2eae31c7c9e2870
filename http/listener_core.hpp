// listener_core: the acceptor of a listener and its connections. Only the listener's sources
// include this; no other file of the library sees Beast.
//
// Invariants:
//  - sockets, timers and written bytes belong to the one thread; handles post to it.
//  - a connection parses a request only when the one before is answered in full.
//  - one read of the socket is open at most. While an answer is awaited or streamed, it reads
//  ahead:
//    its failure shows that the peer is gone.
#pragma once

#include "http/beat_wheel.hpp"
#include "http/listener.hpp"
#include "http/served_stream.hpp"
#include "http/tls_context.hpp"

#include <boost/asio/dispatch.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
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

class web_socket;
using served_parser = boost::beast::http::request_parser<boost::beast::http::string_body>;
using served_request = boost::beast::http::request<boost::beast::http::string_body>;

struct http_listener::core : std::enable_shared_from_this<core> {
  core(const http_listener_options& o, http_handler h) : options{o}, handler{std::move(h)} {
    if (options.tls)
      tls.emplace(*options.tls);
  }

  void accept();
  void forget(const std::shared_ptr<http_connection>& gone);
  void drain();
  void end_streams();

  const http_listener_options options;
  const http_handler handler;
  // Declared before the members below, so destroyed after them: handlers that are left in it hold
  // connections with their sockets.
  boost::asio::io_context io{1};
  boost::asio::ip::tcp::acceptor acceptor{io};
  boost::asio::ip::tcp::endpoint at; // the address it listens at
  boost::asio::steady_timer retry{io};
  beat_wheel beats{io};
  std::optional<tls_context> tls;
  std::set<std::shared_ptr<http_connection>> open;
  bool is_full = false; // accepts again when a connection ends
  bool drains = false;  // connections are closed after their answers
  std::promise<void> drained;
  const std::shared_future<void> is_drained{drained.get_future()};
  std::thread thread;
};

class http_connection : public std::enable_shared_from_this<http_connection> {
public:
  using clock = std::chrono::steady_clock;

  http_connection(const std::shared_ptr<http_listener::core>& of,
                  boost::asio::ip::tcp::socket socket,
                  std::shared_ptr<boost::asio::ssl::context> tls);
  ~http_connection();

  void begin_reading();
  /// Answers with status 503 instead, and closes the connection.
  void turn_away();
  void close();
  /// Ends a stream in good order, cuts one that must be whole, or closes the WebSocket.
  void end_stream();
  /// Closes the connection because the listener ends.
  void cut();

  // -- called by handles, on any thread; `turn`: the number of the answer

  // A socket must not outlive the listener: a thread that holds a connection here holds the
  // listener, too, and for longer.
  struct address {
    std::weak_ptr<http_listener::core> listener;
    std::weak_ptr<http_connection> connection;
    std::uint64_t turn = 0;
  };
  static void post(const address& to, std::function<void(http_connection&)> what) {
    if (auto listener = to.listener.lock())
      boost::asio::post(listener->io, on_turn(to, std::move(what)));
  }
  // At once on the connections' own thread: before anything that other threads post later.
  static void dispatch(const address& to, std::function<void(http_connection&)> what) {
    if (auto listener = to.listener.lock())
      boost::asio::dispatch(listener->io, on_turn(to, std::move(what)));
  }
  // Does `what` while the answer of that turn is not complete.
  static std::function<void()> on_turn(const address& to,
                                       std::function<void(http_connection&)> what) {
    return [self = to.connection.lock(), turn = to.turn, what = std::move(what)] {
      if (self && self->turn_ == turn && self->state_ != stage::asks && self->is_open())
        what(*self);
    };
  }

  // -- on the thread

  address here() { return {listener_, weak_from_this(), turn_}; }
  const http_listener_options& options() const noexcept { return options_; }

  /// The listener's own answer of this status.
  http_whole own_answer(int status) const;
  void with(http_headers more, std::function<void(int)> answered);
  void send(const http_whole& answer);
  void begin(int status, const http_headers& headers, http_beat beat);
  void piece(const std::string& bytes);
  void end();
  void be_whole() noexcept { is_whole_ = true; }
  /// Ends a streamed answer that nobody ends any more, or cuts it: see
  /// http_responder::cut_unless_ended().
  void end_or_cut();
  void upgrade(http_socket_handler handler, const http_headers& headers);
  void when_gone(std::function<void()> gone) { gone_ = std::move(gone); }
  web_socket* socket() const noexcept { return socket_.get(); }
  bool is_open() const { return stream_.next_layer().is_open(); }
  bool is_answered() const noexcept { return state_ != stage::waits; }
  bool is_streaming() const noexcept { return state_ == stage::streams; }
  bool asks() const noexcept { return state_ == stage::asks; }

private:
  enum class stage : std::uint8_t { asks, waits, streams, ends, speaks };

  auto then(void (http_connection::*act)(boost::system::error_code)) {
    return [self = shared_from_this(), act](boost::system::error_code failed, auto...) {
      (*self.*act)(failed);
    };
  }
  bool is_draining() const {
    auto listener = listener_.lock();
    return !listener || listener->drains;
  }
  void after_handshake(void (http_connection::*act)(boost::system::error_code));
  void expect_within(std::chrono::milliseconds patience);
  void expect_nothing();
  void read_head(boost::system::error_code failed = {});
  void look_for_head();
  void read_some();
  void take_bytes(boost::system::error_code failed, std::size_t count);
  void parse_head(std::size_t bytes);
  http_asked head_of() const;
  void take_head();
  void read_body(boost::system::error_code failed);
  void take_chunks();
  void take_body(boost::system::error_code failed);
  void refuse_for_load(boost::system::error_code failed);
  void refuse(boost::system::error_code why);
  void refuse(const http_whole& answer);
  void pass_over(boost::system::error_code failed);
  void watch();
  void finish();
  void beat_after(clock::time_point last);
  void beat();
  void stop_beats();
  std::size_t write_at_once(std::string_view bytes);
  void note_sent();
  void say_status(int status);
  void count(stage next);
  void enter(stage next);
  std::string head_text(int status, const http_headers& headers);
  void write(std::string bytes);
  void write_next();
  void take_written(std::size_t count, boost::system::error_code failed);

  const std::weak_ptr<http_listener::core> listener_;
  const http_handler& handler_;          // of the listener
  const http_listener_options& options_; // of the listener, too
  const std::shared_ptr<http_load> load_;
  served_stream stream_;
  std::string peer_;
  boost::asio::steady_timer patience_; // for the request, or for the write
  boost::beast::flat_buffer buffer_;
  std::optional<served_parser> parser_;
  http_asked asked_;
  stage state_ = stage::asks;
  stage counted_ = stage::asks; // in the load; a closed connection is not counted
  std::uint64_t turn_ = 0;
  bool keeps_ = true;
  bool is_reading_ = false;
  bool is_refused_ = false;
  bool is_chunked_ = false;
  bool wants_socket_ = false;
  bool is_head_ = false;     // the method; the answer has no body
  bool is_whole_ = false;    // or else it is cut
  std::size_t searched_ = 0; // bytes of the buffer without a head's end
  // of the answer
  http_beat beat_;
  std::optional<beat_wheel::place> next_beat_;
  clock::time_point sent_at_ = {}; // when the peer's system had all bytes
  http_headers more_;
  std::function<void(int)> answered_;
  std::function<void()> gone_;
  std::shared_ptr<web_socket> socket_;
  std::deque<std::string> unsent_;
  std::size_t sent_ = 0; // bytes of the first one
  std::size_t unsent_bytes_ = 0;
};

} // namespace troupe
