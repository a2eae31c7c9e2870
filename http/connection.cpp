// http_connection: one connection of a listener. It reads requests and writes answers.
#include "http/listener_core.hpp"

#include <boost/asio/write.hpp>
#include <boost/beast/http/read.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

#include <sys/socket.h>

namespace troupe {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;

std::string_view http_asked::header(std::string_view name) const noexcept {
  auto found = std::ranges::find_if(headers, [name](const auto& h) { return h.first == name; });
  return found == headers.end() ? std::string_view{} : std::string_view{found->second};
}
bool http_asked::has(std::string_view name) const noexcept {
  return std::ranges::any_of(headers, [name](const auto& h) { return h.first == name; });
}

void http_connection::read_head() {
  state_ = stage::asks;
  ++turn_;
  parser_.emplace();
  parser_->header_limit(static_cast<std::uint32_t>(options_.header_bytes_max));
  parser_->body_limit(options_.body_bytes_max);
  stream_.expires_after(options_.read_timeout); // until the request is whole
  http::async_read_header(stream_, buffer_, *parser_, then(&http_connection::take_head));
}

http_asked http_connection::head_of() const {
  const auto& message = parser_->get();
  http_asked out{.method = std::string{message.method_string()},
                 .target = std::string{message.target()}};
  for (const auto& field : message) {
    std::string name{field.name_string()};
    std::ranges::transform(name, name.begin(), [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    out.headers.emplace_back(std::move(name), std::string{field.value()});
  }
  return out;
}

void http_connection::take_head(error_code failed) {
  if (failed)
    return refuse(failed);
  keeps_ = parser_->get().keep_alive();
  is_chunked_ = parser_->get().version() >= 11;
  auto head = head_of();
  if (auto no = handler_.screen(head))
    return refuse(std::move(*no));
  if (head.header("expect") == "100-continue") {
    static constexpr std::string_view go_on = "HTTP/1.1 100 Continue\r\n\r\n";
    asio::async_write(stream_, asio::buffer(go_on), then(&http_connection::read_body));
  } else {
    read_body({});
  }
}

void http_connection::read_body(error_code failed) {
  if (failed)
    return close();
  http::async_read(stream_, buffer_, *parser_, then(&http_connection::take_body));
}

void http_connection::take_body(error_code failed) {
  if (failed)
    return refuse(failed);
  auto request = head_of();
  request.body = std::move(parser_->get().body());
  stream_.expires_never();
  state_ = stage::waits;
  watch();
  try {
    handler_.answer(std::move(request), http_responder{*this});
  } catch (const std::exception&) { // a failure of one connection must not end the others
    send({.status = 500});
  }
}

// Answers an invalid request, or one beyond its bounds.
void http_connection::refuse(error_code why) {
  int status = why == http::error::header_limit ? 431 : why == http::error::body_limit ? 413 : 400;
  bool is_gone = why.category() != http::make_error_code(http::error::bad_method).category()
                 || why == http::error::end_of_stream || why == http::error::partial_message;
  is_gone ? close() : refuse(http_whole{.status = status});
}

// Refuses the request; bytes that the peer still sends are skipped.
void http_connection::refuse(http_whole answer) {
  keeps_ = false;
  is_refused_ = true;
  state_ = stage::waits;
  send(std::move(answer));
}

// Closing a socket while received bytes wait in it would discard the answer, so they are read
// first.
void http_connection::pass_over(error_code failed) {
  if (failed)
    return close();
  buffer_.clear();
  stream_.async_read_some(buffer_.prepare(16u << 10), then(&http_connection::pass_over));
}

// Notices, while waiting for an answer, that the peer is gone.
void http_connection::watch() {
  if (std::exchange(is_watched_, true))
    return;
  stream_.socket().async_wait(
    asio::ip::tcp::socket::wait_read, [self = shared_from_this()](error_code no) {
      self->is_watched_ = false;
      if (no || self->state_ == stage::asks)
        return;
      char byte = 0;
      auto got = ::recv(self->stream_.socket().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
      if (got < 0 && (errno == EAGAIN || errno == EINTR))
        self->watch(); // these bytes were the request, which is read by now
      else if (got <= 0)
        self->close();
    });
}

void http_connection::close() {
  error_code ignored;
  quiet_timer_.cancel();
  ignored = stream_.socket().shutdown(asio::ip::tcp::socket::shutdown_both, ignored);
  stream_.close();
  if (auto listener = listener_.lock())
    listener->forget(shared_from_this());
}

// ---- answering ------------------------------------------------------------------------------

std::string http_connection::status_line(int status) const {
  auto reason = http::obsolete_reason(static_cast<http::status>(status));
  std::string out = "HTTP/1.1 " + std::to_string(status) + ' ' + std::string{reason} + "\r\n";
  return keeps_ ? out : out + "Connection: close\r\n";
}

void http_connection::send(http_whole answer) {
  if (is_answered())
    return;
  auto text = status_line(answer.status);
  for (const auto& [name, what] : answer.headers)
    text += name + ": " + what + "\r\n";
  if (answer.status != 204)
    text += "Content-Length: " + std::to_string(answer.body.size()) + "\r\n";
  text += "\r\n" + answer.body;
  state_ = stage::ends;
  write(std::move(text));
}

void http_connection::begin(const http_headers& headers, std::string quiet) {
  if (is_answered())
    return;
  keeps_ = keeps_ && is_chunked_;
  auto text = status_line(200);
  for (const auto& [name, what] : headers)
    text += name + ": " + what + "\r\n";
  text += is_chunked_ ? "Transfer-Encoding: chunked\r\n\r\n" : "\r\n";
  state_ = stage::streams;
  quiet_ = std::move(quiet);
  write(std::move(text));
}

void http_connection::piece(const std::string& bytes) {
  if (!is_streaming() || bytes.empty())
    return;
  if (!is_chunked_)
    return write(bytes);
  char size[24];
  std::snprintf(size, sizeof size, "%zx\r\n", bytes.size());
  write(size + bytes + "\r\n");
}

void http_connection::end() {
  if (!is_streaming())
    return;
  state_ = stage::ends;
  write(is_chunked_ ? "0\r\n\r\n" : "");
}

void http_connection::say_when_quiet() {
  quiet_timer_.expires_after(options_.quiet_max);
  quiet_timer_.async_wait([weak = weak_from_this()](error_code stopped) {
    auto self = weak.lock();
    if (!stopped && self && self->is_streaming())
      self->piece(self->quiet_);
  });
}

void http_connection::write(std::string bytes) {
  if (is_streaming() && unsent_bytes_ + bytes.size() > options_.unsent_bytes_max)
    return close(); // the peer does not read
  unsent_bytes_ += bytes.size();
  unsent_.push_back(std::move(bytes));
  if (unsent_.size() == 1)
    write_next();
}

void http_connection::write_next() {
  stream_.expires_after(options_.write_timeout);
  auto left = asio::buffer(unsent_.front()) + sent_;
  stream_.async_write_some(left, [self = shared_from_this()](error_code failed, std::size_t n) {
    self->sent_ += n;
    self->written(failed);
  });
}

void http_connection::written(error_code failed) {
  if (failed)
    return close();
  if (sent_ < unsent_.front().size())
    return write_next();
  sent_ = 0;
  unsent_bytes_ -= unsent_.front().size();
  unsent_.pop_front();
  if (!unsent_.empty())
    return write_next();
  if (is_refused_ && !is_draining()) { // as long as the write's time-out
    state_ = stage::asks;
    failed = stream_.socket().shutdown(asio::ip::tcp::socket::shutdown_send, failed);
    return pass_over(failed);
  }
  stream_.expires_never();
  if (state_ == stage::streams)
    say_when_quiet();
  else if (state_ == stage::ends)
    keeps_ && !is_draining() ? read_head() : close();
}

} // namespace troupe
