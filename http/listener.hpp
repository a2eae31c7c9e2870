// The other side of HTTP: a server whose connections one thread carries. It knows framing, bounds
// and time-outs; what is asked and answered is its handler's.
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

/// A request. Shape: names of headers are in lower case; of several with one name, the first.
struct http_asked {
  std::string method;
  std::string target;
  http_headers headers = {};
  std::string body = {};

  /// Empty when there is none.
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

/// Where a request is answered: by send(), or by begin(), any number of pieces, and end(). A
/// handle; once nobody holds one, an answer that was not given is status 500.
/// Thread: any. What comes too late, or to a peer that is gone, is dropped.
class http_responder {
public:
  explicit http_responder(http_connection& to);

  void send(http_whole answer) const;
  /// Status 200. `quiet` is said whenever nothing was for http_listener_options::quiet_max.
  void begin(http_headers headers, std::string quiet) const;
  void piece(std::string bytes) const;
  void end() const;

private:
  struct last_one;
  std::shared_ptr<last_one> held_;
};

/// Both are called on the thread that carries all connections, and must be short.
struct http_handler {
  /// By its head alone, the body not yet read: nothing, or why it is refused; then the connection
  /// is closed.
  std::function<std::optional<http_whole>(const http_asked& head)> screen;
  std::function<void(http_asked request, http_responder to)> answer;
};

struct http_listener_options {
  std::string address = "127.0.0.1";                                   ///< in numbers
  std::uint16_t port = 0;                                              ///< 0: any
  std::size_t body_bytes_max = 0;                                      ///< of a request; 413
  std::size_t header_bytes_max = limits::http_served_header_bytes_max; ///< likewise; 431
  std::size_t connections_max = limits::http_served_connections_max;   ///< others wait
  /// For a whole request, also for the next one of a connection; then that is closed.
  std::chrono::milliseconds read_timeout = limits::http_served_read_timeout;
  /// While the peer takes nothing; likewise.
  std::chrono::milliseconds write_timeout = limits::http_served_write_timeout;
  /// Of a stream on which nothing is said; then it says that it is there.
  std::chrono::milliseconds quiet_max = limits::http_served_quiet_max;
};

/// Whether an address in numbers is one of this host alone; false for what is none.
bool is_loopback_address(const std::string& address) noexcept;

/// Listens from when it is made until it is destroyed.
/// Errors: throws error{invalid_config} for an address that is none, or is taken.
class http_listener {
public:
  http_listener(const http_listener_options& options, http_handler handler);
  http_listener(const http_listener&) = delete;
  http_listener& operator=(const http_listener&) = delete;
  /// Closes all connections.
  ~http_listener();

  /// Accepts no more, and closes each connection when it has its answer.
  /// Blocks: so long at most. Whether all have theirs.
  bool drain(std::chrono::milliseconds at_most);

  std::uint16_t port() const noexcept;

private:
  struct core;
  friend class http_connection;
  std::shared_ptr<core> core_;
};

} // namespace troupe
