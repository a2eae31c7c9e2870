// http_connection: one connection of a listener. It reads requests and writes answers.
#include "http/listener_core.hpp"
#include "http/request_head.hpp"
#include "http/web_socket.hpp"

#include <boost/asio/write.hpp>
#include <boost/beast/http/read.hpp>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <utility>

namespace troupe {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;

constexpr std::size_t read_bytes_max = 16u << 10; // of one read of the socket

std::string_view http_asked::header(std::string_view name) const noexcept {
  auto found = std::ranges::find_if(headers, [name](const auto& h) { return h.first == name; });
  return found == headers.end() ? std::string_view{} : std::string_view{found->second};
}
bool http_asked::has(std::string_view name) const noexcept {
  return std::ranges::any_of(headers, [name](const auto& h) { return h.first == name; });
}

http_connection::http_connection(const std::shared_ptr<http_listener::core>& of,
                                 asio::ip::tcp::socket socket,
                                 std::shared_ptr<asio::ssl::context> tls)
  : listener_{of},
    handler_{of->handler},
    options_{of->options},
    load_{of->options.load},
    stream_{std::move(socket), std::move(tls)},
    patience_{of->io},
    buffer_{options_.header_bytes_max + limits::http_served_ahead_bytes_max + 2 * read_bytes_max} {
  error_code failed;
  auto peer = stream_.next_layer().remote_endpoint(failed);
  if (!failed)
    peer_ = peer.address().to_string();
}

http_connection::~http_connection() = default;

// Closes the connection when this time passes first.
void http_connection::expect_within(std::chrono::milliseconds patience) {
  patience_.expires_after(patience);
  patience_.async_wait([weak = weak_from_this()](error_code stopped) {
    auto self = weak.lock();
    if (!stopped && self && self->patience_.expiry() <= clock::now())
      self->close();
  });
}

void http_connection::expect_nothing() {
  patience_.expires_at(clock::time_point::max());
}

// ---- reading ----------------------------------------------------------------------------------

void http_connection::after_handshake(void (http_connection::*act)(error_code)) {
  if (!stream_.is_secure())
    return (this->*act)({});
  expect_within(options_.read_timeout);
  stream_.async_handshake(then(act));
}

void http_connection::begin_reading() {
  after_handshake(&http_connection::read_head);
}

void http_connection::turn_away() {
  after_handshake(&http_connection::refuse_for_load);
}

void http_connection::read_head(error_code failed) {
  if (failed)
    return close();
  enter(stage::asks);
  ++turn_;
  searched_ = 0;
  more_.clear();
  answered_ = {};
  gone_ = {};
  expect_within(options_.read_timeout); // until the request is whole
  if (!is_reading_)
    look_for_head();
  else if (buffer_.size() > 0) // the request has begun, so take_bytes() continues with it
    stream_.next_layer().cancel();
}

void http_connection::look_for_head() {
  auto data = buffer_.data();
  std::string_view bytes{static_cast<const char*>(data.data()), data.size()};
  if (searched_ == 0 && bytes.starts_with("\r\n")) { // some clients end a body with it
    buffer_.consume(2);
    return look_for_head();
  }
  auto size = size_of_head(bytes, searched_);
  searched_ = bytes.size();
  if (size > options_.header_bytes_max || (size == 0 && bytes.size() > options_.header_bytes_max))
    return refuse(own_answer(431));
  if (size > 0 && !is_unambiguous_head(bytes.substr(0, size)))
    return refuse(own_answer(400));
  if (size > 0)
    return parse_head(size);
  if (bytes != "\r" && !may_begin_request(bytes))
    return refuse(own_answer(400));
  read_some();
}

void http_connection::read_some() {
  is_reading_ = true;
  stream_.async_read_some(buffer_.prepare(read_bytes_max),
                          [self = shared_from_this()](error_code failed, std::size_t count) {
                            self->take_bytes(failed, count);
                          });
}

void http_connection::take_bytes(error_code failed, std::size_t count) {
  is_reading_ = false;
  bool is_stopped = failed == asio::error::operation_aborted && is_open(); // by read_head()
  if (failed && !is_stopped)
    return close();
  buffer_.commit(count);
  asks() ? look_for_head() : watch();
}

// Reads ahead while an answer is awaited or sent, so that the peer's end is noticed.
void http_connection::watch() {
  if (!is_reading_ && !wants_socket_ && buffer_.size() <= limits::http_served_ahead_bytes_max)
    read_some();
}

void http_connection::parse_head(std::size_t bytes) {
  parser_.emplace();
  parser_->header_limit(static_cast<std::uint32_t>(bytes));
  parser_->body_limit(options_.body_bytes_max);
  error_code failed;
  auto used = parser_->put(asio::buffer(buffer_.data(), bytes), failed);
  buffer_.consume(used);
  if (!failed && !parser_->is_header_done())
    failed = http::error::bad_field;
  failed ? refuse(failed) : take_head();
}

http_asked http_connection::head_of() const {
  const auto& message = parser_->get();
  http_asked out{.method = std::string{message.method_string()},
                 .target = std::string{message.target()},
                 .peer = peer_,
                 .wants_socket = asks_for_socket(message)};
  for (const auto& field : message) {
    std::string name{field.name_string()};
    std::ranges::transform(name, name.begin(), [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    out.headers.emplace_back(std::move(name), std::string{field.value()});
  }
  return out;
}

void http_connection::take_head() {
  keeps_ = parser_->get().keep_alive();
  is_chunked_ = parser_->get().version() >= 11;
  asked_ = head_of();
  is_head_ = asked_.method == "HEAD";
  is_whole_ = false;
  wants_socket_ = asked_.wants_socket;
  if (auto no = handler_.screen(asked_))
    return refuse(*no);
  if (asked_.header("expect") == "100-continue") {
    static constexpr std::string_view go_on = "HTTP/1.1 100 Continue\r\n\r\n";
    asio::async_write(stream_, asio::buffer(go_on), then(&http_connection::read_body));
  } else {
    read_body({});
  }
}

void http_connection::read_body(error_code failed) {
  if (failed)
    return close();
  if (parser_->chunked())
    take_chunks();
  else
    http::async_read(stream_, buffer_, *parser_, then(&http_connection::take_body));
}

// Beast asserts that a part of the last chunk has as many bytes as a whole one. Each body in chunks
// ends with so many, so the parser may wait for them.
void http_connection::take_chunks() {
  constexpr std::size_t last_chunk_bytes = 5; // "0\r\n\r\n"
  error_code failed;
  parser_->eager(true);
  if (buffer_.size() >= last_chunk_bytes)
    buffer_.consume(parser_->put(buffer_.data(), failed));
  if ((failed && failed != http::error::need_more) || parser_->is_done())
    return take_body(failed);
  if (buffer_.size() > options_.header_bytes_max) // a size with extensions, or the trailer
    return refuse(own_answer(431));
  stream_.async_read_some(buffer_.prepare(read_bytes_max),
                          [self = shared_from_this()](error_code stopped, std::size_t count) {
                            if (stopped)
                              return self->close();
                            self->buffer_.commit(count);
                            self->take_chunks();
                          });
}

void http_connection::take_body(error_code failed) {
  if (failed)
    return refuse(failed);
  asked_.body = std::move(parser_->get().body()); // fields after the body are ignored
  expect_nothing();
  enter(stage::waits);
  watch();
  try {
    handler_.answer(std::move(asked_), http_responder{*this});
  } catch (const std::exception&) { // a failure of one connection must not end the others
    send(own_answer(500));
  }
}

http_whole http_connection::own_answer(int status) const {
  return handler_.refusal ? handler_.refusal(status) : http_whole{.status = status};
}

void http_connection::refuse_for_load(error_code failed) {
  failed ? close() : refuse(own_answer(503));
}

// Answers an invalid request, or one beyond its bounds.
void http_connection::refuse(error_code why) {
  int status = why == http::error::header_limit || why == http::error::buffer_overflow ? 431
               : why == http::error::body_limit                                        ? 413
                                                                                       : 400;
  bool is_gone = why.category() != http::make_error_code(http::error::bad_method).category()
                 || why == http::error::end_of_stream || why == http::error::partial_message;
  is_gone ? close() : refuse(own_answer(status));
}

// Refuses the request; bytes that the peer still sends are skipped.
void http_connection::refuse(const http_whole& answer) {
  keeps_ = false;
  is_refused_ = true;
  enter(stage::waits);
  send(answer);
}

// Closing a socket while received bytes wait in it would discard the answer, so they are read
// first.
void http_connection::pass_over(error_code failed) {
  if (failed)
    return close();
  buffer_.clear();
  stream_.async_read_some(buffer_.prepare(read_bytes_max), then(&http_connection::pass_over));
}

// Counts this connection as one of the next stage, and no more as one of the stage before.
void http_connection::count(stage next) {
  auto counter = [this](stage of) -> std::atomic<std::size_t>* {
    return of == stage::streams ? &load_->streams : of == stage::speaks ? &load_->sockets : nullptr;
  };
  if (auto* before = counter(counted_))
    --*before;
  if (auto* now = counter(next))
    ++*now;
  counted_ = next;
}

void http_connection::enter(stage next) {
  count(next);
  state_ = next;
}

void http_connection::close() {
  auto self = shared_from_this(); // the listener may hold the last handle
  count(stage::ends);
  error_code ignored;
  patience_.cancel();
  stop_beats();
  socket_.reset();
  auto& socket = stream_.next_layer();
  ignored = socket.shutdown(asio::ip::tcp::socket::shutdown_both, ignored);
  ignored = socket.close(ignored);
  say_status(499);
  if (auto gone = std::exchange(gone_, {}))
    gone();
  if (auto listener = listener_.lock())
    listener->forget(self);
}

// Closes the connection after the last byte of an answer.
void http_connection::finish() {
  if (!stream_.is_secure())
    return close();
  expect_within(options_.write_timeout);
  stream_.async_shutdown([self = shared_from_this()](error_code) { self->close(); });
}

void http_connection::end_stream() {
  if (socket_)
    socket_->close(1001, "the server ends");
  else
    end_or_cut();
}

void http_connection::end_or_cut() {
  if (is_streaming() && is_whole_)
    cut();
  else
    end();
}

void http_connection::cut() {
  if (state_ != stage::speaks)
    gone_ = {};
  close();
}

// ---- answering --------------------------------------------------------------------------------

void http_connection::with(http_headers more, std::function<void(int)> answered) {
  more_ = std::move(more);
  answered_ = std::move(answered);
}

void http_connection::say_status(int status) {
  if (auto answered = std::exchange(answered_, {}))
    answered(status);
}

std::string http_connection::head_text(int status, const http_headers& headers) {
  auto reason = http::obsolete_reason(static_cast<http::status>(status));
  std::string out = "HTTP/1.1 " + std::to_string(status) + ' ' + std::string{reason} + "\r\n";
  if (!keeps_)
    out += "Connection: close\r\n";
  auto add = [&out](const http_headers& all) {
    for (const auto& [name, text] : all)
      out += name + ": " + text + "\r\n";
  };
  add(headers);
  add(more_);
  say_status(status);
  return out;
}

void http_connection::send(const http_whole& answer) {
  if (is_answered())
    return;
  auto text = head_text(answer.status, answer.headers);
  if (answer.status != 204)
    text += "Content-Length: " + std::to_string(answer.body.size()) + "\r\n";
  text += "\r\n";
  if (!is_head_)
    text += answer.body;
  enter(stage::ends);
  gone_ = {};
  write(std::move(text));
}

void http_connection::begin(int status, const http_headers& headers, http_beat beat) {
  if (is_answered())
    return;
  keeps_ = keeps_ && is_chunked_;
  auto text = head_text(status, headers);
  text += is_chunked_ ? "Transfer-Encoding: chunked\r\n\r\n" : "\r\n";
  enter(stage::streams);
  beat_ = std::move(beat);
  write(std::move(text));
  if (beat_.is_steady && is_open())
    beat_after(clock::now());
}

void http_connection::piece(const std::string& bytes) {
  if (!is_streaming() || bytes.empty() || is_head_)
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
  enter(stage::ends);
  gone_ = {};
  stop_beats();
  write(is_chunked_ && !is_head_ ? "0\r\n\r\n" : "");
}

// The wheel has a plain pointer to this: close() and end() take it out.
void http_connection::beat_after(clock::time_point last) {
  auto listener = listener_.lock();
  if (beat_.text.empty() || !listener)
    return;
  stop_beats();
  next_beat_ = listener->beats.add(next_beat(last, beat_.every), [this] { beat(); });
}

void http_connection::stop_beats() {
  auto listener = listener_.lock();
  if (auto place = std::exchange(next_beat_, std::nullopt); place && listener)
    listener->beats.remove(*place);
}

// A beat that only breaks a silence waits again when bytes left since it was set.
void http_connection::beat() {
  auto self = shared_from_this(); // a write that fails closes it
  next_beat_.reset();
  auto now = clock::now();
  bool is_sent = unsent_.empty();
  if (bool is_early = is_sent && sent_at_ + beat_.every > now; !beat_.is_steady && is_early)
    return beat_after(sent_at_);
  if (beat_.is_steady || is_sent)
    piece(beat_.text);
  if (is_open())
    beat_after(now);
}

void http_connection::upgrade(http_socket_handler handler, const http_headers& headers) {
  if (is_answered())
    return;
  if (!wants_socket_ || buffer_.size() > 0) { // no frame may come before the answer
    keeps_ = false;
    return send({.status = wants_socket_ ? 400 : 426});
  }
  enter(stage::speaks);
  gone_ = handler.gone;
  auto all = headers;
  all.insert(all.end(), more_.begin(), more_.end());
  say_status(101);
  socket_ = begin_web_socket(*this, stream_, parser_->get(), all, std::move(handler));
}

// ---- writing ----------------------------------------------------------------------------------

void http_connection::write(std::string bytes) {
  if (is_streaming() && unsent_bytes_ + bytes.size() > options_.unsent_bytes_max)
    return close(); // the peer does not read
  if (is_streaming() && unsent_.empty()) {
    sent_ = write_at_once(bytes);
    if (sent_ == bytes.size()) {
      sent_ = 0;
      return note_sent();
    }
  }
  unsent_bytes_ += bytes.size();
  unsent_.push_back(std::move(bytes));
  if (unsent_.size() == 1)
    write_next();
}

// The bytes that the system takes without waiting. Most pieces of a stream fit into its buffer:
// they need no time-out and no handler. A failure shows itself again in the write that follows.
std::size_t http_connection::write_at_once(std::string_view bytes) {
  if (stream_.is_secure() || bytes.empty())
    return 0;
  error_code ignored;
  return stream_.next_layer().write_some(asio::buffer(bytes), ignored);
}

// For streams alone.
void http_connection::note_sent() {
  sent_at_ = clock::now();
  if (!beat_.is_steady && !next_beat_)
    beat_after(sent_at_);
}

void http_connection::write_next() {
  expect_within(options_.write_timeout);
  auto left = asio::buffer(unsent_.front()) + sent_;
  stream_.async_write_some(left, [self = shared_from_this()](error_code failed, std::size_t count) {
    self->take_written(count, failed);
  });
}

void http_connection::take_written(std::size_t count, error_code failed) {
  if (failed)
    return close();
  sent_ += count;
  if (sent_ < unsent_.front().size())
    return write_next();
  sent_ = 0;
  unsent_bytes_ -= unsent_.front().size();
  unsent_.pop_front();
  if (!unsent_.empty())
    return write_next();
  if (is_refused_ && !is_draining()) { // as long as the write's time-out
    enter(stage::asks);
    failed = stream_.next_layer().shutdown(asio::ip::tcp::socket::shutdown_send, failed);
    return pass_over(failed);
  }
  expect_nothing();
  if (state_ == stage::streams)
    note_sent();
  else if (state_ == stage::ends)
    keeps_ && !is_draining() ? read_head() : finish();
}

} // namespace troupe
