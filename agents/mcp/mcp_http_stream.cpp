// mcp_http_stream: reading the events, and opening the stream again.
#include "agents/mcp/mcp_http_stream.hpp"

#include <troupe/limits.hpp>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

namespace troupe {
namespace {

// The wait before the stream is opened again.
std::chrono::milliseconds wait_before(unsigned failures,
                                      std::optional<std::chrono::milliseconds> asked) {
  auto wait = std::min(asked.value_or(limits::mcp_stream_retry_first),
                       limits::mcp_stream_retry_max);
  for (unsigned i = 1; i < failures && wait < limits::mcp_stream_retry_max; ++i)
    wait *= 2;
  return std::clamp(wait, std::chrono::milliseconds{10}, limits::mcp_stream_retry_max);
}

} // namespace

void mcp_http_stream::then_at(http_sign sign, void (mcp_http_stream::*act)()) {
  if (auto transfer = current())
    transfer->when(sign, [weak = weak_from_this(), act] {
      if (auto self = weak.lock())
        (*self.*act)();
    });
}

http_transfer_ptr mcp_http_stream::current() const {
  std::scoped_lock lock{mutex_};
  return transfer_;
}

void mcp_http_stream::open() {
  auto request = request_();
  request.method = "GET";
  request.headers.emplace_back("Accept", "text/event-stream");
  request.body_bytes_max = std::numeric_limits<std::size_t>::max(); // its events are bounded
  request.timeouts.total = std::chrono::milliseconds{0};
  http_transfer_ptr transfer;
  {
    std::scoped_lock lock{mutex_};
    if (is_closed_)
      return;
    if (!last_id_.empty() && last_id_.find_first_of("\r\n") == last_id_.npos)
      request.headers.emplace_back("Last-Event-ID", last_id_);
    try {
      check_request(request);
    } catch (const error&) {
      return; // the id of an event is not a header
    }
    transfer = std::make_shared<http_transfer>(std::move(request), false);
    transfer_ = transfer;
  }
  then_at(http_sign::head, &mcp_http_stream::take_head);
  loop_->start(transfer);
}

void mcp_http_stream::close() {
  http_transfer_ptr transfer;
  {
    std::scoped_lock lock{mutex_};
    is_closed_ = true;
    transfer.swap(transfer_);
  }
  if (transfer)
    loop_->cancel(transfer);
}

void mcp_http_stream::take_head() {
  auto transfer = current();
  if (!transfer)
    return;
  events_.emplace(sse_bounds{limits::mcp_message_bytes_max, limits::mcp_message_bytes_max});
  try {
    auto head = transfer->head();
    if (head.status != 200 || !head.header("content-type").starts_with("text/event-stream"))
      return close(); // this server has no stream of its own
  } catch (const error&) {
    return open_later();
  }
  then_at(http_sign::data, &mcp_http_stream::take_body);
}

void mcp_http_stream::take_body() {
  auto transfer = current();
  if (!transfer)
    return;
  bool had_to_wait = false;
  std::string piece;
  try {
    piece = transfer->take(had_to_wait);
  } catch (const error&) {
    return open_later();
  }
  if (piece.empty())
    return open_later();
  if (had_to_wait)
    loop_->go_on(transfer);
  std::vector<sse_event> events;
  bool fits = bool(events_->feed(piece, events));
  for (const auto& event : events) {
    failures_ = 0;
    if (event.id.size() <= limits::mcp_uri_bytes_max) {
      std::scoped_lock lock{mutex_};
      last_id_ = event.id;
    }
    if (!event.data.empty() && (event.type.empty() || event.type == "message"))
      hear_(event.data);
  }
  if (!fits)
    return close();
  then_at(http_sign::data, &mcp_http_stream::take_body);
}

void mcp_http_stream::open_later() {
  if (events_ && events_->retry())
    asked_wait_ = events_->retry();
  if (++failures_ > limits::mcp_stream_retries_max)
    return close();
  loop_->at(http_loop::clock::now() + wait_before(failures_, asked_wait_),
            [weak = weak_from_this()] {
              if (auto self = weak.lock())
                self->open();
            });
}

} // namespace troupe
