// status: events and figures that homes and workers report, for the log and on request. Plain data;
// status_value.hpp makes JSON of it.
#pragma once

#include "cluster/wire/fair_queue.hpp"
#include "cluster/wire/lease.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::cluster {

enum class event_kind : std::uint8_t {
  worker_joined,
  worker_lost,
  worker_replaced, // it presented itself again
  worker_draining,
  worker_left, // drained
  hello_refused,
  graph_refused, // a worker's version of the graph differs
  misbehaviour,  // logged once a session and kind
  session_begun, // of a worker
  session_ended,
  drained,
  home_lost,    // reported by a worker: the home was silent for the lease
  nobody_there, // tasks wait for a suitable worker; reported once, until one comes
};

/// An event that is worth a line in the log. `peer`: the name of a worker, or the incarnation of a
/// home.
struct cluster_event {
  event_kind kind;
  std::string peer;
  std::string text;
};

/// Whether an operator should look at the event; the others are news.
constexpr bool is_trouble(event_kind kind) noexcept {
  return kind == event_kind::worker_lost || kind == event_kind::home_lost
         || kind == event_kind::hello_refused || kind == event_kind::graph_refused
         || kind == event_kind::misbehaviour || kind == event_kind::nobody_there;
}

/// `3 tasks`, `1 task`.
std::string count_of(std::size_t count, std::string_view noun);

/// A peer's text for a log or an error: of bounded length, without control characters.
std::string readable(std::string_view text);

/// Durations in buckets, by powers of two. Units: quantiles are upper bounds.
class latencies {
public:
  void note(nanoseconds took) noexcept;
  std::uint64_t count() const noexcept { return count_; }
  nanoseconds mean() const noexcept;
  nanoseconds most() const noexcept { return most_; }
  /// A time that at least this part (0 to 1) of the durations does not exceed.
  nanoseconds quantile(double part) const noexcept;

private:
  std::array<std::uint64_t, 64> buckets_{}; // of [2^(i-1), 2^i) ns
  std::uint64_t count_ = 0;
  nanoseconds sum_{0}, most_{0};
};

struct worker_status {
  std::string name;
  std::string incarnation;
  session_number session = 0;
  std::vector<std::string> labels;
  std::vector<graph_offer> graphs;
  std::uint32_t capacity = 0; // from its hello
  std::uint32_t allowed = 0;  // less after it refused tasks as full
  std::uint32_t running = 0;  // orders of this home that it has not answered
  std::uint32_t ahead = 0;    // orders beyond `allowed`, included in `running`
  std::uint32_t foreign = 0;
  bool draining = false;
  bool reachable = true; // its link is up, and it has answered its welcome
  lease_terms terms;
  nanoseconds lease_left{0};
  round_trips times;
  std::uint64_t orders = 0, outcomes = 0, refused = 0;
  latencies tasks; // from a task's begin to its end, as the worker reports it
};

/// The waiting tasks that need the same workers.
struct line_status {
  std::string graph;
  std::string label;
  std::size_t waiting = 0;
  std::size_t workers = 0; // that could take them
};

struct dispatcher_counts {
  std::uint64_t submitted = 0, accepted = 0, failed = 0, cancelled = 0;
  std::uint64_t orders = 0, outcomes = 0, refused = 0, reissued = 0;
  std::uint64_t ahead = 0;   // orders that were given ahead
  std::uint64_t asked = 0;   // of these, withdrawn because another worker had room
  std::uint64_t stale = 0;   // messages about an older issue, dropped
  std::uint64_t unknown = 0; // messages on a link without a session, dropped
  std::uint64_t hellos_refused = 0, workers_lost = 0, misbehaviour = 0, overloaded = 0;
};

struct dispatcher_status {
  std::string incarnation;
  lease_terms terms;
  std::vector<worker_status> workers;
  std::vector<line_status> lines;
  std::size_t runs = 0, tasks = 0; // unfinished
  std::size_t waiting = 0, waiting_bytes = 0;
  std::uint64_t late_ticks = 0;
  dispatcher_counts counts;
  latencies placing; // from submission to the first order
  latencies serving; // from an order to its outcome
};

struct session_status {
  std::uint32_t home = 0; // its index among the homes that the worker joins
  std::string incarnation;
  session_number session = 0;
  lease_terms terms;
  nanoseconds lease_left{0};
  bool reachable = true;
  std::size_t tasks = 0, waiting = 0, runs = 0;
  round_trips times;
};

struct admission_counts {
  std::uint64_t begun = 0, outcomes = 0, given_back = 0, stopped = 0, refused = 0;
  std::uint64_t late = 0;    // ends of tasks after their homes stopped waiting
  std::uint64_t stale = 0;   // orders heard twice
  std::uint64_t unknown = 0; // messages on a link without a session, dropped
  std::uint64_t sessions = 0, leases_over = 0, misbehaviour = 0;
};

struct admission_status {
  std::string name;
  std::string incarnation;
  std::vector<std::string> labels;
  std::vector<graph_offer> graphs;
  std::uint32_t capacity = 0;
  std::uint32_t busy = 0;  // includes stopped tasks whose bodies still run
  std::size_t waiting = 0; // orders
  bool draining = false;
  std::vector<session_status> sessions;
  std::size_t left = 0;    // tasks whose bodies run although their homes are gone
  nanoseconds left_for{0}; // the longest of them
  admission_counts counts;
  latencies running; // from a task's begin to its end
};

} // namespace troupe::cluster
