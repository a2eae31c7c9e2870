// http client: HTTP for coroutine bodies, and for threads that may wait. One thread of the process
// carries all transfers (http/loop.hpp). A body that waits holds no thread, and resumes in its own
// lane.
//
//     auto asked = http_fetch(ctx, std::move(request));    the whole response
//     auto response = co_await asked;
//
//     http_call call{ctx, std::move(request)};             or piece by piece
//     auto answered = call.head();
//     auto head = co_await answered;
//     for (;;) {
//       auto more = call.more();
//       auto piece = co_await more;                        empty: the end
//       …
#pragma once

#include "http/loop.hpp"

#include <troupe/context.hpp>
#include <troupe/coro.hpp>

#include <utility>

namespace troupe {

/// A request of one coroutine body; it is on its way during the lifetime of this object. It is
/// given up when the body's attempt is (cancelled, timed out), and when this object is destroyed.
/// Without a context, the caller's thread waits, and the coroutines of this class never suspend.
/// Thread: that of the body.
class http_call {
public:
  /// Sends the request. A server that sends faster than the body reads has to wait.
  /// Errors: throws http_error not_sent.
  http_call(const context& ctx, http_request request) : http_call{&ctx, std::move(request)} {}
  http_call(const context* ctx, http_request request);
  http_call(const http_call&) = delete;
  http_call& operator=(const http_call&) = delete;
  ~http_call();

  /// Another body reads from now on; null: a thread that may wait.
  void read_in(const context* ctx) noexcept { ctx_ = ctx; }

  /// Status and headers, as soon as they are there, whatever the status.
  /// Errors: throws http_error.
  coro<http_head> head();
  /// The bytes of the body since the last call; empty at its end.
  /// Errors: throws http_error, after all bytes that came before it.
  coro<std::string> more();

  /// Ends the transfer with a time-out whose message is `what`, unless expect_nothing() is called
  /// before.
  void expect(std::chrono::milliseconds within, std::string what);
  void expect_nothing();
  /// Called when the reader has all it wants: the rest may end by itself within this time, so that
  /// the connection can be reused. The call must not be used afterwards.
  void let_end(std::chrono::milliseconds within);

private:
  coro<void> until(http_sign sign);

  const context* ctx_;
  std::shared_ptr<http_loop> loop_;
  http_transfer_ptr transfer_;
};

/// The whole response, whatever its status. Without a context, as http_call.
/// Errors: throws http_error.
coro<http_response> http_fetch(const context* ctx, http_request request);
inline coro<http_response> http_fetch(const context& ctx, http_request request) {
  return http_fetch(&ctx, std::move(request));
}

/// The same for a thread that may wait. Blocks: until the response or a time-out of the request.
http_response http_fetch_and_wait(http_request request);

} // namespace troupe
