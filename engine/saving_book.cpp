// The tickets of a run's requests to its saver, and the one checkpoint that waits.
#include "engine/saving_book.hpp"

#include "persistence/spent_requests.hpp"

namespace troupe {

void saving_book::begin(bool host_queues) {
  unsaved.clear();
  acknowledged_ = last_put_ = put_before_ = first_ = last_;
  host_queues_ = host_queues;
  waiting_put_.reset();
  joined_is_answered_ = false;
  answers_awaited_.reset();
  claimed_by_.reset();
}

bool saving_book::acknowledge(std::uint64_t ticket) noexcept {
  if (!is_waited_for(ticket))
    return false;
  acknowledged_ = ticket;
  return true;
}

bool saving_book::note_joined(std::uint64_t ticket) noexcept {
  joined_is_answered_ = joined_is_answered_ || ticket == joined_;
  return ticket == joined_;
}

bool saving_book::answered_after_failure() noexcept {
  if (!answers_awaited_)
    answers_awaited_ = last_ - acknowledged_
                       - (joined_is_answered_ && is_waited_for(joined_) ? 1 : 0);
  return --*answers_awaited_ == 0;
}

save_request& saving_book::blank_put() {
  if (!spare_.put)
    spare_.put.emplace();
  spare_.put->drops_older = false;
  spare_.writes.clear();
  spare_.claim.reset();
  return spare_;
}

void saving_book::keep(save_request& request) {
  drop_values(request);
  if (!request.writes.empty()) {
    spare_task_ = std::move(request.writes.front());
    request.writes.clear();
    spare_tasks_ = std::move(request.writes);
  }
  if (request.put && &request != &spare_)
    spare_ = std::move(request);
}

std::optional<save_request> saving_book::take_put(bool now) {
  if (!waiting_put_ || (!now && queue_is_full()))
    return std::nullopt;
  return std::exchange(waiting_put_, std::nullopt);
}

bool saving_book::may_go_on(durability how) const noexcept {
  switch (how) {
    case durability::exit: return true;
    case durability::sync: return all_acknowledged();
    case durability::async: break;
  }
  return !put_waits() && !(host_queues_ && queue_is_full());
}

} // namespace troupe
