// save_lane: handing over, one after the other.
#include "actors/save_lane.hpp"

#include "actors/saver_actor.hpp"

#include <optional>
#include <utility>

namespace troupe {

void save_lane::enter(saver& to, save_request request, save_ack when,
                      std::shared_ptr<held_claim> claim, std::function<void(result<void>)> done) {
  waiting one{std::move(request), when, std::move(claim), std::move(done)};
  {
    std::lock_guard lock{mutex_};
    if (std::exchange(is_busy_, true)) {
      waiting_.push_back(std::move(one));
      return;
    }
  }
  leave(to, std::move(one));
}

void save_lane::leave(saver& to, waiting one) {
  auto answer = [self = shared_from_this(), &to, done = std::move(one.done)](result<void> how) {
    auto failed = self->go_on(to, how);
    done(how);
    for (const auto& other : failed) {
      if (other.claim)
        other.claim->save_answered();
      other.done(how);
    }
  };
  hand_over(to, std::move(one.request), one.when, std::move(one.claim), std::move(answer));
}

std::vector<save_lane::waiting> save_lane::go_on(saver& to, const result<void>& how) {
  std::optional<waiting> next;
  std::vector<waiting> failed;
  {
    std::lock_guard lock{mutex_};
    if (how && !waiting_.empty()) {
      next = std::move(waiting_.front());
      waiting_.erase(waiting_.begin());
    } else {
      failed.swap(waiting_);
      is_busy_ = false;
    }
  }
  if (next)
    leave(to, std::move(*next));
  return failed;
}

} // namespace troupe
