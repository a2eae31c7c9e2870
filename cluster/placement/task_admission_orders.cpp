// admission: orders of homes, which begin, wait for a place, or are refused.
#include "cluster/placement/task_admission.hpp"

#include <algorithm>
#include <utility>

namespace troupe::cluster {

void task_admission::take_order(session& s, task_order what, instant now) {
  if (what.issue <= s.last_issue) {
    ++counts_.stale; // heard before
    return;
  }
  s.last_issue = what.issue;
  if (drained_by_) {
    refuse_order(s, what.issue, errc::overloaded, "the worker drains");
    return;
  }
  auto at = s.runs.find(what.run);
  if (at == s.runs.end()) {
    bool too_many = s.runs.size() >= limits::worker_runs_max;
    refuse_order(s, what.issue, too_many ? errc::overloaded : errc::invalid_value,
                 too_many ? "the worker has worker_runs_max runs of this home"
                          : "the order belongs to a run that was not opened");
    return;
  }
  if (!at->second.known) {
    refuse_order(s, what.issue, errc::unknown_graph,
                 "the worker has no graph " + readable(at->second.graph) + " of the home's build");
    return;
  }
  if (s.waiting.empty() && has_place_for(s, now)) {
    begin(s, {std::move(what), at->second.step}, now);
  } else if (what.ahead && s.waiting.size() < ahead_of(options_.capacity)
             && waiting_bytes_ + what.task.size() <= limits::worker_ahead_bytes_max) {
    wait_for_place(s, {std::move(what), at->second.step});
  } else {
    s.wants_until = now + nanoseconds{limits::worker_backoff_max};
    refuse_order(s, what.issue, errc::overloaded,
                 "the worker has " + std::to_string(tasks_.size()) + " tasks at a capacity of "
                   + std::to_string(options_.capacity) + ", and " + std::to_string(waiting_)
                   + " waiting orders");
  }
}

void task_admission::begin(session& s, waiting_order order, instant now) {
  auto& r = s.runs.at(order.what.run);
  auto number = ++last_task_;
  tasks_[number] = {.of = &s, .issue = order.what.issue, .run = order.what.run, .begun = now};
  s.tasks[order.what.issue] = number;
  s.wants_until = instant{0};
  r.tasks.insert(number);
  ++counts_.begun;
  auto issue = order.what.issue;
  host_.begin(number, r.local, std::move(order.what), *order.step);
  if (order.drains)
    host_.pass_on(number, task_drain{issue, std::move(*order.drains)});
  if (order.may_end)
    host_.pass_on(number, step_failed{issue});
}

/// Whether a task of the session may begin. The last place is kept for a home that has less than
/// its share and was recently refused as full. So a late home gets a place with each attempt, until
/// it has its share. A capacity of 1 has no shares.
bool task_admission::has_place_for(const session& s, instant now) const {
  auto wants = [now](const session& any) {
    return !any.tasks.empty() || !any.waiting.empty() || any.wants_until > now;
  };
  auto homes = static_cast<std::size_t>(std::count_if(
    sessions_.begin(), sessions_.end(), [&](const auto& entry) { return wants(entry.second); }));
  auto share = options_.capacity / std::max<std::size_t>(homes, 1);
  auto kept_for = [&](const auto& entry) {
    const session& other = entry.second;
    return &other != &s && other.wants_until > now && other.tasks.size() < share;
  };
  auto room = options_.capacity - std::min<std::size_t>(options_.capacity, tasks_.size());
  bool is_kept = room == 1 && s.tasks.size() >= share
                 && std::any_of(sessions_.begin(), sessions_.end(), kept_for);
  return room > 0 && !is_kept;
}

// -- orders that wait

void task_admission::wait_for_place(session& s, waiting_order order) {
  ++waiting_;
  waiting_bytes_ += order.what.task.size();
  auto issue = order.what.issue;
  s.waiting.emplace(issue, std::move(order));
}

std::optional<task_admission::waiting_order> task_admission::take_waiting(session& s,
                                                                          issue_number issue) {
  auto order = s.waiting.extract(issue);
  if (!order)
    return std::nullopt;
  --waiting_;
  waiting_bytes_ -= order.mapped().what.task.size();
  return std::move(order.mapped());
}

/// Begins orders that wait. The home with the fewest tasks among those with orders gets the next
/// place.
void task_admission::begin_waiting(instant now) {
  while (waiting_ > 0) {
    session* next = nullptr;
    for (auto& [home, s] : sessions_)
      if (!s.waiting.empty() && !s.lease->over(now) && has_place_for(s, now)
          && (!next || s.tasks.size() < next->tasks.size()))
        next = &s;
    if (!next)
      return;
    begin(*next, *take_waiting(*next, next->waiting.begin()->first), now);
  }
}

bool task_admission::refuse_waiting(session& s, issue_number issue, errc code,
                                    const std::string& why) {
  if (!take_waiting(s, issue))
    return false;
  refuse_order(s, issue, code, why);
  return true;
}

void task_admission::refuse_all_waiting(session& s, const std::string& why) {
  while (!s.waiting.empty()) {
    ++counts_.given_back;
    refuse_waiting(s, s.waiting.begin()->first, errc::overloaded, why);
  }
}

void task_admission::withdraw(session& s, issue_number issue) {
  if (refuse_waiting(s, issue, errc::overloaded,
                     "the task had not begun, and its home took it back"))
    ++counts_.given_back;
  else if (s.tasks.count(issue) > 0)
    host_.send(s.link, task_kept{issue});
}

void task_admission::refuse_order(session& s, issue_number issue, errc code, std::string why) {
  ++counts_.refused;
  host_.send(s.link, task_refused{.issue = issue, .code = code, .why = std::move(why)});
}

bool task_admission::is_known(const std::string& graph, const std::string& build) const {
  auto own = builds_.find(graph);
  return own != builds_.end() && (options_.other_builds || own->second == build);
}

void task_admission::open_run(session& s, run_opened what) {
  if (s.runs.count(what.run) > 0) {
    misbehaved(s, "the home opened a run twice");
    return;
  }
  if (s.runs.size() >= limits::worker_runs_max)
    return; // its orders are refused
  auto& r = s.runs[what.run];
  r.local = ++last_run_;
  r.known = is_known(what.graph, what.build);
  r.graph = what.graph;
  if (r.known)
    host_.open_run(r.local, s.home, std::move(what), s.lease->end());
}

void task_admission::open_step(session& s, step_opened what) {
  if (auto r = s.runs.find(what.run); r != s.runs.end())
    r->second.step = std::make_shared<const bytes>(std::move(what.facts));
}

void task_admission::close_run(session& s, run_number number) {
  auto at = s.runs.find(number);
  if (at == s.runs.end())
    return;
  for (auto task : at->second.tasks)
    stop(task, tasks_.at(task));
  std::vector<issue_number> waiting;
  for (const auto& [issue, order] : s.waiting)
    if (order.what.run == number)
      waiting.push_back(issue);
  for (auto issue : waiting)
    refuse_waiting(s, issue, errc::cancelled, "its run was closed before the task began");
  if (at->second.known)
    host_.close_run(at->second.local);
  s.runs.erase(at);
}

void task_admission::stop(local_task number, task& t) {
  if (std::exchange(t.stopped, true))
    return;
  ++counts_.stopped;
  host_.stop(number);
}

void task_admission::hand_on(session& s, issue_number number, message what) {
  auto at = s.tasks.find(number);
  if (at != s.tasks.end() && !tasks_.at(at->second).stopped)
    host_.pass_on(at->second, std::move(what));
}

} // namespace troupe::cluster
