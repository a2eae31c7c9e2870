// http_transfer: one request and its response so far. The loop's thread writes it, one reader takes
// from it.
//
// Invariants:
//  - a reader's callback is called at most once, without a lock held.
//  - at most limits::http_buffer_bytes_max and one piece of libcurl's wait to be taken. For a
//    reader of the whole response, the limit is that of the request.
#pragma once

#include "http/exchange.hpp"

#include <functional>
#include <memory>
#include <mutex>
#include <optional>

namespace troupe {

/// The progress that a reader waits for.
enum class http_sign : std::uint8_t { head, data, end };

/// The reader's side. Thread: any, one at a time, concurrently with the loop's.
class http_transfer {
public:
  http_transfer(http_request request, bool whole) : request_{std::move(request)}, whole_{whole} {}
  http_transfer(const http_transfer&) = delete;
  http_transfer& operator=(const http_transfer&) = delete;

  /// Calls `then` when the sign has come or the transfer has ended; at once when that is so
  /// already.
  void when(http_sign sign, std::function<void()> then);

  /// The head. Errors: throws the transfer's failure.
  http_head head() const;
  /// The bytes of the body that came since the last call; empty at its end. `had_to_wait`: the
  /// caller must call http_loop::go_on().
  /// Errors: throws the transfer's failure, after the bytes that came before it.
  std::string take(bool& had_to_wait);

  const http_request& request() const noexcept { return request_; }

  // -- for the loop

  void give_head(http_head head);
  /// False, with nothing taken, when the reader has to catch up first.
  bool give(std::string_view piece);
  void end(std::optional<http_error> failure);

private:
  bool there(http_sign sign) const;
  void tell(std::unique_lock<std::mutex> lock);

  const http_request request_;
  const bool whole_;
  mutable std::mutex mutex_;
  std::optional<http_head> head_;
  std::string body_;
  std::optional<http_error> failure_;
  bool ended_ = false;
  bool refused_ = false; // the loop waits for the reader
  http_sign waits_for_ = http_sign::end;
  std::function<void()> then_;
};

using http_transfer_ptr = std::shared_ptr<http_transfer>;

} // namespace troupe
