// The protocol between a home process and its workers, on one page: what the two say to each other,
// as plain data. How it becomes bytes is in wire.hpp, how bytes cross in links; neither is known
// here.
//
//   worker ── hello ──▶ home          ── welcome | refusal ──▶ worker
//   both   ── heartbeat ──▶ the other
//   home   ── run_opened, step_opened, task_order, run_closed, graph_refused ──▶ worker
//   home   ── task_withdraw, task_stop, task_drain ──▶ worker
//   worker ── task_outcome | task_refused ──▶ home, task_kept ──▶ home
//   worker ── save_order, call_order ──▶ home      ── save_answer, call_answer ──▶ worker
//   worker ── task_part, task_sign ──▶ home        ── part_credit ──▶ worker
//   worker ── draining ──▶ home
//   anyone ── status_request, drain_request ──▶ worker or home ── status_reply ──▶
//
// Words:
//   home     the process whose runs these are. It alone stores.
//   worker   a process that runs tasks for homes. What it knows is in some checkpoint, or nothing.
//   session  the time in which one worker works for one home without a break longer than the lease.
//            The home numbers its sessions; what is said within an older one counts no more.
//   issue    one handing-out of a task. A task that is handed out again has another issue number
//            and the same task id; what is said about an older issue counts no more. Numbers grow
//            within a session. Each order is answered once, by an outcome or a refusal.
//   ahead    an order that comes while the worker is full: it waits there for a place. Until it is
//            begun it may be withdrawn, to go where a place is free.
//   lease    how long a worker that is not heard of keeps its tasks.
#pragma once

#include <troupe/error.hpp>
#include <troupe/limits.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace troupe::cluster {

/// Changes whenever processes built before can't be understood any more.
inline constexpr std::uint32_t protocol_version = 5;

using issue_number = std::uint64_t;   // of a home, never used again; 0: none
using session_number = std::uint64_t; // likewise
using link_number = std::uint64_t;    // of a stream, on this side; never used again
using bytes = std::vector<std::uint8_t>;

/// A graph, or one nested in it, that a process has.
struct graph_offer {
  std::string name;
  std::string hash;         // of its structure; 32 hex digits
  std::string build = {};   // of its code; see graph/code_build.hpp
  std::string version = {}; // compile_options::version, for people: `hash` knows it
  friend bool operator==(const graph_offer&, const graph_offer&) = default;
};

/// Which process a side is, for one on the same host: two sides with the same boot and PID space
/// can look at one another's processes.
struct process_identity {
  std::string boot;            // of the kernel, a random UUID; empty: not known, nor is the rest
  std::uint64_t pid_space = 0; // inode of the PID namespace
  std::uint32_t pid = 0;       // in that namespace
  std::uint64_t started = 0;   // clock ticks after the boot
  friend bool operator==(const process_identity&, const process_identity&) = default;
};

/// A worker presents itself.
struct hello {
  std::uint32_t protocol = protocol_version;
  std::string name;        // of the worker, for people; unique among the workers of a home
  std::string incarnation; // another one each time the process starts
  std::vector<std::string> labels;
  std::uint32_t capacity = 0; // tasks at a time, over all homes
  std::vector<graph_offer> graphs;
  bool other_builds = false;              // it takes tasks of graphs whose build is another one
  std::chrono::milliseconds lease{0};     // that it asks for; 0: that of the home
  std::chrono::milliseconds heartbeat{0}; // with that lease
  process_identity process = {};
};

/// The home takes the worker: a session begins.
struct welcome {
  session_number session = 0;
  std::string home; // another one each time the process starts
  std::chrono::milliseconds lease{0};
  std::chrono::milliseconds heartbeat{0};
  process_identity process = {}; // of the home
};

/// Why there is no session, or no more; the link ends.
struct refusal {
  errc code = errc::protocol_mismatch;
  std::string why;
};

/// A worker sends one when it is welcomed, and each interval, also when nothing else is to be said;
/// a home answers each at once. `answers`: the highest number that was heard from the other, `held`
/// how long ago. What the home answers renews the worker's lease, from when it sent that heartbeat
/// on.
struct heartbeat {
  std::uint64_t number = 0;
  std::uint64_t answers = 0;
  std::uint32_t foreign = 0; // places that other homes have, or that are kept for them; of a home 0
  std::chrono::microseconds held{0};
};

