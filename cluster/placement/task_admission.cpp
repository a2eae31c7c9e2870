// admission: sessions with homes, the orders in them, and the end of both.
#include "cluster/placement/task_admission.hpp"

#include <algorithm>
#include <utility>

namespace troupe::cluster {

namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;

/// The terms of a home's welcome; nullopt when they are not valid. Checked before any conversion.
std::optional<lease_terms> terms_of(const welcome& what) {
  auto fits = [](milliseconds t) { return t.count() > 0 && t <= limits::worker_lease_max; };
  if (!fits(what.lease) || !fits(what.heartbeat))
    return std::nullopt;
  lease_terms terms{.heartbeat = what.heartbeat, .lease = what.lease};
  if (!check_terms(terms))
    return std::nullopt;
  return terms;
}

void set_issue(message& what, issue_number issue) {
  if (auto* save = std::get_if<save_order>(&what))
    save->issue = issue;
  else if (auto* call = std::get_if<call_order>(&what))
    call->issue = issue;
  else if (auto* part = std::get_if<task_part>(&what))
    part->issue = issue;
  else if (auto* sign = std::get_if<task_sign>(&what))
    sign->issue = issue;
}

} // namespace

task_admission::task_admission(admission_host& host, admission_options options)
  : host_{host},
    options_{std::move(options)} {
  for (const auto& graph : options_.graphs)
    builds_.emplace(graph.hash, graph.build);
}

void task_admission::link_made(home_number home, link_number link, instant now) {
  if (auto old = sessions_.find(home); old != sessions_.end())
    end_session(old->second, {errc::worker_lost, "a new link to the home replaced this one"}, false,
                now);
  if (over_) {
    host_.end_link(link);
    return;
  }
  auto& s = sessions_[home];
  s.home = home;
  s.link = link;
  s.asked = now;
  links_[link] = &s;
  if (drained_by_)
    return; // an operator may use this link; a home gets no hello on it, so it sends no orders
  auto terms = options_.terms.value_or(lease_terms{.heartbeat = {}, .lease = {}});
  host_.send(link, hello{.protocol = protocol_version,
                         .name = options_.name,
                         .incarnation = options_.incarnation,
                         .labels = options_.labels,
                         .capacity = options_.capacity,
                         .graphs = options_.graphs,
                         .other_builds = options_.other_builds,
                         .lease = duration_cast<milliseconds>(terms.lease),
                         .heartbeat = duration_cast<milliseconds>(terms.heartbeat),
                         .process = options_.process});
}

void task_admission::link_broken(link_number link, instant now) {
  auto at = links_.find(link);
  if (at == links_.end())
    return;
  at->second->reachable = false;
  end_if_ended(*at->second, now);
  begin_waiting(now);
}

/// Whether the process of the session's home is certain to have ended.
bool task_admission::has_ended(session& s) {
  return s.process.ended_by_now([this](std::uint32_t pid) { return host_.look_at(pid); });
}

void task_admission::look_for_ended(instant now) {
  std::vector<session*> broken;
  for (auto& [home, s] : sessions_)
    if (!s.reachable)
      broken.push_back(&s);
  for (auto* s : broken)
    end_if_ended(*s, now);
}

void task_admission::end_if_ended(session& s, instant now) {
  if (has_ended(s))
    end_session(s, {errc::worker_lost, "the process of the home has ended"}, true, now,
                event_kind::home_lost);
}

void task_admission::link_restored(link_number link, instant now) {
  auto at = links_.find(link);
  if (at == links_.end())
    return;
  auto& s = *at->second;
  s.reachable = true;
  if (s.lease && !s.lease->over(now))
    beat(s, now);
}

void task_admission::heard(link_number link, message what, instant now) {
  if (auto* asked = std::get_if<drain_request>(&what)) { // from any side with a certificate
    if (asked->worker.empty() || asked->worker == options_.name)
      drain(asked->why, asked->patience, now);
    return;
  }
  auto at = links_.find(link);
  if (at == links_.end()) {
    ++counts_.unknown;
    return;
  }
  auto& s = *at->second;
  if (auto* no = std::get_if<refusal>(&what))
    return take_refusal(s, *no, now);
  if (!s.lease) {
    if (drained_by_)
      end_session(s, {errc::runtime_stopped, "the worker drains"}, false, now);
    else if (auto* yes = std::get_if<welcome>(&what))
      welcomed(s, *yes, now);
    else
      misbehaved(s, "the home sent a message before its welcome");
    return;
  }
  if (s.lease->over(now)) // this process stood still: the home gave it up
    lease_over(s, now);
  else
    take(s, std::move(what), now);
  begin_waiting(now);
}

