// Orders given ahead: they wait at a worker, and are asked for when another one has room.
#include "cluster/placement/dispatcher.hpp"

#include <algorithm>

namespace troupe::cluster {

/// Enough that short tasks do not wait for a round trip, and no more: what waits at a worker can't
/// give way to other runs.
std::uint32_t dispatcher::ahead_at(const worker& w) const noexcept {
  std::int64_t turns = 1, most = limits::worker_ahead_turns_max;
  if (w.typical.count() > 0)
    turns = std::clamp(limits::worker_ahead_time / w.typical, turns, most);
  return std::min(ahead_of(w.capacity, static_cast<std::uint32_t>(turns)), options_.ahead_max);
}

void dispatcher::note_duration(worker& w, nanoseconds took) {
  w.running.note(took);
  if (took.count() > 0) // else it did not say
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

/// It is answered, stopped or lost: nobody asks for it any more, or waits for what comes of asking.
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

/// How many of its orders it may not have begun. It begins them in their order, as many as it can
/// run, unless others have tasks there.
std::size_t dispatcher::may_wait_at(const worker& w) {
  return w.view.foreign > 0 ? w.ahead.size() + w.asked
                            : w.view.running - std::min(w.view.running, w.capacity);
}

/// The newest one of a line that waits there, as far as is known: it would wait longest. 0: none.
issue_number dispatcher::newest_ahead(const worker& w, const line& of) const {
  if (w.asked >= may_wait_at(w) || !w.view.takes_orders())
    return 0;
  auto is_of_line = [&](issue_number n) { return tasks_.at(issues_.at(n).task).at == &of; };
  auto newest = std::find_if(w.ahead.rbegin(), w.ahead.rend(), is_of_line);
  return newest == w.ahead.rend() ? 0 : *newest;
}

/// Nothing that the worker could take waits here. It gets what waits elsewhere, as much as it has
/// room for, unless that was asked for already.
void dispatcher::ask_for_more(const worker& to) {
  std::size_t coming = 0, room = to.view.capacity - to.view.running;
  for (const auto* l : to.lines)
    coming += l->asked;
  for (auto* l : to.lines)
    while (coming < room && ask_for_one(*l))
      ++coming;
}

/// Of the worker where most wait.
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

/// There may be more to ask for, or more room for what comes of it.
void dispatcher::share_out(const line& at) {
  if (ahead_ == 0 || !at.waiting.empty())
    return;
  for (const auto* view : at.able)
    if (view->has_room())
      ask_for_more(*workers_.at(view->name));
}

/// What waits at the worker may be asked for again, or for the first time.
void dispatcher::share_out_of(const worker& w) {
  if (w.ahead.empty())
    return;
  for (const auto* l : w.lines)
    share_out(*l);
}

/// An order of the line that the worker was asked for is answered. Those that could take the line
/// may have room again; and of the worker somebody else may ask for an order of another line.
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