/// What the tasks of one run share. Comes before the first task of the run on this link.
struct run_opened {
  std::uint64_t run = 0;  // of the home, never used again
  std::string graph;      // hash of the graph the tasks are nodes of
  bytes facts = {};       // see remote_task.hpp
  std::string build = {}; // of that graph
};
struct run_closed {
  std::uint64_t run = 0;
};
/// The worker's graph of this name is another one, or of another build, so it gets no tasks of it.
/// Said once in a session and graph. The members are those of the home's graph.
struct graph_refused {
  std::string name;
  std::string hash;
  std::string build = {};
  std::string version = {};
};
/// What the tasks of one step share: of all orders of the run from here to the next one.
struct step_opened {
  std::uint64_t run = 0;
  bytes facts = {}; // see remote_task.hpp
};

struct task_order {
  issue_number issue = 0;
  std::uint64_t run = 0;
  std::string task_id;
  std::string node;
  bytes task = {};    // see remote_task.hpp
  bool again = false; // it was handed out before
  bool ahead = false; // it waits there when no place is free; else it is refused then
};
/// So many orders of a home may wait at a worker of this capacity, `turns` for each place.
constexpr std::uint32_t ahead_of(std::uint32_t capacity,
                                 std::uint32_t turns = limits::worker_ahead_turns_max) noexcept {
  auto all = std::uint64_t{capacity} * turns;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(all, limits::worker_ahead_max));
}
/// It may go elsewhere, unless it was begun. The answer is a refusal (overloaded), or that it
/// stays; none when the order was answered before.
struct task_withdraw {
  issue_number issue = 0;
};
struct task_kept {
  issue_number issue = 0;
};
/// Nobody waits for the task any more. Its place is free when the worker has answered the order.
struct task_stop {
  issue_number issue = 0;
};
/// Its run drains: a group ends at its next step border, with graph_drained.
struct task_drain {
  issue_number issue = 0;
  std::string why;
};
struct task_outcome {
  issue_number issue = 0;
  bytes outcome = {};        // see remote_task.hpp
  std::uint64_t took_us = 0; // from when it was begun
};
/// The task was not begun, or was left at a step border: it may go elsewhere.
struct task_refused {
  issue_number issue = 0;
  errc code =
    errc::overloaded; // full or draining; unknown_graph; invalid_value; cancelled: stopped
  std::string why;
};

/// A group stores something, in the order of these messages.
struct save_order {
  issue_number issue = 0;
  std::uint64_t ticket = 0;
  bool durable = false; // when it is answered: see save_ack
  bytes request = {};
};
struct save_answer {
  issue_number issue = 0;
  std::uint64_t ticket = 0;
  std::optional<error> failure = {};
};

/// A body calls the long-term store.
struct call_order {
  issue_number issue = 0;
  std::uint64_t ticket = 0;
  bytes call = {};
};
struct call_answer {
  issue_number issue = 0;
  std::uint64_t ticket = 0;
  std::optional<error> failure = {};
  bytes answer = {};
};

/// A part for the readers of the home's run. `from_body`: the body waits for a slow reader.
struct task_part {
  issue_number issue = 0;
  bytes part = {};
  bool from_body = false;
};
/// So many parts of the task were taken by readers.
struct part_credit {
  issue_number issue = 0;
  std::uint32_t parts = 0;
};
/// The task is begun, if it has time-outs; and its body says that it goes on.
struct task_sign {
  issue_number issue = 0;
};

/// The worker takes no more tasks; those with groups are given back at their next step border, and
/// those it still has after a while, whatever they are.
struct draining {
  std::string why;
};

/// Of `troupe cluster`. The answer is a status_reply, of the moment before it drains.
struct status_request {};
struct drain_request {
  std::string why;
  std::chrono::milliseconds patience{0}; // see worker::drain
  std::string worker = {};               // of this name: a home hands it on; empty: who hears it
};
struct status_reply {
  std::string json;
};

using message =
  std::variant<hello, welcome, refusal, heartbeat, run_opened, run_closed, task_order, task_stop,
               task_outcome, task_refused, save_order, save_answer, call_order, call_answer,
               task_part, part_credit, task_sign, draining, status_request, drain_request,
               status_reply, task_drain, task_withdraw, task_kept, step_opened, graph_refused>;

} // namespace troupe::cluster
