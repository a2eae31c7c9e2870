// save_lane: the way of a run's requests to a saver with a thread of its own, one at a time. The
// next one leaves on that thread, right when the one before is answered.
//
// Invariants:
//  - At most one request is at the saver. The next one is there before the run hears of an answer,
//    so what the run does then comes after it.
//  - Requests are answered once. After a failure, all that wait fail likewise.
#pragma once

#include "persistence/writer_saver.hpp"
#include "tasks/held_claim.hpp"

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

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
  /// The next one leaves. After a failure none does: returns those that waited.
  std::vector<waiting> go_on(saver& to, const result<void>& how);

  std::mutex mutex_;
  bool is_busy_ = false;
  std::vector<waiting> waiting_; // a few
};

} // namespace troupe
