// save_lane: the way of a run's requests to a saver with a thread of its own, one at a time. The
// next one leaves on that thread, right when the one before is answered.
//
// Invariants:
//  - At most one request is at the saver. The next one is there before the run hears of an answer,
//    so what the run does then comes after it.
//  - Requests are answered once. After a failure, all that wait fail likewise.
//  - While a request is at the saver, the lane owns itself.
#pragma once

#include "actors/saver_actor.hpp"
#include "persistence/writer_saver.hpp"
#include "tasks/held_claim.hpp"

#include <boost/container/small_vector.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

namespace troupe {

class save_lane : public std::enable_shared_from_this<save_lane> {
public:
  using answer = std::function<void(std::uint64_t ticket, const result<void>& how)>;

  /// `to` lives until all requests are answered. `spent` gets those that are stored.
  save_lane(writer_saver& to, std::shared_ptr<spent_requests> spent, answer then)
    : to_{to},
      spent_{std::move(spent)},
      then_{std::move(then)} {}

  /// As hand_over(), once the requests before it are answered. The answer has the ticket.
  /// Thread: any, one at a time.
  void enter(save_request&& request, save_ack when, std::shared_ptr<held_claim> claim,
             std::uint64_t ticket);

private:
  struct waiting {
    save_request request;
    save_ack when;
    std::shared_ptr<held_claim> claim;
    std::uint64_t ticket;
  };
  using waiting_list = boost::container::small_vector<waiting, 1>;
  struct leaving {
    saved_claim claim;
    std::uint64_t ticket = 0;
  };
  void leave(waiting&& one);
  void answered(const result<void>& how);
  /// The next one leaves. After a failure none does: returns those that waited.
  waiting_list go_on(const result<void>& how);

  writer_saver& to_;
  const std::shared_ptr<spent_requests> spent_;
  const answer then_;

  leaving at_saver_; // of the thread that hands over, then of the one that answers

  std::mutex mutex_;
  std::shared_ptr<save_lane> busy_; // this lane
  waiting_list waiting_;            // a few
};

} // namespace troupe
