// Waiting for signs of a transfer that this test has started.
#pragma once

#include "http/loop.hpp"

#include <future>
#include <memory>
#include <string>
#include <utility>

namespace troupe::test {

inline std::shared_ptr<http_transfer> started(http_loop& loop, http_request request) {
  auto transfer = std::make_shared<http_transfer>(std::move(request), true);
  loop.start(transfer);
  return transfer;
}

/// Blocks: until the sign has come, or the transfer has ended.
inline void wait_until(http_transfer& transfer, http_sign sign) {
  auto seen = std::make_shared<std::promise<void>>();
  transfer.when(sign, [seen] { seen->set_value(); });
  seen->get_future().wait();
}

inline std::string text_of_body(http_transfer& ended) {
  bool had_to_wait = false;
  return ended.take(had_to_wait);
}

} // namespace troupe::test
