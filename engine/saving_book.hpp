// saving_book: what a run has handed to its saver, what waits to be handed over, and when the run
// may go on. Pure.
//
// Invariants:
//  - Tickets grow by one with each request, over all runs of a loop; they are acknowledged in
//  order.
//  - Unless durability is sync, at most one checkpoint is in the saver's queue, and the next one
//    waits: here, or where the host queues it.
//  - Durability sync: a checkpoint waits only for the next one, to share its commit.
#pragma once

#include <troupe/run_config.hpp>
#include <troupe/saver.hpp>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace troupe {

class saving_book {
public:
  /// Writes of the open step that no request has yet; they go with its checkpoint at the latest.
  std::vector<task_writes> unsaved;
  /// A new entry of `unsaved`, with old contents.
  task_writes& add_unsaved() { return unsaved.emplace_back(std::exchange(spare_task_, {})); }
  /// The writes for the next request.
  std::vector<task_writes> take_unsaved() {
    return std::exchange(unsaved, std::exchange(spare_tasks_, {}));
  }

  /// A run begins: nothing of the run before is waited for. `host_queues`: the host takes the next
  /// checkpoint as well.
  void begin(bool host_queues = false);
  /// A run ended: what was not acknowledged never will be.
  void forget_rest() noexcept { acknowledged_ = last_; }

  /// The ticket of the next request.
  std::uint64_t next_ticket() noexcept { return ++last_; }
  /// The request of this ticket was the first one that makes the run the thread's owner.
  void claims(std::uint64_t ticket) noexcept {
    if (!claimed_by_)
      claimed_by_ = ticket;
  }
  bool has_claimed() const noexcept { return claimed_by_.has_value(); }

  /// Notes the answer to a request. False: it is not one that is waited for.
  bool acknowledge(std::uint64_t ticket) noexcept;
  bool is_waited_for(std::uint64_t ticket) const noexcept { return ticket > acknowledged_; }
  /// Whether the answer to this request tells that the run owns the thread.
  bool owns_with(std::uint64_t ticket) const noexcept {
    return claimed_by_ && ticket >= *claimed_by_;
  }
  bool all_acknowledged() const noexcept { return acknowledged_ == last_; }
  std::uint64_t last() const noexcept { return last_; }
  /// Whether the run has handed over anything.
  bool used() const noexcept { return last_ > first_; }

  /// The ticket with which all that was recorded until now is stored.
  std::uint64_t covering() const noexcept {
    return last_ + (waiting_put_ ? 1 : 0) + (unsaved.empty() ? 0 : 1);
  }
  bool covers(std::uint64_t ticket) const noexcept { return ticket <= acknowledged_; }

  /// A checkpoint was handed over, with the last ticket.
  void put_left() noexcept { put_before_ = std::exchange(last_put_, last_); }
  /// Whether no further checkpoint may be handed over.
  bool queue_is_full() const noexcept {
    return (host_queues_ ? put_before_ : last_put_) > acknowledged_;
  }
  /// A request to fill. It has a checkpoint of old contents, but no values, no writes and no claim.
  /// It goes to keep() or hold_put() before the next one is asked for.
  save_request& blank_put();
  /// Keeps the memory of a request that was handed over, for the next one.
  void keep(save_request& request);
  void hold_put(save_request&& request) { waiting_put_ = std::move(request); }
  bool put_waits() const noexcept { return waiting_put_.has_value(); }
  /// The checkpoint that waits, if the queue has room for it; `now`: in any case.
  std::optional<save_request> take_put(bool now = false);
  /// The last request is durable with the one after it: its own answer acknowledges nothing.
  void joins_next() noexcept { joined_ = last_; }
  /// Notes the answer to a request that joined the next one. False: it is not such a one.
  bool note_joined(std::uint64_t ticket) noexcept;

  /// Notes the answer of a request that failed, then those of all others that were not
  /// acknowledged. Whether all have answered. No request may follow.
  bool answered_after_failure() noexcept;
  bool has_failed() const noexcept { return answers_awaited_.has_value(); }

  /// Whether the step after this one may begin.
  bool may_go_on(durability how) const noexcept;

private:
  std::uint64_t last_ = 0; // handed out
  std::uint64_t acknowledged_ = 0;
  std::uint64_t first_ = 0;      // the last one of the run before
  std::uint64_t last_put_ = 0;   // of the last checkpoint
  std::uint64_t put_before_ = 0; // of the one before it
  bool host_queues_ = false;
  std::uint64_t joined_ = 0; // of the last request that is durable with the next one
  bool joined_is_answered_ = false;
  std::optional<std::uint64_t> answers_awaited_; // once a request has failed
  std::optional<save_request> waiting_put_;
  save_request spare_; // for blank_put()
  task_writes spare_task_;
  std::vector<task_writes> spare_tasks_; // empty
  std::optional<std::uint64_t> claimed_by_;
};

} // namespace troupe