/// A refused hello is reported, too, but not at each attempt.
void task_admission::take_refusal(session& s, const refusal& no, instant now) {
  error why{no.code, readable(no.why)};
  if (!s.lease)
    if (auto said = refusals_.note(why.message(), "refused: " + why.message(),
                                   refusal_log::time_point{now});
        !said.empty())
      host_.report({event_kind::hello_refused, "a home", said});
  end_session(s, why, true, now);
}

/// Checks that the refusal is possible, and reports each graph once, so that a home can't fill the
/// log.
void task_admission::take_other_graph(session& s, const graph_refused& what) {
  auto is_it = [&what](const graph_offer& graph) { return graph.name == what.name; };
  auto own = std::ranges::find_if(options_.graphs, is_it);
  auto same = builds_.find(what.hash);
  bool is_other_build = same != builds_.end() && same->second != what.build;
  if (own == options_.graphs.end() || (same != builds_.end() && !is_other_build))
    return misbehaved(
      s, "the home refused a graph that this worker does not have, or has in the same build");
  if (s.other_graphs.insert(what.name).second)
    host_.report({event_kind::graph_refused, s.incarnation,
                  "the home gives this worker no tasks of graph `" + own->name
                    + "`, because the home has "
                    + (is_other_build ? "another build of it" : "another graph of that name")
                    + ": the home's: " + build_text(what.hash, what.build, what.version)
                    + "; this worker's: " + build_text(own->hash, own->build, own->version)
                    + (is_other_build ? other_builds_remedy : "")});
}

void task_admission::take(session& s, message what, instant now) {
  if (auto* answer = std::get_if<heartbeat>(&what)) {
    if (s.lease->heard(*answer, now))
      beat(s, now);
  } else if (auto* order = std::get_if<task_order>(&what))
    take_order(s, std::move(*order), now);
  else if (auto* asked = std::get_if<task_withdraw>(&what))
    withdraw(s, asked->issue);
  else if (auto* end = std::get_if<task_stop>(&what)) {
    if (auto t = s.tasks.find(end->issue); t != s.tasks.end())
      stop(t->second, tasks_.at(t->second));
    else
      refuse_waiting(s, end->issue, errc::cancelled, "the task was stopped before it began");
  } else if (auto* opened = std::get_if<run_opened>(&what))
    open_run(s, std::move(*opened));
  else if (auto* step = std::get_if<step_opened>(&what))
    open_step(s, std::move(*step));
  else if (auto* closed = std::get_if<run_closed>(&what))
    close_run(s, closed->run);
  else if (auto* other = std::get_if<graph_refused>(&what))
    take_other_graph(s, *other);
  else if (auto* save = std::get_if<save_answer>(&what))
    hand_on(s, save->issue, std::move(*save));
  else if (auto* call = std::get_if<call_answer>(&what))
    hand_on(s, call->issue, std::move(*call));
  else if (auto* credit = std::get_if<part_credit>(&what))
    hand_on(s, credit->issue, *credit);
  else if (auto* drained = std::get_if<task_drain>(&what)) {
    if (auto order = s.waiting.find(drained->issue); order != s.waiting.end())
      order->second.drains = drained->why;
    else
      hand_on(s, drained->issue, *drained);
  } else if (auto* failed = std::get_if<step_failed>(&what)) {
    if (auto order = s.waiting.find(failed->issue); order != s.waiting.end())
      order->second.may_end = true;
    else
      hand_on(s, failed->issue, *failed);
  } else
    misbehaved(s, "the home sent a message that homes do not send to workers");
}

void task_admission::welcomed(session& s, const welcome& what, instant now) {
  auto terms = terms_of(what);
  if (!terms || what.home.empty() || what.home.size() > limits::worker_name_bytes_max
      || !is_well_formed(what.process)) {
    end_session(s,
                {errc::protocol_mismatch, "work for a home: its lease, heartbeat, incarnation or "
                                          "process identity is not valid: a lease of "
                                            + std::to_string(what.lease.count())
                                            + " ms, a heartbeat of "
                                            + std::to_string(what.heartbeat.count()) + " ms"},
                true, now);
    return;
  }
  s.lease.emplace(*terms, s.asked);
  s.number = what.session;
  s.incarnation = readable(what.home);
  s.process = {options_.process, what.process};
  has_ended(s); // only a process that was seen alive can be found ended
  ++counts_.sessions;
  host_.report({event_kind::session_begun, s.incarnation, "session " + std::to_string(s.number)});
  if (s.lease->over(now)) // the hello took long to arrive
    lease_over(s, now);
  else
    beat(s, now); // the home waits for this answer to its welcome
}

