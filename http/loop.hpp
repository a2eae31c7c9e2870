// All HTTP transfers of a process: one thread with libcurl's multi interface on epoll. It starts
// with the first transfer, and ends when nobody holds the loop any more.
#pragma once

#include "http/transfer.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <string>

namespace troupe {

/// Connections at once, beyond which transfers wait; and those kept for later.
struct http_loop_bounds {
  long connections_max = limits::http_connections_max;
  long idle_connections_max = limits::http_idle_connections_max;
};

class http_loop {
public:
  using clock = std::chrono::steady_clock;

  /// The process's loop, or a new one when nobody has it. Whoever sends often holds it, so that
  /// connections are used again.
  static std::shared_ptr<http_loop> shared();

  explicit http_loop(http_loop_bounds bounds = {});
  http_loop(const http_loop&) = delete;
  http_loop& operator=(const http_loop&) = delete;
  /// Transfers that still run end as given_up.
  ~http_loop();

  /// Thread: any. None waits for the loop's thread.
  void start(http_transfer_ptr transfer);
  /// Ends it as given_up, unless it ended before.
  void cancel(const http_transfer_ptr& transfer);
  /// The reader took what there was.
  void go_on(const http_transfer_ptr& transfer);
  /// Ends it as timed_out at `when`, saying `what`; nothing: not any more.
  void expect(const http_transfer_ptr& transfer, std::optional<clock::time_point> when,
              std::string what);

  class work;

private:
  std::shared_ptr<work> work_;
};

} // namespace troupe
