// http_transfer: the exchange between the loop's thread and a reader.
#include "http/transfer.hpp"

#include <utility>

namespace troupe {

bool http_transfer::there(http_sign sign) const {
  switch (sign) {
    case http_sign::head: return ended_ || head_;
    case http_sign::data: return ended_ || !body_.empty();
    default: return ended_;
  }
}

void http_transfer::when(http_sign sign, std::function<void()> then) {
  {
    std::lock_guard lock{mutex_};
    if (!there(sign)) {
      waits_for_ = sign;
      then_ = std::move(then);
      return;
    }
  }
  then();
}

void http_transfer::tell(std::unique_lock<std::mutex> lock) {
  if (!then_ || !there(waits_for_))
    return;
  auto then = std::exchange(then_, nullptr);
  lock.unlock();
  then();
}

http_head http_transfer::head() const {
  std::lock_guard lock{mutex_};
  if (!head_)
    throw *failure_;
  return *head_;
}

std::string http_transfer::take(bool& had_to_wait) {
  std::lock_guard lock{mutex_};
  had_to_wait = std::exchange(refused_, false);
  if (body_.empty() && failure_)
    throw *failure_;
  return std::exchange(body_, {});
}

void http_transfer::give_head(http_head head) {
  std::unique_lock lock{mutex_};
  head_ = std::move(head);
  tell(std::move(lock));
}

bool http_transfer::give(std::string_view piece) {
  std::unique_lock lock{mutex_};
  if (!whole_ && body_.size() >= limits::http_buffer_bytes_max) {
    refused_ = true;
    return false;
  }
  body_.append(piece);
  tell(std::move(lock));
  return true;
}

void http_transfer::end(std::optional<http_error> failure) {
  std::unique_lock lock{mutex_};
  if (ended_)
    return;
  ended_ = true;
  failure_ = std::move(failure);
  tell(std::move(lock));
}

} // namespace troupe