void task_admission::end_session(session& s, const error& why, bool again, instant now,
                                 event_kind how) {
  if (s.lease)
    s.lease->end()->close();
  for (auto [issue, number] : s.tasks) {
    auto& t = tasks_.at(number);
    t.of = nullptr;
    t.left = now;
    stop(number, t);
  }
  auto dropped = s.tasks.size() + s.waiting.size();
  while (!s.waiting.empty())
    take_waiting(s, s.waiting.begin()->first);
  for (const auto& [number, r] : s.runs)
    if (r.known)
      host_.close_run(r.local);
  bool was_open = s.lease.has_value();
  auto home = s.home;
  auto peer = s.incarnation;
  links_.erase(s.link);
  host_.end_link(s.link);
  sessions_.erase(home);
  if (was_open)
    host_.report(
      {how, peer,
       why.message() + (dropped > 0 ? "; " + count_of(dropped, "task") + " dropped" : "")});
  if (again && !drained_by_)
    host_.session_over(home, why);
}

void task_admission::tick(instant now) {
  ticked_ = now;
  std::vector<session*> over;
  for (auto& [home, s] : sessions_) {
    bool silent = s.lease ? s.lease->over(now) : now - s.asked >= limits::worker_lease_default;
    if (silent)
      over.push_back(&s);
    else if (s.lease && s.reachable && s.lease->heartbeat_due(now))
      beat(s, now);
  }
  for (auto* s : over)
    lease_over(*s, now);
  look_for_ended(now);
  begin_waiting(now); // a place that is kept for another home may be free now
  if (drained_by_ && now >= *drained_by_)
    take_back(now);
}

void task_admission::lease_over(session& s, instant now) {
  counts_.leases_over += s.lease ? 1 : 0;
  const auto* what = s.lease ? "the home did not answer within the lease"
                             : "the home did not answer the hello";
  end_session(s, {errc::worker_lost, what}, true, now, event_kind::home_lost);
}

void task_admission::beat(session& s, instant now) {
  // A place is kept for another home.
  bool is_kept = !s.waiting.empty() && tasks_.size() < options_.capacity;
  auto foreign = static_cast<std::uint32_t>(tasks_.size() - s.tasks.size()) + (is_kept ? 1 : 0);
  host_.send(s.link, s.lease->next_heartbeat(now, foreign));
}

nanoseconds task_admission::tick_interval() const noexcept {
  auto least = cluster::tick_interval({});
  for (const auto& [home, s] : sessions_)
    if (s.lease)
      least = std::min(least, cluster::tick_interval(s.lease->terms()));
  return least;
}

/// Removes a task that has ended, which frees its place. Its session ends when the lease is closed.
task_admission::task task_admission::take_out(local_task number, instant now) {
  auto at = tasks_.find(number);
  if (at == tasks_.end())
    return {};
  auto t = at->second;
  tasks_.erase(at);
  running_.note(now - t.begun);
  if (!t.of) {
    ++counts_.late;
    return t;
  }
  t.of->tasks.erase(t.issue);
  if (auto r = t.of->runs.find(t.run); r != t.of->runs.end())
    r->second.tasks.erase(number);
  if (t.of->lease->end()->is_closed()) {
    lease_over(*t.of, ticked_);
    t.of = nullptr;
    ++counts_.late;
  }
  return t;
}

void task_admission::finished(local_task number, bytes outcome, instant now) {
  auto t = take_out(number, now);
  if (t.of && t.stopped) {
    refuse_order(*t.of, t.issue, errc::cancelled, "the task was stopped");
  } else if (t.of) {
    ++counts_.outcomes;
    auto took = std::chrono::duration_cast<std::chrono::microseconds>(now - t.begun);
    host_.send(t.of->link, task_outcome{.issue = t.issue,
                                        .outcome = std::move(outcome),
                                        .took_us = static_cast<std::uint64_t>(took.count())});
  }
  begin_waiting(now);
  end_when_empty(now);
}

void task_admission::gone(local_task number, const std::string& why, instant now) {
  auto t = take_out(number, now);
  if (t.of)
    refuse_order(*t.of, t.issue, t.stopped ? errc::cancelled : errc::node_lost, why);
  begin_waiting(now);
  end_when_empty(now);
}

