// http_loop: all HTTP transfers of a process, on one thread with libcurl's multi interface and
// epoll. The thread starts with the first transfer, and ends when the last holder drops the loop.
#pragma once

#include "http/transfer.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace troupe {

/// The most connections at once, above which transfers wait; and the most that are kept for later.
struct http_loop_bounds {
  long connections_max = limits::http_connections_max;
  long idle_connections_max = limits::http_idle_connections_max;
};

class http_loop {
public:
  using clock = std::chrono::steady_clock;

  /// The process's loop, or a new one when no loop is held. A frequent user should hold it, so that
  /// connections are reused.
  static std::shared_ptr<http_loop> shared();

  explicit http_loop(http_loop_bounds bounds = {});
  http_loop(const http_loop&) = delete;
  http_loop& operator=(const http_loop&) = delete;
  /// Ends running transfers as given_up.
  ~http_loop();

  /// Thread: any. No call waits for the loop's thread.
  void start(http_transfer_ptr transfer);
  /// Ends the transfer as given_up, unless it ended before.
  void cancel(const http_transfer_ptr& transfer);
  /// The reader took all waiting bytes.
  void go_on(const http_transfer_ptr& transfer);
  /// Ends the transfer as timed_out at `when`, with the message `what`; nullopt removes the
  /// deadline.
  void expect(const http_transfer_ptr& transfer, std::optional<clock::time_point> when,
              std::string what);
  /// Calls `then` on the loop's thread at `when`; never when the loop ends before. `then` must be
  /// short.
  void at(clock::time_point when, std::function<void()> then);

  class work;

private:
  std::shared_ptr<work> work_;
};

} // namespace troupe
