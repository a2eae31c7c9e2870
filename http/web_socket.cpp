// web_socket: frames, pings and bounds of a WebSocket.
//
// Invariants:
//  - one read and one write are open at most; messages leave in the order of send().
//  - every open operation holds the connection, so the stream outlives it.
#include "http/web_socket.hpp"

#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/websocket/rfc6455.hpp>
#include <boost/beast/websocket/stream.hpp>

#include <deque>
#include <optional>
#include <utility>

namespace troupe {
namespace {

namespace ws = boost::beast::websocket;
using boost::system::error_code;

class beast_socket final : public web_socket, public std::enable_shared_from_this<beast_socket> {
  static constexpr std::size_t reason_bytes_max = 123; // RFC 6455, 5.5.1

  // A completion handler that holds this and the connection; a failure ends the socket.
  template <class Then> auto held(Then then) {
    return [self = shared_from_this(), connection = connection_.lock(), then = std::move(then)](
             error_code failed, auto...) { failed ? self->end() : then(*self); };
  }

public:
  beast_socket(http_connection& of, served_stream& stream, http_socket_handler handler)
    : connection_{of.weak_from_this()},
      here_{of},
      options_{of.options()},
      handler_{std::move(handler)},
      ws_{stream} {}

  void accept(const served_request& asked, const http_headers& headers) {
    ws::stream_base::timeout patience{};
    patience.handshake_timeout = options_.read_timeout;
    patience.idle_timeout = options_.socket_idle;
    patience.keep_alive_pings = true;
    ws_.set_option(patience);
    ws_.read_message_max(options_.socket_message_bytes_max);
    ws_.set_option(ws::stream_base::decorator([headers](ws::response_type& answer) {
      for (const auto& [name, text] : headers)
        answer.insert(name, text);
    }));
    ws_.async_accept(asked, held([](beast_socket& s) {
                       if (s.handler_.opened)
                         s.handler_.opened(s.here_);
                       s.is_open_ = true;
                       s.read();
                       s.write_next();
                     }));
  }

  void send(std::string text) override {
    if (closing_)
      return;
    unsent_bytes_ += text.size();
    unsent_.push_back(std::move(text));
    if (unsent_bytes_ > options_.unsent_bytes_max)
      return end(); // the peer does not read
    if (is_open_ && unsent_.size() == 1)
      write_next();
  }

  void close(std::uint16_t code, std::string reason) override {
    if (closing_)
      return;
    closing_.emplace(static_cast<ws::close_code>(code), reason.substr(0, reason_bytes_max));
    if (is_open_ && unsent_.empty())
      write_next();
  }

private:
  void read() {
    ws_.async_read(buffer_, held([](beast_socket& s) {
                     auto text = boost::beast::buffers_to_string(s.buffer_.data());
                     s.buffer_.clear();
                     if (!s.ws_.got_text())
                       s.close(ws::close_code::unknown_data, "a text message was expected");
                     else if (!s.closing_ && s.handler_.text)
                       s.handler_.text(std::move(text));
                     s.read();
                   }));
  }

  void write_next() {
    if (!unsent_.empty()) {
      ws_.text(true);
      ws_.async_write(boost::asio::buffer(unsent_.front()), held([](beast_socket& s) {
                        s.unsent_bytes_ -= s.unsent_.front().size();
                        s.unsent_.pop_front();
                        s.write_next();
                      }));
    } else if (closing_) {
      ws_.async_close(*closing_, held([](beast_socket& s) { s.end(); }));
    }
  }

  void end() {
    if (auto connection = connection_.lock())
      connection->close();
  }

  const std::weak_ptr<http_connection> connection_;
  const http_socket here_;
  const http_listener_options& options_; // of the listener
  const http_socket_handler handler_;
  ws::stream<served_stream&> ws_;
  boost::beast::flat_buffer buffer_;
  std::deque<std::string> unsent_;
  std::size_t unsent_bytes_ = 0;
  std::optional<ws::close_reason> closing_;
  bool is_open_ = false;
};

} // namespace

std::shared_ptr<web_socket> begin_web_socket(http_connection& of, served_stream& stream,
                                             const served_request& asked,
                                             const http_headers& headers,
                                             http_socket_handler handler) {
  auto out = std::make_shared<beast_socket>(of, stream, std::move(handler));
  out->accept(asked, headers);
  return out;
}

bool asks_for_socket(const served_request& asked) {
  return ws::is_upgrade(asked);
}

} // namespace troupe
