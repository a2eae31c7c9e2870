// http_listener: an HTTP server whose connections one thread carries. It knows framing, bounds and
// time-outs; its handler knows requests and answers.
#pragma once

#include "http/exchange.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace troupe {

/// A request. Shape: names of headers are in lower case; of several headers with one name, the
/// first.
struct http_asked {
  std::string method;
  std::string target;
  http_headers headers = {};
  std::string body = {};
  std::string peer = {};     ///< the address of the client, numeric
  bool wants_socket = false; ///< asks for a WebSocket: http_responder::upgrade()

  /// Empty when the header is missing.
  std::string_view header(std::string_view name) const noexcept;
  bool has(std::string_view name) const noexcept;
};

/// A whole answer. Length and connection headers are added.
struct http_whole {
  int status = 200;
  http_headers headers = {};
  std::string body = {};
};

class http_connection;

/// A text that a stream sends again and again, so that its peer sees that it is there.
struct http_beat {
  std::string text = {}; ///< nothing is sent when it is empty
  std::chrono::milliseconds every = limits::http_served_quiet_max;
  bool is_steady = false; ///< also while the stream sends other bytes; else after silence alone
};

class http_socket;

/// The events of a WebSocket. Called on the listener's thread; must be short, and not throw.
struct http_socket_handler {
  std::function<void(http_socket socket)> opened = {};
  std::function<void(std::string text)> text = {}; ///< a message of the peer
  std::function<void()> gone = {};                 ///< last, once: however the socket ended
};

/// The place to answer a request: by send(), or by begin(), any number of pieces, and end(). A
/// handle; when the last one is dropped without an answer, the answer is status 500.
/// Thread: any. A late answer, or one to a peer that is gone, is dropped.
class http_responder {
public:
  explicit http_responder(http_connection& to);

  void send(http_whole answer) const;
  /// Status 200. `quiet` is sent whenever nothing was sent for http_listener_options::quiet_max.
  void begin(http_headers headers, std::string quiet) const;
  /// As begin(), with a status and a beat. A request with method HEAD gets the head alone.
  void start(int status, http_headers headers, http_beat beat = {}) const;
  void piece(std::string bytes) const;
  void end() const;
  /// When all handles are dropped before send() or end(), or the listener ends streams, a streamed
  /// answer is cut: its peer must not take the part that it has for the whole. Else it ends then.
  void cut_unless_ended() const;

  /// Calls `gone` once, when the peer has closed the connection before the answer's end; not after
  /// end() or send(), and not when the listener ends. A later call replaces the function.
  /// Thread: of `gone`: the listener's. It must be short, and not throw.
  void when_gone(std::function<void()> gone) const;
  /// Headers that the answer has besides its own, and a function that gets the status when the
  /// answer begins: 499 when the connection ended first. Replaces those of an earlier call.
  /// Thread: of `answered`: the listener's. It must be short, and not throw.
  void with(http_headers more, std::function<void(int status)> answered) const;

  /// Answers a request with `wants_socket` by a WebSocket.
  /// Shape:  `headers` are those of the answer.
  void upgrade(http_socket_handler handler, http_headers headers = {}) const;

private:
  struct last_one;
  std::shared_ptr<last_one> held_;
};

/// A WebSocket of a listener. A handle: dropping it does not close the socket.
/// Thread: any. Messages to a peer that is gone are dropped.
class http_socket {
public:
  explicit http_socket(http_connection& of);

  /// Sends a text message. Above http_listener_options::unsent_bytes_max, the socket is closed.
  void send(std::string text) const;
  /// Closes the socket after the messages that were sent.
  /// Shape:  `code` as RFC 6455, 7.4: 1000 for an orderly end. `reason` at most 123 bytes.
  void close(std::uint16_t code = 1000, std::string reason = {}) const;

private:
  struct place;
  std::shared_ptr<const place> at_;
};

