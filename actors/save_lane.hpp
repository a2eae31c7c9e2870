// save_lane: the way of a run's requests to a saver with a thread of its own, one at a time. The
// next one leaves on that thread, right when the one before is answered.
//
// Invariants:
//  - At most one request is at the saver.
//  - Requests are answered once, in their order. After a failure, all that wait fail likewise.
#pragma once

#include "persistence/writer_saver.hpp"
#include "tasks/held_claim.hpp"

#include <deque>
#include <functional>
#include <memory>
#include <mutex>

namespace troupe {

class save_lane : public std::enable_shared_from_this<save_lane> {
public:
  /// As hand_over(), once the requests before it are answered.
  /// Thread: any, one at a time. `to` lives until all are answered.
  void enter(saver& to, save_request request, save_ack when, std::shared_ptr<held_claim> claim,
             std::function<void(result<void>)> done);

private:
  struct waiting {
    save_request request;
    save_ack when;
    std::shared_ptr<held_claim> claim;
    std::function<void(result<void>)> done;
  };
  void leave(saver& to, waiting one);
  void go_on(saver& to, const result<void>& how);

  std::mutex mutex_;
  bool is_busy_ = false;
  std::deque<waiting> waiting_;
};

} // namespace troupe
