// spent_requests: requests that a saver has done with. Their maker uses the memory again, so that
// one thread does not free what another one allocates.
#pragma once

#include <troupe/limits.hpp>
#include <troupe/saver.hpp>

#include <mutex>
#include <optional>
#include <vector>

namespace troupe {

/// Drops the values of a request; its lists, names and versions stay.
void drop_values(save_request& request) noexcept;

/// Thread: any.
class spent_requests {
public:
  /// Takes a request without its values. It is freed when it has no checkpoint, is large, or there
  /// are limits::spent_requests_max already.
  void give(save_request request);
  /// One of them, or none: also when another thread is busy here, so that the caller never waits.
  std::optional<save_request> take() noexcept;

private:
  std::mutex mutex_;
  std::vector<save_request> requests_;
};

} // namespace troupe
