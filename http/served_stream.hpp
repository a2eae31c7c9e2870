// served_stream: the bytes of a served connection, plain or within TLS.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/role.hpp>

#include <memory>
#include <optional>
#include <utility>

namespace troupe {

/// An AsyncStream of Asio.
class served_stream {
public:
  using socket = boost::asio::ip::tcp::socket;
  using executor_type = socket::executor_type;

  /// Speaks TLS when `tls` is there.
  served_stream(socket from, std::shared_ptr<boost::asio::ssl::context> tls)
    : socket_{std::move(from)},
      context_{std::move(tls)} {
    if (context_)
      tls_.emplace(socket_, *context_);
  }

  bool is_secure() const noexcept { return tls_.has_value(); }
  executor_type get_executor() { return socket_.get_executor(); }
  socket& next_layer() noexcept { return socket_; }
  const socket& next_layer() const noexcept { return socket_; }

  template <class Buffers, class Handler>
  void async_read_some(const Buffers& into, Handler&& then) {
    if (tls_)
      tls_->async_read_some(into, std::forward<Handler>(then));
    else
      socket_.async_read_some(into, std::forward<Handler>(then));
  }
  template <class Buffers, class Handler>
  void async_write_some(const Buffers& from, Handler&& then) {
    if (tls_)
      tls_->async_write_some(from, std::forward<Handler>(then));
    else
      socket_.async_write_some(from, std::forward<Handler>(then));
  }
  /// Only when it is secure.
  template <class Handler> void async_handshake(Handler&& then) {
    tls_->async_handshake(boost::asio::ssl::stream_base::server, std::forward<Handler>(then));
  }
  /// Says that no more bytes follow. Only when it is secure.
  template <class Handler> void async_shutdown(Handler&& then) {
    tls_->async_shutdown(std::forward<Handler>(then));
  }

  // Beast closes a WebSocket's stream by these.
  friend void teardown(boost::beast::role_type, served_stream& s, boost::system::error_code& e) {
    e = s.socket_.shutdown(socket::shutdown_both, e);
  }
  template <class Handler>
  friend void async_teardown(boost::beast::role_type, served_stream& s, Handler&& then) {
    boost::system::error_code failed;
    failed = s.socket_.shutdown(socket::shutdown_send, failed);
    boost::asio::post(s.get_executor(),
                      [then = std::forward<Handler>(then), failed]() mutable { then(failed); });
  }

private:
  socket socket_;
  std::shared_ptr<boost::asio::ssl::context> context_;
  std::optional<boost::asio::ssl::stream<socket&>> tls_;
};

} // namespace troupe
