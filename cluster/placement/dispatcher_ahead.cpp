// dispatcher: orders given ahead, which wait at a worker until another worker has room.
#include "cluster/placement/dispatcher.hpp"

#include <algorithm>

namespace troupe::cluster {

/// The number of orders that may wait at a worker. Enough that short tasks do not wait for a round
/// trip, and no more, since orders at a worker can't make way for other runs.
std::uint32_t dispatcher::ahead_at(const worker& w) const noexcept {
  std::int64_t turns = 1, most = limits::worker_ahead_turns_max;
  if (w.typical.count() > 0)
    turns = std::clamp(limits::worker_ahead_time / w.typical, turns, most);
  return std::min(ahead_of(w.capacity, static_cast<std::uint32_t>(turns)), options_.ahead_max);
}

void dispatcher::note_duration(worker& w, nanoseconds took) {
  w.running.note(took);
  if (took.count() > 0) // 0: the worker did not measure it
    w.typical = w.typical.count() > 0 ? w.typical + (took - w.typical) / 8 : took;
  if (w.view.ahead > 0)
    w.view.ahead = ahead_at(w);
}

void dispatcher::give_ahead(issue_number number, issue& out, std::size_t bytes) {
  out.ahead_bytes = bytes;
  out.on->view.ahead_bytes += bytes;
  out.on->ahead.insert(number);
  ++ahead_;
  ++counts_.ahead;
}

/// An order was answered, stopped or lost. It can't be withdrawn any more, and a pending withdrawal
/// is over.
void dispatcher::no_longer_ahead(issue_number number, issue& out) {
  out.on->view.ahead_bytes -= std::exchange(out.ahead_bytes, 0);
  ahead_ -= out.on->ahead.erase(number);
  no_longer_asked(out);
}

void dispatcher::no_longer_asked(issue& out) {
  if (!std::exchange(out.asked, false))
    return;
  --out.on->asked;
  --tasks_.at(out.task).at->asked;
}

/// The number of the worker's orders that may not have begun. The worker begins orders as they
/// come, up to its capacity, unless other homes have tasks there.
std::size_t dispatcher::may_wait_at(const worker& w) {
  return w.view.foreign > 0 ? w.ahead.size() + w.asked
                            : w.view.running - std::min(w.view.running, w.capacity);
}

/// The newest order of a line that seems to wait at the worker, since it would wait longest. 0 when
/// no order waits there.
issue_number dispatcher::newest_ahead(const worker& w, const line& of) const {
  if (w.asked >= may_wait_at(w) || !w.view.takes_orders())
    return 0;
  auto is_of_line = [&](issue_number n) { return tasks_.at(issues_.at(n).task).at == &of; };
  auto newest = std::find_if(w.ahead.rbegin(), w.ahead.rend(), is_of_line);
  return newest == w.ahead.rend() ? 0 : *newest;
}

/// The worker has room, and no task waits here for it. Withdraws orders from other workers, as many
/// as there is room for, less those already withdrawn.
void dispatcher::ask_for_more(const worker& to) {
  std::size_t coming = 0, room = to.view.capacity - to.view.running;
  for (const auto* l : to.lines)
    coming += l->asked;
  for (auto* l : to.lines)
    while (coming < room && ask_for_one(*l))
      ++coming;
}

/// Withdraws the newest order of a line from the worker where most orders wait. False: no order
/// waits.
bool dispatcher::ask_for_one(line& at) {
  worker* from = nullptr;
  issue_number number = 0;
  for (const auto* view : at.able) {
    auto& w = *workers_.at(view->name);
    if (from && w.ahead.size() <= from->ahead.size())
      continue;
    if (auto newest = newest_ahead(w, at); newest != 0) {
      from = &w;
      number = newest;
    }
  }
  if (!from)
    return false;
  ahead_ -= from->ahead.erase(number);
  issues_.at(number).asked = true;
  ++from->asked;
  ++at.asked;
  ++counts_.asked;
  host_.send(from->link, task_withdraw{number});
  return true;
}

/// Orders of a line may have become free to withdraw, or workers may have room for more of them.
void dispatcher::share_out(const line& at) {
  if (ahead_ == 0 || !at.waiting.empty())
    return;
  for (const auto* view : at.able)
    if (view->has_room())
      ask_for_more(*workers_.at(view->name));
}

/// Orders that wait at the worker may be withdrawn again, or for the first time.
void dispatcher::share_out_of(const worker& w) {
  if (w.ahead.empty())
    return;
  for (const auto* l : w.lines)
    share_out(*l);
}

/// A withdrawn order of the line was answered. Workers of the line may have room again. The asked
/// worker can be asked for an order of another line.
void dispatcher::share_out_after(const worker& asked, const line& at) {
  share_out(at);
  share_out_of(asked);
}

void dispatcher::take_kept(worker& w, issue_number number) {
  auto* out = issue_of(w, number);
  if (!out)
    return;
  if (!out->asked) {
    ++counts_.stale;
    return;
  }
  no_longer_asked(*out);
  share_out_after(w, *tasks_.at(out->task).at);
}

} // namespace troupe::cluster
