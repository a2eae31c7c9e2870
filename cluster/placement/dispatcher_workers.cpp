// dispatcher: workers, which join, are lost, drain, and get fewer tasks after they were full.
#include "cluster/placement/dispatcher.hpp"

#include <algorithm>
#include <utility>

namespace troupe::cluster {

namespace {

constexpr std::size_t gone_workers_kept = 64;
constexpr std::size_t hash_digits = 32;

bool is_name(const std::string& text) {
  return !text.empty() && text.size() <= limits::worker_name_bytes_max && text == readable(text);
}

bool is_hash(const std::string& text) {
  return text.size() == hash_digits
         && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

/// The fault of a hello; empty when it is valid.
std::string flaw_of(const hello& what) {
  if (!is_name(what.name))
    return "its name is empty, too long (worker_name_bytes_max) or has control characters";
  if (!is_name(what.incarnation))
    return "its incarnation is empty, too long (worker_name_bytes_max) or has control characters";
  if (what.capacity == 0 || what.capacity > limits::worker_capacity_max)
    return "its capacity is 0 or more than worker_capacity_max ("
           + std::to_string(limits::worker_capacity_max) + ")";
  if (what.labels.size() > limits::worker_labels_max)
    return "it has more labels than worker_labels_max (" + std::to_string(limits::worker_labels_max)
           + ")";
  for (const auto& label : what.labels)
    if (label.empty() || label.size() > limits::worker_label_bytes_max || label != readable(label))
      return "a label is empty, too long (worker_label_bytes_max) or has control characters";
  if (what.graphs.size() > limits::worker_graphs_max)
    return "it has more graphs than worker_graphs_max (" + std::to_string(limits::worker_graphs_max)
           + ")";
  if (auto terms = asked_terms(what.heartbeat, what.lease))
    if (auto fits = check_terms(*terms); !fits)
      return "its lease: " + fits.error().message();
  if (!is_well_formed(what.process))
    return "its process identity is not valid";
  for (const auto& graph : what.graphs)
    if (graph.name.size() > limits::node_name_bytes_max || !is_hash(graph.hash))
      return "the name of a graph is too long (node_name_bytes_max), or its hash is not 32 hex "
             "digits";
  return {};
}

} // namespace

void dispatcher::heard(link_number link, message what, instant now) {
  auto at = links_.find(link);
  if (at == links_.end()) {
    if (auto* first = std::get_if<hello>(&what))
      present(link, std::move(*first), now);
    else
      ++counts_.unknown;
    return;
  }
  auto& w = *at->second;
  w.heard = waking_.at(now);
  if (!w.view.heeds)
    answers_welcome(w, now);
  if (auto* beat = std::get_if<heartbeat>(&what))
    take_heartbeat(w, *beat, now);
  else if (auto* outcome = std::get_if<task_outcome>(&what))
    take_outcome(w, std::move(*outcome), now);
  else if (auto* refused = std::get_if<task_refused>(&what))
    take_refusal(w, *refused, now);
  else if (auto* kept = std::get_if<task_kept>(&what))
    take_kept(w, kept->issue);
  else if (auto* save = std::get_if<save_order>(&what))
    hand_on(w, save->issue, std::move(*save));
  else if (auto* call = std::get_if<call_order>(&what))
    hand_on(w, call->issue, std::move(*call));
  else if (auto* part = std::get_if<task_part>(&what))
    hand_on(w, part->issue, std::move(*part));
  else if (auto* sign = std::get_if<task_sign>(&what))
    hand_on(w, sign->issue, *sign);
  else if (auto* drains = std::get_if<draining>(&what))
    drain_worker(w, drains->why, now);
  else
    misbehaved(w, "the worker sent a message that workers do not send to homes");
}

void dispatcher::present(link_number link, hello what, instant now) {
  if (what.protocol != protocol_version) {
    refuse(link, what, errc::protocol_mismatch,
           "this home speaks protocol version " + std::to_string(protocol_version) + ", the worker "
             + std::to_string(what.protocol) + ": update the older one",
           now);
    return;
  }
  if (auto flaw = flaw_of(what); !flaw.empty()) {
    refuse(link, what, errc::invalid_value, flaw, now);
    return;
  }
  if (!make_way(link, what, now))
    return;
  if (workers_.size() >= limits::cluster_workers_max) {
    refuse(link, what, errc::overloaded,
           "this home has cluster_workers_max (" + std::to_string(limits::cluster_workers_max)
             + ") workers",
           now);
    return;
  }
  add_worker(link, std::move(what), now);
}

/// Sends each refusal, but reports a repeated one only once in a while.
void dispatcher::refuse(link_number link, const hello& what, errc code, const std::string& why,
                        instant now) {
  ++counts_.hellos_refused;
  auto name = readable(what.name);
  host_.send(link, refusal{.code = code, .why = "join as worker `" + name + "`: " + why});
  host_.end_link(link);
  auto said = refusals_.note(name + ": " + why, "refused: " + why, refusal_log::time_point{now});
  if (!said.empty())
    host_.report({event_kind::hello_refused, name, said});
}

/// Ends an older session of the same name: that of a worker that presents itself again or was
/// started again. Refuses the hello while another worker of that name is reachable, and sends
/// messages.
bool dispatcher::make_way(link_number link, const hello& what, instant now) {
  auto at = workers_.find(what.name);
  if (at == workers_.end())
    return true;
  auto& old = *at->second;
  bool same = old.incarnation == what.incarnation;
  if (!same && old.view.reachable && old.view.heeds && !has_ended(old)) {
    refuse(link, what, errc::conflict,
           "another worker has this name, or the lease of a former one has not expired", now);
    return false;
  }
  remove_worker(old, event_kind::worker_replaced,
                same ? "the worker joined again" : "the worker was restarted", now);
  return true;
}

void dispatcher::add_worker(link_number link, hello what, instant now) {
  auto& w = *(workers_[what.name] = std::make_unique<worker>());
  w.view.name = std::move(what.name);
  w.view.labels = std::move(what.labels);
  w.view.graphs = std::move(what.graphs);
  w.view.capacity = w.capacity = what.capacity;
  w.view.ahead = ahead_at(w);
  w.view.heeds = false;
  w.view.any_build = options_.other_builds && what.other_builds;
  w.terms = agreed(options_.terms, asked_terms(what.heartbeat, what.lease));
  normalise(w.view);
  w.incarnation = std::move(what.incarnation);
  w.link = link;
  w.session = ++last_session_;
  w.process = {options_.process, std::move(what.process)};
  has_ended(w); // only a process that was seen alive can be found ended
  w.heard = w.acknowledged = w.renewed = waking_.at(now);
  links_[link] = &w;
  using std::chrono::milliseconds;
  host_.send(link, welcome{.session = w.session,
                           .home = options_.incarnation,
                           .lease = std::chrono::duration_cast<milliseconds>(w.terms.lease),
                           .heartbeat = std::chrono::duration_cast<milliseconds>(w.terms.heartbeat),
                           .process = options_.process});
  join_lines(w);
}

/// The time that the worker was gone, as text; empty when it is new.
std::string dispatcher::back_after(const worker& w, instant now) const {
  auto gone = std::ranges::find(gone_.rbegin(), gone_.rend(), w.view.name,
                                [](const gone_worker& g) { return g.view.name; });
  if (gone == gone_.rend())
    return {};
  auto time = std::chrono::duration_cast<std::chrono::milliseconds>(now - gone->when);
  return ", back after " + std::to_string(time.count()) + " ms";
}

void dispatcher::answers_welcome(worker& w, instant now) {
  w.view.heeds = true;
  host_.report({event_kind::worker_joined, w.view.name,
                "capacity " + std::to_string(w.capacity) + ", session " + std::to_string(w.session)
                  + back_after(w, now)});
  serve(w, now);
}

void dispatcher::join_lines(worker& w) {
  for (auto& [key, l] : lines_)
    join_line(w, *l);
}

/// Another graph of the same name, or another build of it, is reported once, on both sides.
void dispatcher::join_line(worker& w, line& at) {
  auto how = fitness_of(w.view, at.wanted());
  if (how == fitness::fits) {
    at.waiting_reported = false;
    at.able.push_back(&w.view);
    w.lines.push_back(&at);
  } else if ((how == fitness::other_graph || how == fitness::other_build)
             && w.other_graphs.insert(at.graph.hash + at.graph.build).second) {
    tell_other_graph(w, at.graph, how == fitness::other_build);
  }
}

void dispatcher::tell_other_graph(const worker& w, const graph_offer& own, bool is_other_build) {
  const auto& graphs = w.view.graphs;
  auto its = std::ranges::find_if(graphs, [&](const graph_offer& g) {
    return g.name == own.name && (!is_other_build || g.hash == own.hash);
  });
  host_.report({event_kind::graph_refused, w.view.name,
                "the worker gets no tasks of graph `" + own.name + "`, because the worker has "
                  + (is_other_build ? "another build of it" : "another graph of that name")
                  + ": the worker's: " + build_text(its->hash, its->build, its->version)
                  + "; this home's: " + build_text(own.hash, own.build, own.version)
                  + (is_other_build ? other_builds_remedy : "")});
  host_.send(w.link, graph_refused{own.name, own.hash, own.build, own.version});
}

void dispatcher::note_gone(const worker& w, instant now) {
  gone_.push_back({.when = now, .view = w.view});
  gone_.back().view.draining = false;
  if (gone_.size() > gone_workers_kept)
    gone_.pop_front();
}

/// Removes a worker from its lines, so that it gets no more tasks.
void dispatcher::stop_offering(worker& w, instant now) {
  for (auto* l : w.lines) {
    std::erase(l->able, &w.view);
    if (l->able.empty())
      l->nobody_since = now;
  }
  w.lines.clear();
}

/// The reason why the worker's lease is over; empty while it is not. A worker that sends but hears
/// nothing stops by itself, and can't report it.
std::string dispatcher::why_lost(const worker& w, instant now) const {
  auto is_over = [&](nanoseconds since) { return waking_.at(now) - since >= w.terms.lease; };
  if (!is_over(w.renewed))
    return {};
  auto lease = std::chrono::duration_cast<std::chrono::milliseconds>(w.terms.lease);
  auto of_lease = " of " + std::to_string(lease.count()) + " ms";
  return (is_over(w.heard) ? "the worker was silent for its lease"
                           : "the worker did not answer this home for its lease")
         + of_lease;
}

/// Whether the worker's process is certain to have ended.
bool dispatcher::has_ended(worker& w) {
  return w.process.ended_by_now([this](std::uint32_t pid) { return host_.look_at(pid); });
}

void dispatcher::look_for_ended(instant now) {
  std::vector<worker*> broken;
  for (auto& [name, w] : workers_)
    if (!w->view.reachable)
      broken.push_back(w.get());
  for (auto* w : broken)
    lose_if_ended(*w, now);
}

void dispatcher::lose_if_ended(worker& w, instant now) {
  if (has_ended(w))
    remove_worker(w, event_kind::worker_lost, "its process has ended", now);
}

/// Ends the worker's session. Its tasks are handed out again, in the order in which it got them.
void dispatcher::remove_worker(worker& w, event_kind kind, const std::string& why, instant now) {
  if (!w.view.draining)
    note_gone(w, now);
  stop_offering(w, now);
  auto gone = std::move(workers_.extract(w.view.name).mapped());
  links_.erase(gone->link);
  bool was_here = gone->view.heeds; // a worker that never answered its welcome has not joined
  counts_.workers_lost += was_here && kind == event_kind::worker_lost ? 1 : 0;
  host_.send(gone->link, refusal{.code = errc::worker_lost, .why = why});
  host_.end_link(gone->link);
  auto again = counts_.reissued, given_up = counts_.failed;
  std::vector<line*> touched;
  for (auto number : gone->issues) {
    no_longer_ahead(number, issues_.at(number));
    auto task = issues_.extract(number).mapped().task;
    if (task == 0)
      continue;
    auto* l = tasks_.at(task).at;
    lost_once(task, "worker `" + gone->view.name + "`: " + why);
    if (std::find(touched.begin(), touched.end(), l) == touched.end())
      touched.push_back(l);
  }
  again = counts_.reissued - again;
  given_up = counts_.failed - given_up;
  if (was_here)
    host_.report({kind, gone->view.name,
                  why + "; " + count_of(again, "task") + " handed out again"
                    + (given_up > 0 ? ", " + count_of(given_up, "task") + " given up" : "")});
  for (auto* l : touched) {
    place_waiting(*l, now);
    share_out(*l);
  }
}

void dispatcher::end() {
  for (auto& [name, w] : workers_)
    host_.send(w->link, refusal{.code = errc::runtime_stopped, .why = "the home has ended"});
}

void dispatcher::drain_worker(worker& w, const std::string& why, instant now) {
  if (std::exchange(w.view.draining, true))
    return;
  note_gone(w, now);
  stop_offering(w, now);
  host_.report({event_kind::worker_draining, w.view.name, readable(why)});
}

void dispatcher::pass_drain(const drain_request& what) {
  if (auto at = workers_.find(what.worker); at != workers_.end())
    host_.send(at->second->link, what);
}

/// The worker was full. It gets no more than it has, for a time that doubles with each refusal.
void dispatcher::hold_back(worker& w, instant now) {
  w.view.capacity = std::min(w.view.capacity, w.view.running);
  w.view.ahead = 0;
  if (std::exchange(w.held_back, true))
    return; // one of several refusals
  nanoseconds first = limits::worker_backoff_first, most = limits::worker_backoff_max;
  w.backoff = std::clamp(2 * w.backoff, first, most);
  w.trusted_at = now + w.backoff;
}

void dispatcher::trust_again(worker& w, instant now) {
  if (!w.backoff.count() || now < w.trusted_at)
    return;
  w.view.capacity = std::min(w.capacity, std::max(2 * w.view.capacity, w.view.running + 1));
  w.trusted_at = now + w.backoff;
  w.held_back = false;
  if (w.view.capacity == w.capacity) {
    w.view.ahead = ahead_at(w);
    w.backoff = nanoseconds{0};
  }
  serve(w, now);
}

void dispatcher::misbehaved(worker& w, const std::string& what) {
  ++counts_.misbehaviour;
  if (!std::exchange(w.misbehaved, true))
    host_.report({event_kind::misbehaviour, w.view.name, what});
}

void dispatcher::link_broken(link_number link, instant now) {
  auto at = links_.find(link);
  if (at == links_.end())
    return;
  auto& w = *at->second;
  w.view.reachable = false;
  if (w.view.draining && w.issues.empty())
    remove_worker(w, event_kind::worker_left, "the worker has drained", now);
  else
    lose_if_ended(w, now);
}

void dispatcher::link_restored(link_number link, instant now) {
  auto at = links_.find(link);
  if (at == links_.end())
    return;
  at->second->view.reachable = true;
  serve(*at->second, now);
  share_out_of(*at->second); // no other worker could ask for its orders
}

} // namespace troupe::cluster