void task_admission::given_back(local_task number, instant now) {
  auto t = take_out(number, now);
  if (t.of) {
    ++counts_.given_back;
    refuse_order(*t.of, t.issue, t.stopped ? errc::cancelled : errc::overloaded,
                 "the worker drains: the task continues elsewhere");
  }
  begin_waiting(now);
  end_when_empty(now);
}

void task_admission::say(local_task number, message what) {
  auto at = tasks_.find(number);
  if (at == tasks_.end() || !at->second.of || at->second.stopped)
    return;
  if (auto& s = *at->second.of; s.lease->end()->is_closed())
    return lease_over(s, ticked_);
  set_issue(what, at->second.issue);
  host_.send(at->second.of->link, std::move(what));
}

void task_admission::drain(const std::string& why, nanoseconds patience, instant now) {
  nanoseconds none{0}, most = limits::worker_drain_max;
  auto until = now + std::clamp(patience, none, most);
  if (drained_by_) {
    drained_by_ = std::min(*drained_by_, until);
    return;
  }
  drained_by_ = until;
  for (auto& [home, s] : sessions_) {
    if (!s.lease)
      continue; // an operator's link, for as long as a hello may stay unanswered
    host_.send(s.link, draining{.why = why});
    refuse_all_waiting(s, "the worker drains");
    for (auto [issue, number] : s.tasks)
      if (!tasks_.at(number).stopped)
        host_.give_back(number);
  }
  end_when_empty(now);
}

/// The drain's time is up. Remaining tasks are stopped and go back to their homes. The admission
/// does not wait for their bodies.
void task_admission::take_back(instant now) {
  if (over_)
    return;
  for (auto& [home, s] : sessions_)
    for (auto [issue, number] : std::exchange(s.tasks, {})) {
      auto& t = tasks_.at(number);
      t.of = nullptr;
      t.left = now;
      refuse_order(s, issue, t.stopped ? errc::cancelled : errc::overloaded,
                   "the worker drains, and its time is up: the task continues elsewhere");
      stop(number, t);
      ++counts_.given_back;
    }
  end(now);
}

void task_admission::end_when_empty(instant now) {
  if (drained_by_ && !over_ && tasks_.empty())
    end(now);
}

void task_admission::end(instant now) {
  over_ = true;
  auto left = tasks_.size();
  while (!sessions_.empty())
    end_session(sessions_.begin()->second, {errc::runtime_stopped, "the worker has drained"}, false,
                now);
  host_.report({event_kind::drained, options_.name,
                left == 0 ? "no task is left" : std::to_string(left) + " were taken back"});
  host_.drained();
}

void task_admission::misbehaved(session& s, const std::string& what) {
  ++counts_.misbehaviour;
  if (!std::exchange(s.misbehaved, true))
    host_.report({event_kind::misbehaviour, s.incarnation, what});
}

instant task_admission::may_keep_outcomes(instant first, instant sent) const noexcept {
  if (2 * waiting_ >= options_.capacity)
    return first + limits::worker_outcomes_held;
  return tasks_.empty() ? first : sent + limits::worker_outcomes_apart;
}

admission_status task_admission::status(instant now) const {
  admission_status out{.name = options_.name,
                       .incarnation = options_.incarnation,
                       .labels = options_.labels,
                       .graphs = options_.graphs,
                       .capacity = options_.capacity,
                       .busy = static_cast<std::uint32_t>(tasks_.size()),
                       .waiting = waiting_,
                       .draining = drained_by_.has_value(),
                       .sessions = {},
                       .left = 0,
                       .left_for = {},
                       .counts = counts_,
                       .running = running_};
  for (const auto& [number, t] : tasks_)
    if (!t.of) {
      ++out.left;
      out.left_for = std::max(out.left_for, now - t.left);
    }
  for (const auto& [home, s] : sessions_)
    if (s.lease) // without a lease the peer may be an operator that asks for this status
      out.sessions.push_back({.home = home,
                              .incarnation = s.incarnation,
                              .session = s.number,
                              .terms = s.lease->terms(),
                              .lease_left = s.lease->left(now),
                              .reachable = s.reachable,
                              .tasks = s.tasks.size(),
                              .waiting = s.waiting.size(),
                              .runs = s.runs.size(),
                              .times = s.lease->times()});
  return out;
}

} // namespace troupe::cluster