/// Both functions are called on the thread that carries all connections, and must be short.
struct http_handler {
  /// Checks the head alone, before the body is read. nullopt accepts it; an answer refuses it, and
  /// the connection is closed afterwards.
  std::function<std::optional<http_whole>(const http_asked& head)> screen;
  std::function<void(http_asked request, http_responder to)> answer;
  /// The answer of the listener itself: to a request that cannot be read or is beyond its bounds,
  /// to a connection beyond them, and status 500 where a handler gave none. Empty: the status
  /// alone.
  std::function<http_whole(int status)> refusal = {};
};

/// A certificate and its key, in PEM. Changed files count from the next connection on; with files
/// that do not fit, the certificate before stays.
struct http_tls_files {
  std::filesystem::path certificate; ///< may be followed by intermediate certificates
  std::filesystem::path key;
};

/// The present load of a listener. Thread: any.
struct http_load {
  std::atomic<std::size_t> connections = 0;
  std::atomic<std::size_t> streams = 0; ///< answers that are being streamed
  std::atomic<std::size_t> sockets = 0; ///< WebSockets
};

struct http_listener_options {
  std::string address = "127.0.0.1";                                   ///< a numeric address
  std::uint16_t port = 0;                                              ///< 0: any free one
  std::size_t body_bytes_max = 0;                                      ///< of a request; 413 above
  std::size_t header_bytes_max = limits::http_served_header_bytes_max; ///< of a request; 431 above
  std::size_t connections_max = limits::http_served_connections_max;   ///< further ones wait
  /// Connections beyond connections_max that get status 503 and are closed; so many at once.
  std::size_t turned_away_max = 0;
  /// For a whole request, also for the next one of a connection; then the connection is closed.
  std::chrono::milliseconds read_timeout = limits::http_served_read_timeout;
  /// For a write while the peer takes no bytes; then the connection is closed.
  std::chrono::milliseconds write_timeout = limits::http_served_write_timeout;
  /// Without a sign of the peer's system for this long, the connection is closed; 0: the system
  /// decides, after many minutes.
  std::chrono::milliseconds peer_timeout{0};
  /// Bytes of a stream that the peer has not taken; above, the connection is closed.
  std::size_t unsent_bytes_max = limits::http_served_unsent_bytes_max;
  /// The longest silence of a stream; then `quiet` is sent.
  std::chrono::milliseconds quiet_max = limits::http_served_quiet_max;
  std::size_t socket_message_bytes_max = limits::http_socket_message_bytes_max; ///< closed above
  /// A WebSocket whose peer sends nothing for this long is closed; it is pinged after half of it.
  std::chrono::milliseconds socket_idle = limits::http_socket_idle;
  std::optional<http_tls_files> tls = std::nullopt; ///< speaks TLS 1.2 or newer
  /// Gets a line when changed TLS files do not fit. Called on the listener's thread.
  std::function<void(const std::string& line)> report = {};
  std::shared_ptr<http_load> load = std::make_shared<http_load>(); ///< kept current; not null
};

/// Whether a numeric address is a loopback address of this host; false for other texts.
bool is_loopback_address(const std::string& address) noexcept;

/// Listens during its lifetime.
/// Errors: throws error{invalid_config} for an invalid address, one that is taken, or TLS files
/// that
///         do not fit.
class http_listener {
public:
  http_listener(const http_listener_options& options, http_handler handler);
  http_listener(const http_listener&) = delete;
  http_listener& operator=(const http_listener&) = delete;
  /// Closes all connections.
  ~http_listener();

  /// Accepts no further connections, and closes each connection after its answer. Returns whether
  /// all answers were sent.
  /// Blocks: at most this long.
  bool drain(std::chrono::milliseconds at_most);
  /// Ends all streams in good order, as their end() would, and closes WebSockets with code 1001.
  void end_streams();

  std::uint16_t port() const noexcept;

private:
  struct core;
  friend class http_connection;
  std::shared_ptr<core> core_;
};

} // namespace troupe
