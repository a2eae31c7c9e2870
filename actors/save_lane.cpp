// save_lane: handing over, one after the other.
#include "actors/save_lane.hpp"

#include <optional>
#include <utility>

namespace troupe {

void save_lane::enter(save_request&& request, save_ack when, std::shared_ptr<held_claim> claim,
                      std::uint64_t ticket) {
  waiting one{std::move(request), when, std::move(claim), ticket};
  {
    std::lock_guard lock{mutex_};
    if (busy_) {
      waiting_.push_back(std::move(one));
      return;
    }
    busy_ = shared_from_this();
  }
  leave(std::move(one));
}

// A function that captures one pointer takes no memory.
void save_lane::leave(waiting&& one) {
  auto claim = one.claim.get();
  at_saver_ = {{std::move(one.claim), one.request}, one.ticket};
  auto failed = submit_claimed(claim, one.request, [&] {
    to_.submit_lent(
      std::move(one.request), one.when, [this](result<void> how) { answered(how); }, spent_);
  });
  if (failed)
    answered(std::move(*failed));
}

void save_lane::answered(const result<void>& how) {
  auto self = shared_from_this();
  auto done = std::move(at_saver_);
  done.claim.answered(how);
  auto failed = go_on(how);
  then_(done.ticket, how);
  for (const auto& other : failed) {
    if (other.claim)
      other.claim->save_answered();
    then_(other.ticket, how);
  }
}

save_lane::waiting_list save_lane::go_on(const result<void>& how) {
  std::optional<waiting> next;
  waiting_list failed;
  {
    std::lock_guard lock{mutex_};
    if (how && !waiting_.empty()) {
      next = std::move(waiting_.front());
      waiting_.erase(waiting_.begin());
    } else {
      failed.swap(waiting_);
      busy_.reset();
    }
  }
  if (next)
    leave(std::move(*next));
  return failed;
}

} // namespace troupe
