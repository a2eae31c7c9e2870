// What a home and a worker tell about themselves: events for the log as they happen, and the whole
// picture when somebody asks. Plain data; it becomes JSON elsewhere.
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
  worker_replaced, // it presented itself anew
  worker_draining,
  worker_left, // drained
  hello_refused,
  graph_refused, // a worker's version of it is another one
  misbehaviour,  // reported once a session and kind
  session_begun, // of a worker
  session_ended,
  drained,
  home_lost,    // by a worker: it was silent for the lease
  nobody_there, // tasks wait for a worker that could take them; said once, until one comes
};

/// Something worth a line in the log. `peer`: the name of a worker, or the incarnation of a home.
struct cluster_event {
  event_kind kind;
  std::string peer;
  std::string text;
};

/// Whether an operator should look at it; the others are news.
constexpr bool is_trouble(event_kind kind) noexcept {
  return kind == event_kind::worker_lost || kind == event_kind::home_lost
         || kind == event_kind::hello_refused || kind == event_kind::graph_refused
         || kind == event_kind::misbehaviour || kind == event_kind::nobody_there;
}

/// `3 tasks`, `1 task`.
std::string count_of(std::size_t count, std::string_view noun);

/// A text of somebody else as it may stand in a log or an error: of bounded length, and without
/// control characters.
std::string readable(std::string_view text);

/// How long things took, by powers of two. Units: the answers are upper bounds.
class latencies {
public:
  void note(nanoseconds took) noexcept;
  std::uint64_t count() const noexcept { return count_; }
  nanoseconds mean() const noexcept;
  nanoseconds most() const noexcept { return most_; }
  /// At least this part of them (0..1) took no longer.
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
  std::uint32_t capacity = 0; // as it said
  std::uint32_t allowed = 0;  // less after it refused tasks as full
  std::uint32_t running = 0;  // orders of this home that it has not answered
  std::uint32_t ahead = 0;    // of those: beyond what it may run
  std::uint32_t foreign = 0;
  bool draining = false;
  bool reachable = true; // its link is up, and it has answered its welcome
  lease_terms terms;
  nanoseconds lease_left{0};
  round_trips times;
  std::uint64_t orders = 0, outcomes = 0, refused = 0;
  latencies tasks; // from when it began one to its end, as it says
};

/// Tasks that want the same workers.
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
  std::uint64_t asked = 0;   // of those: asked for, because another worker had room
  std::uint64_t stale = 0;   // about an older issue, dropped
  std::uint64_t unknown = 0; // said on a link that has no session, dropped
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
  std::uint32_t home = 0; // which of those the worker was told to join
  std::string incarnation;
  session_number session = 0;
  lease_terms terms;
  nanoseconds lease_left{0};
  bool reachable = true;
  std::size_t tasks = 0, waiting = 0, runs = 0;
  round_trips times;
};

struct desk_counts {
  std::uint64_t begun = 0, outcomes = 0, given_back = 0, stopped = 0, refused = 0;
  std::uint64_t late = 0;    // ends of tasks that nobody waited for any more
  std::uint64_t stale = 0;   // orders heard twice
  std::uint64_t unknown = 0; // said on a link that has no session, dropped
  std::uint64_t sessions = 0, leases_over = 0, misbehaviour = 0;
};

struct desk_status {
  std::string name;
  std::string incarnation;
  std::vector<std::string> labels;
  std::vector<graph_offer> graphs;
  std::uint32_t capacity = 0;
  std::uint32_t busy = 0;  // stopped tasks that are not gone included
  std::size_t waiting = 0; // orders
  bool draining = false;
  std::vector<session_status> sessions;
  std::size_t left = 0;    // tasks whose bodies run, and whose homes are gone
  nanoseconds left_for{0}; // the longest of them
  desk_counts counts;
  latencies running; // from when a task was begun to its end
};

} // namespace troupe::cluster
