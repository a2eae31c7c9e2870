// dispatcher: messages of workers about tasks, and which of them count.
#include "cluster/placement/dispatcher.hpp"

#include <algorithm>
#include <utility>

namespace troupe::cluster {

namespace {

constexpr std::uint64_t took_us_max = std::uint64_t{1} << 40; // twelve days, for a worker's claim

} // namespace

/// The order; null when this worker does not have it or has answered it.
dispatcher::issue* dispatcher::issue_of(worker& w, issue_number number) {
  auto at = issues_.find(number);
  if (at != issues_.end() && at->second.on == &w)
    return &at->second;
  if (at != issues_.end() || number == 0 || number > last_issue_)
    misbehaved(w, "the worker named issue " + std::to_string(number) + ", which it does not have");
  ++counts_.stale;
  return nullptr;
}

/// Removes an order that the worker has answered: its place is free.
dispatcher::issue dispatcher::answered(worker& w, issue_number number, instant now) {
  no_longer_ahead(number, issues_.at(number));
  auto out = issues_.extract(number).mapped();
  w.issues.erase(number);
  --w.view.running;
  between_freed_ += (now - std::exchange(freed_at_, now) - between_freed_) / 8;
  if (out.task != 0)
    tasks_.at(out.task).issue = 0;
  return out;
}

void dispatcher::take_heartbeat(worker& w, const heartbeat& what, instant now) {
  if (w.beats.heard(what, now))
    w.acknowledged = waking_.at(now);
  if (may_renew(w, now)) {
    w.renewed = waking_.at(now);
    host_.send(w.link, w.beats.next(now, 0));
  }
  bool news = what.foreign > 0 && w.view.foreign == 0;
  w.view.foreign = what.foreign;
  if (news) // its orders may wait after tasks of other homes
    share_out_of(w);
}

/// Whether the worker's heartbeat is answered. An answer renews the worker's lease whenever it
/// arrives. So a worker is given up no sooner than a lease after the last answer, and one that
/// hears nothing gets no more answers.
bool dispatcher::may_renew(const worker& w, instant now) const {
  return !w.beats.is_unanswered() || waking_.at(now) - w.acknowledged < tick_interval(w.terms);
}

void dispatcher::take_outcome(worker& w, task_outcome what, instant now) {
  if (!issue_of(w, what.issue))
    return;
  bool asked = issues_.at(what.issue).asked;
  auto was = answered(w, what.issue, now);
  ++w.outcomes;
  if (was.task != 0) {
    ++counts_.outcomes;
    serving_.note(now - was.sent);
    note_duration(w, std::chrono::microseconds{std::min(what.took_us, took_us_max)});
    auto& l = *tasks_.at(was.task).at;
    tasks_.at(was.task).taken = true;
    host_.take(was.task, std::move(what.outcome), w.view.name);
    if (asked)
      share_out_after(w, l);
  }
  serve(w, now);
}

void dispatcher::take_refusal(worker& w, const task_refused& what, instant now) {
  if (!issue_of(w, what.issue))
    return;
  bool asked = issues_.at(what.issue).asked;
  auto was = answered(w, what.issue, now);
  ++w.refused;
  ++counts_.refused;
  if (what.code == errc::overloaded && !w.view.draining && !asked)
    hold_back(w, now);
  if (was.task != 0) {
    auto& t = tasks_.at(was.task);
    auto& l = *t.at;
    auto why = "worker `" + w.view.name + "` refused the task (" + std::string{to_string(what.code)}
               + "): " + readable(what.why);
    if (what.code == errc::invalid_value) {
      end_with(was.task,
               {what.code, "run task " + t.task_id + " of node `" + t.node + "`: " + why});
    } else if (what.code == errc::overloaded || what.code == errc::unknown_graph) {
      enqueue(was.task, t); // it did not begin, or stopped at a step border: not a loss
      if (what.code == errc::unknown_graph)
        refused_graph(w, l, now);
    } else {
      lost_once(was.task, why);
    }
    place_waiting(l, now);
    if (asked)
      share_out_after(w, l);
  }
  serve(w, now);
}

/// The worker lacks the graph, in spite of its hello.
void dispatcher::refused_graph(worker& w, const line& at, instant now) {
  auto graph = at.graph;
  std::erase_if(w.view.graphs, [&graph](const graph_offer& g) {
    return g.name == graph.name && g.hash == graph.hash;
  });
  for (auto* l : w.lines)
    if (l->graph == graph) {
      std::erase(l->able, &w.view);
      if (l->able.empty())
        l->nobody_since = now;
    }
  std::erase_if(w.lines, [&graph](const line* l) { return l->graph == graph; });
  host_.report({event_kind::graph_refused, w.view.name,
                "the worker refused a task of graph `" + graph.name
                  + "` and gets no more tasks of that graph"});
}

void dispatcher::hand_on(worker& w, issue_number number, message what) {
  auto* out = issue_of(w, number);
  if (out && out->task != 0)
    host_.pass_on(out->task, std::move(what));
}

void dispatcher::drain(task_number task, const std::string& why) {
  auto at = tasks_.find(task);
  if (at == tasks_.end())
    return;
  auto& t = at->second;
  t.drains = why;
  if (t.issue != 0)
    host_.send(issues_.at(t.issue).on->link, task_drain{t.issue, why});
}

void dispatcher::step_failed(task_number task) {
  auto at = tasks_.find(task);
  if (at == tasks_.end() || std::exchange(at->second.may_end, true) || at->second.issue == 0)
    return;
  auto issue = at->second.issue;
  host_.send(issues_.at(issue).on->link, cluster::step_failed{issue});
}

void dispatcher::reply(message what) {
  issue_number number = 0;
  if (auto* save = std::get_if<save_answer>(&what))
    number = save->issue;
  else if (auto* call = std::get_if<call_answer>(&what))
    number = call->issue;
  else if (auto* credit = std::get_if<part_credit>(&what))
    number = credit->issue;
  auto at = issues_.find(number);
  if (at != issues_.end() && at->second.task != 0)
    host_.send(at->second.on->link, std::move(what));
}

} // namespace troupe::cluster
