// status_value: the status that `troupe cluster status` shows, as a value.
#include "cluster/status_value.hpp"

#include "cluster/wire/fields.hpp"

namespace troupe::cluster {

namespace {

value number(std::uint64_t n) {
  return value(static_cast<std::int64_t>(n));
}

value ms(nanoseconds t) {
  return value(std::chrono::duration<double, std::milli>(t).count());
}

value of(const round_trips& times) {
  return {{"count", number(times.count())},
          {"smoothed_ms", ms(times.smoothed())},
          {"least_ms", ms(times.least())},
          {"most_ms", ms(times.most())}};
}

value of(const latencies& took) {
  return {{"count", number(took.count())},
          {"mean_ms", ms(took.mean())},
          {"p50_ms", ms(took.quantile(0.5))},
          {"p99_ms", ms(took.quantile(0.99))},
          {"most_ms", ms(took.most())}};
}

value of(const graph_offer& graph) {
  return {{"name", value(graph.name)},
          {"hash", value(graph.hash)},
          {"build", value(graph.build)},
          {"version", value(graph.version)}};
}

value of(const worker_status& w) {
  return {{"name", value(w.name)},
          {"incarnation", value(w.incarnation)},
          {"session", number(w.session)},
          {"labels", list_of(w.labels)},
          {"graphs", list_of(w.graphs, [](const graph_offer& g) { return of(g); })},
          {"capacity", number(w.capacity)},
          {"allowed", number(w.allowed)},
          {"running", number(w.running)},
          {"ahead", number(w.ahead)},
          {"foreign", number(w.foreign)},
          {"draining", value(w.draining)},
          {"reachable", value(w.reachable)},
          {"lease_ms", ms(w.terms.lease)},
          {"heartbeat_ms", ms(w.terms.heartbeat)},
          {"lease_left_ms", ms(w.lease_left)},
          {"round_trip", of(w.times)},
          {"orders", number(w.orders)},
          {"outcomes", number(w.outcomes)},
          {"refused", number(w.refused)},
          {"tasks", of(w.tasks)}};
}

value of(const session_status& s) {
  return {{"incarnation", value(s.incarnation)},
          {"session", number(s.session)},
          {"lease_ms", ms(s.terms.lease)},
          {"heartbeat_ms", ms(s.terms.heartbeat)},
          {"lease_left_ms", ms(s.lease_left)},
          {"reachable", value(s.reachable)},
          {"tasks", number(s.tasks)},
          {"waiting", number(s.waiting)},
          {"runs", number(s.runs)},
          {"round_trip", of(s.times)}};
}

} // namespace

value to_value(const admission_status& d) {
  return {{"kind", value("worker")},
          {"name", value(d.name)},
          {"incarnation", value(d.incarnation)},
          {"labels", list_of(d.labels)},
          {"graphs", list_of(d.graphs, [](const graph_offer& g) { return of(g); })},
          {"capacity", number(d.capacity)},
          {"running", number(d.busy)},
          {"waiting", number(d.waiting)},
          {"draining", value(d.draining)},
          {"homes", list_of(d.sessions, [](const session_status& s) { return of(s); })},
          {"left", number(d.left)},
          {"left_for_ms", ms(d.left_for)},
          {"begun", number(d.counts.begun)},
          {"outcomes", number(d.counts.outcomes)},
          {"given_back", number(d.counts.given_back)},
          {"stopped", number(d.counts.stopped)},
          {"refused", number(d.counts.refused)},
          {"leases_over", number(d.counts.leases_over)},
          {"tasks", of(d.running)}};
}

value to_value(const dispatcher_status& d) {
  auto lines = list_of(d.lines, [](const line_status& line) -> value {
    return {{"graph", value(line.graph)},
            {"label", value(line.label)},
            {"waiting", number(line.waiting)},
            {"workers", number(line.workers)}};
  });
  return {{"kind", value("home")},
          {"incarnation", value(d.incarnation)},
          {"lease_ms", ms(d.terms.lease)},
          {"workers", list_of(d.workers, [](const worker_status& w) { return of(w); })},
          {"lines", std::move(lines)},
          {"runs", number(d.runs)},
          {"unfinished", number(d.tasks)},
          {"waiting", number(d.waiting)},
          {"submitted", number(d.counts.submitted)},
          {"accepted", number(d.counts.accepted)},
          {"failed", number(d.counts.failed)},
          {"reissued", number(d.counts.reissued)},
          {"ahead", number(d.counts.ahead)},
          {"asked_back", number(d.counts.asked)},
          {"stale", number(d.counts.stale)},
          {"misbehaved", number(d.counts.misbehaviour)},
          {"workers_lost", number(d.counts.workers_lost)},
          {"hellos_refused", number(d.counts.hellos_refused)},
          {"placing", of(d.placing)},
          {"serving", of(d.serving)}};
}

} // namespace troupe::cluster
