// dispatcher: tasks from their submission to their end.
#include "cluster/placement/dispatcher.hpp"

#include <algorithm>
#include <utility>

namespace troupe::cluster {

namespace {

constexpr std::size_t lines_kept = 256; // beyond this number, idle lines are dropped
constexpr nanoseconds retry_after_min = std::chrono::milliseconds{100};
constexpr nanoseconds retry_after_max = std::chrono::seconds{60};
constexpr int queue_parts = 8; // one of so many should be gone at the next attempt

std::string describe(const std::string& task_id, const std::string& node) {
  return "run task " + task_id + " of node `" + node + "` on a worker: ";
}

} // namespace

bool dispatcher::key_order::operator()(const line_key& a, const line_key& b) const noexcept {
  const auto& ga = std::get<graph_offer>(a);
  const auto& gb = std::get<graph_offer>(b);
  auto rest = [](const line_key& k, const graph_offer& g) {
    return std::tie(g.name, g.hash, g.build, std::get<1>(k), std::get<2>(k), std::get<3>(k));
  };
  return rest(a, ga) < rest(b, gb);
}

dispatcher::dispatcher(dispatcher_host& host, dispatcher_options options, instant now)
  : host_{host},
    options_{std::move(options)},
    waking_{options_.terms, now},
    started_{now},
    freed_at_{now} {}

run_number dispatcher::open_run(graph_offer graph, bytes facts) {
  auto& r = runs_[++last_run_];
  r.graph = std::move(graph);
  r.facts = std::move(facts);
  return last_run_;
}

void dispatcher::close_run(run_number number) {
  auto at = runs_.find(number);
  if (at == runs_.end())
    return;
  while (!at->second.tasks.empty())
    cancel(*at->second.tasks.begin());
  for (auto& [name, w] : workers_)
    if (w->runs.erase(number) > 0)
      host_.send(w->link, run_closed{number});
  for (auto* l : at->second.lines)
    --l->runs;
  runs_.erase(at);
  if (lines_.size() > lines_kept)
    drop_idle_lines();
}

void dispatcher::drop_idle_lines() {
  for (auto& [name, w] : workers_)
    std::erase_if(w->lines, [](const line* l) { return l->runs == 0; });
  std::erase_if(lines_, [](const auto& entry) { return entry.second->runs == 0; });
}

dispatcher::line& dispatcher::line_of(run& of, const on_worker& where) {
  for (auto* known : of.lines)
    if (known->where == where)
      return *known;
  auto& at = lines_[line_key{of.graph, where.label, where.choice, where.missing}];
  if (!at) {
    at = std::make_unique<line>();
    at->where = where;
    at->graph = of.graph;
    for (auto& [name, w] : workers_)
      join_line(*w, *at);
    at->nobody_since = nobody_since(*at);
  }
  ++at->runs;
  of.lines.push_back(at.get());
  return *at;
}

instant dispatcher::nobody_since(const line& at) const {
  for (auto gone = gone_.rbegin(); gone != gone_.rend(); ++gone)
    if (fitness_of(gone->view, at.wanted()) == fitness::fits)
      return gone->when;
  return started_;
}

bool dispatcher::nobody_comes(const line& at, instant now) const {
  return at.able.empty() && at.where.missing == no_worker::fail
         && now - at.nobody_since >= options_.worker_return;
}

error dispatcher::nobody_for(const line& at) const {
  std::vector<const worker_view*> all;
  for (const auto& [name, w] : workers_)
    all.push_back(&w->view);
  return why_nobody(all, at.wanted());
}

error dispatcher::queue_full() {
  ++counts_.overloaded;
  auto wait = std::chrono::duration_cast<std::chrono::milliseconds>(retry_after());
  return {errc::overloaded, "queue a task for workers: " + std::to_string(waiting_) + " tasks of "
                              + std::to_string(waiting_bytes_)
                              + " bytes wait (cluster_queue_tasks_max, cluster_queue_bytes_max): "
                                "try again in "
                              + std::to_string(wait.count()) + " ms"};
}

result<task_number> dispatcher::submit(task_request request, instant now) {
  auto of = runs_.find(request.run);
  if (of == runs_.end())
    return error{errc::invalid_value, "submit a task: unknown run " + std::to_string(request.run)};
  if (request.where.label.size() > limits::worker_label_bytes_max)
    return error{errc::invalid_config, "place a task of node `" + request.node
                                         + "`: the label is longer than worker_label_bytes_max ("
                                         + std::to_string(limits::worker_label_bytes_max) + ")"};
  auto& at = line_of(of->second, request.where);
  if (nobody_comes(at, now))
    return nobody_for(at);
  const auto* to = at.waiting.empty() ? place_for(at, request.task.size()) : nullptr;
  bool is_full = waiting_ >= options_.queue_tasks_max
                 || waiting_bytes_ + request.task.size() > options_.queue_bytes_max;
  if (!to && is_full)
    return queue_full();
  auto& step = of->second.step;
  if (!step || *step != request.step)
    step = std::make_shared<const bytes>(std::move(request.step));
  auto number = ++last_task_;
  auto& t = tasks_[number];
  t = {.run = request.run,
       .at = &at,
       .task_id = std::move(request.task_id),
       .node = std::move(request.node),
       .content = std::move(request.task),
       .step = step,
       .submitted = now};
  of->second.tasks.insert(number);
  ++counts_.submitted;
  if (to)
    issue_to(*to, number, now);
  else
    enqueue(number, t);
  return number;
}

void dispatcher::enqueue(task_number number, task& t) {
  t.at->waiting.push(t.run, number);
  ++waiting_;
  waiting_bytes_ += t.content.size();
}

task_number dispatcher::next_waiting(line& at) {
  auto number = at.waiting.pop();
  --waiting_;
  waiting_bytes_ -= tasks_.at(number).content.size();
  return number;
}

/// The worker for the next task of a line, with so many bytes; null: the task waits here.
const worker_view* dispatcher::place_for(const line& at, std::size_t bytes) const {
  const auto* to = pick(at.able, at.where.choice);
  return to ? to : pick_ahead(at.able, bytes);
}

/// Sends the facts that a task shares with others, unless the worker has them.
void dispatcher::tell_run(worker& w, const task& t) {
  auto [told, is_new] = w.runs.try_emplace(t.run);
  if (is_new) {
    const auto& r = runs_.at(t.run);
    host_.send(
      w.link,
      run_opened{.run = t.run, .graph = r.graph.hash, .facts = r.facts, .build = r.graph.build});
  }
  if (std::exchange(told->second, t.step) != t.step)
    host_.send(w.link, step_opened{.run = t.run, .facts = *t.step});
}

void dispatcher::issue_to(const worker_view& to, task_number number, instant now) {
  auto& w = *workers_.at(to.name);
  auto& t = tasks_.at(number);
  bool ahead = !to.has_room();
  tell_run(w, t);
  bool again = std::exchange(t.placed, true);
  if (!again)
    placing_.note(now - t.submitted);
  t.issue = ++last_issue_;
  auto& out = issues_[t.issue];
  out = {.task = number, .on = &w, .sent = now};
  w.issues.insert(t.issue);
  if (ahead)
    give_ahead(t.issue, out, t.content.size());
  ++w.view.running;
  w.view.last_given = t.issue;
  ++w.orders;
  ++counts_.orders;
  host_.send(w.link, task_order{.issue = t.issue,
                                .run = t.run,
                                .task_id = t.task_id,
                                .node = t.node,
                                .task = t.content,
                                .again = again,
                                .ahead = ahead});
  if (t.drains)
    host_.send(w.link, task_drain{t.issue, *t.drains});
  if (t.may_end)
    host_.send(w.link, cluster::step_failed{t.issue});
}

void dispatcher::place_waiting(line& at, instant now) {
  while (!at.waiting.empty()) {
    const auto* to = place_for(at, tasks_.at(at.waiting.front()).content.size());
    if (!to)
      return;
    issue_to(*to, next_waiting(at), now);
  }
}

/// Gives a worker the tasks that wait for it. The lines take turns.
void dispatcher::serve(worker& w, instant now) {
  auto may_have_next = [this, &w](const line& at) {
    return !at.waiting.empty()
           && (w.view.has_room()
               || w.view.has_room_ahead(tasks_.at(at.waiting.front()).content.size()));
  };
  for (std::size_t idle = 0; waiting_ > 0 && idle < w.lines.size();) {
    auto& at = *w.lines[w.next_line++ % w.lines.size()];
    if (may_have_next(at)) {
      idle = 0;
      issue_to(w.view, next_waiting(at), now);
    } else {
      ++idle;
    }
  }
  if (ahead_ > 0 && w.view.has_room())
    ask_for_more(w);
}

void dispatcher::give_up_on(line& at) {
  auto why = nobody_for(at);
  while (!at.waiting.empty()) {
    auto number = next_waiting(at);
    const auto& t = tasks_.at(number);
    if (t.losses == 0)
      end_with(number, why);
    else
      end_with(number,
               {errc::worker_lost, describe(t.task_id, t.node) + t.last_loss
                                     + "; then no other worker could take it: " + why.message()});
  }
}

/// A loss of a task: it waits again, or fails after reissues_max reissues.
void dispatcher::lost_once(task_number number, const std::string& why) {
  auto& t = tasks_.at(number);
  t.issue = 0;
  t.taken = false;
  t.last_loss = why;
  if (++t.losses > options_.reissues_max) {
    auto times = std::to_string(t.losses);
    end_with(number,
             {errc::worker_lost,
              describe(t.task_id, t.node) + "given up after " + times
                + " workers were lost with it (task_reissues_max); the last reason: " + why});
    return;
  }
  ++counts_.reissued;
  enqueue(number, t);
}

void dispatcher::end_with(task_number number, error why) {
  ++counts_.failed;
  forget(number);
  host_.fail(number, std::move(why));
}

void dispatcher::forget(task_number number) {
  auto at = tasks_.find(number);
  auto& t = at->second;
  if (t.at->waiting.erase(t.run, number)) {
    --waiting_;
    waiting_bytes_ -= t.content.size();
  }
  runs_.at(t.run).tasks.erase(number);
  tasks_.erase(at);
}

void dispatcher::cancel(task_number number) {
  auto at = tasks_.find(number);
  if (at == tasks_.end())
    return;
  if (at->second.issue != 0) {
    auto& out = issues_.at(at->second.issue);
    no_longer_ahead(at->second.issue, out);
    out.task = 0;
    host_.send(out.on->link, task_stop{at->second.issue});
  }
  ++counts_.cancelled;
  const auto& l = *at->second.at;
  forget(number);
  share_out(l);
}

void dispatcher::accepted(task_number number) {
  auto at = tasks_.find(number);
  if (at == tasks_.end() || !at->second.taken)
    return; // cancelled meanwhile
  ++counts_.accepted;
  forget(number);
}

void dispatcher::rejected(task_number number, const error& why, instant now) {
  auto at = tasks_.find(number);
  if (at == tasks_.end() || !at->second.taken)
    return;
  auto& l = *at->second.at;
  lost_once(number, "its outcome is not valid: " + why.message());
  place_waiting(l, now);
}

void dispatcher::tick(instant now) {
  waking_.tick(now);
  std::vector<std::pair<worker*, std::string>> lost;
  for (auto& [name, w] : workers_) {
    trust_again(*w, now);
    if (auto why = waking_.may_judge() ? why_lost(*w, now) : std::string{}; !why.empty())
      lost.emplace_back(w.get(), std::move(why));
  }
  for (const auto& [w, why] : lost)
    remove_worker(*w, event_kind::worker_lost, why, now);
  look_for_ended(now);
  for (auto& [key, l] : lines_)
    if (!l->waiting.empty() && nobody_comes(*l, now))
      give_up_on(*l);
    else
      report_waiting(*l, now);
}

/// Reports once that tasks wait for a suitable worker, perhaps for ever.
void dispatcher::report_waiting(line& at, instant now) {
  if (at.waiting.empty() || !at.able.empty() || now - at.nobody_since < options_.worker_return
      || std::exchange(at.waiting_reported, true))
    return;
  host_.report({event_kind::nobody_there, at.graph.name,
                std::to_string(at.waiting.size()) + " tasks wait: " + nobody_for(at).message()});
}

nanoseconds dispatcher::retry_after() const noexcept {
  // Both factors are bounded, but their product may overflow.
  auto most = retry_after_max.count();
  auto each = std::min<std::int64_t>(between_freed_.count(), most);
  auto parts = static_cast<std::int64_t>(waiting_ / queue_parts + 1);
  if (each > most / parts)
    return retry_after_max;
  return std::max(nanoseconds{each * parts}, retry_after_min);
}

dispatcher_status dispatcher::status(instant now) const {
  dispatcher_status out{.incarnation = options_.incarnation,
                        .terms = options_.terms,
                        .workers = {},
                        .lines = {},
                        .runs = runs_.size(),
                        .tasks = tasks_.size(),
                        .waiting = waiting_,
                        .waiting_bytes = waiting_bytes_,
                        .late_ticks = waking_.late_ticks(),
                        .counts = counts_,
                        .placing = placing_,
                        .serving = serving_};
  for (const auto& [name, w] : workers_)
    out.workers.push_back({.name = name,
                           .incarnation = w->incarnation,
                           .session = w->session,
                           .labels = w->view.labels,
                           .graphs = w->view.graphs,
                           .capacity = w->capacity,
                           .allowed = w->view.capacity,
                           .running = w->view.running,
                           .ahead = w->view.running - std::min(w->view.running, w->view.capacity),
                           .foreign = w->view.foreign,
                           .draining = w->view.draining,
                           .reachable = w->view.reachable && w->view.heeds,
                           .terms = w->terms,
                           .lease_left = w->terms.lease - (waking_.at(now) - w->renewed),
                           .times = w->beats.times(),
                           .orders = w->orders,
                           .outcomes = w->outcomes,
                           .refused = w->refused,
                           .tasks = w->running});
  for (const auto& [key, l] : lines_)
    out.lines.push_back({.graph = l->graph.name,
                         .label = l->where.label,
                         .waiting = l->waiting.size(),
                         .workers = l->able.size()});
  return out;
}

} // namespace troupe::cluster
