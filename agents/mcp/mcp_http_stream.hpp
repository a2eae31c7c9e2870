// mcp_http_stream: the server's own stream of a client over HTTP: a GET whose events come besides
// answers. It is opened again when it ended.
#pragma once

#include "http/loop.hpp"
#include "http/sse.hpp"

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace troupe {

/// Invariants:
///  - one transfer at a time; callbacks run on the loop's thread.
///  - it gives up after limits::mcp_stream_retries_max ends in a row without an event, and at once
///    when the server refuses the request (status 405 …).
/// Thread: any.
class mcp_http_stream : public std::enable_shared_from_this<mcp_http_stream> {
public:
  /// `request` makes the GET; `hear` receives the data of an event.
  mcp_http_stream(std::shared_ptr<http_loop> loop, std::function<http_request()> request,
                  std::function<void(std::string_view)> hear)
    : loop_{std::move(loop)},
      request_{std::move(request)},
      hear_{std::move(hear)} {}
  mcp_http_stream(const mcp_http_stream&) = delete;
  mcp_http_stream& operator=(const mcp_http_stream&) = delete;

  void open();
  /// Ends the stream, for good.
  void close();

private:
  void take_head();
  void take_body();
  void open_later();
  void then_at(http_sign sign, void (mcp_http_stream::*act)());
  http_transfer_ptr current() const;

  const std::shared_ptr<http_loop> loop_;
  const std::function<http_request()> request_;
  const std::function<void(std::string_view)> hear_;

  mutable std::mutex mutex_;
  http_transfer_ptr transfer_;
  std::string last_id_; // of an event
  bool is_closed_ = false;

  // used on the loop's thread
  std::optional<sse_decoder> events_;
  std::optional<std::chrono::milliseconds> asked_wait_; // the server's
  unsigned failures_ = 0;                               // ends in a row
};

} // namespace troupe
