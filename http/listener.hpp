// http_listener: an HTTP server whose connections one thread carries. It knows framing, bounds and
// time-outs; its handler knows requests and answers.
#pragma once

#include "http/exchange.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
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

/// The place to answer a request: by send(), or by begin(), any number of pieces, and end(). A
/// handle; when the last one is dropped without an answer, the answer is status 500.
/// Thread: any. A late answer, or one to a peer that is gone, is dropped.
class http_responder {
public:
  explicit http_responder(http_connection& to);

  void send(http_whole answer) const;
  /// Status 200. `quiet` is sent whenever nothing was sent for http_listener_options::quiet_max.
  void begin(http_headers headers, std::string quiet) const;
  void piece(std::string bytes) const;
  void end() const;

private:
  struct last_one;
  std::shared_ptr<last_one> held_;
};

/// Both functions are called on the thread that carries all connections, and must be short.
struct http_handler {
  /// Checks the head alone, before the body is read. nullopt accepts it; an answer refuses it, and
  /// the connection is closed afterwards.
  std::function<std::optional<http_whole>(const http_asked& head)> screen;
  std::function<void(http_asked request, http_responder to)> answer;
};

struct http_listener_options {
  std::string address = "127.0.0.1";                                   ///< a numeric address
  std::uint16_t port = 0;                                              ///< 0: any free one
  std::size_t body_bytes_max = 0;                                      ///< of a request; 413 above
  std::size_t header_bytes_max = limits::http_served_header_bytes_max; ///< of a request; 431 above
  std::size_t connections_max = limits::http_served_connections_max;   ///< further ones wait
  /// For a whole request, also for the next one of a connection; then the connection is closed.
  std::chrono::milliseconds read_timeout = limits::http_served_read_timeout;
  /// For a write while the peer takes no bytes; then the connection is closed.
  std::chrono::milliseconds write_timeout = limits::http_served_write_timeout;
  /// Bytes of a stream that the peer has not taken; above, the connection is closed.
  std::size_t unsent_bytes_max = limits::http_served_unsent_bytes_max;
  /// The longest silence of a stream; then `quiet` is sent.
  std::chrono::milliseconds quiet_max = limits::http_served_quiet_max;
};

/// Whether a numeric address is a loopback address of this host; false for other texts.
bool is_loopback_address(const std::string& address) noexcept;

/// Listens during its lifetime.
/// Errors: throws error{invalid_config} for an invalid address, or one that is taken.
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

  std::uint16_t port() const noexcept;

private:
  struct core;
  friend class http_connection;
  std::shared_ptr<core> core_;
};

} // namespace troupe
