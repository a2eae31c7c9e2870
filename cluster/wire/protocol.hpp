// Messages between a home process and its workers: the protocol, on one page, as plain data.
// wire.hpp turns messages into bytes, and links carry the bytes.
//
//   worker ── hello ──▶ home          ── welcome | refusal ──▶ worker
//   both   ── heartbeat ──▶ the other
//   home   ── run_opened, step_opened, task_order, run_closed, graph_refused ──▶ worker
//   home   ── task_withdraw, task_stop, task_drain, step_failed ──▶ worker
//   worker ── task_outcome | task_refused ──▶ home, task_kept ──▶ home
//   worker ── save_order, call_order ──▶ home      ── save_answer, call_answer ──▶ worker
//   worker ── task_part, task_sign ──▶ home        ── part_credit ──▶ worker
//   worker ── draining ──▶ home
//   anyone ── status_request, drain_request ──▶ worker or home ── status_reply ──▶
//
// Words:
//   home     the process that has the runs. Only the home stores.
//   worker   a process that runs tasks for homes. All that it knows is in a checkpoint, too.
//   session  the time in which one worker works for one home without a break longer than the lease.
//            The home numbers its sessions. Messages of an older session are dropped.
//   issue    one handing-out of a task. A task that is handed out again has another issue number
//            and the same task id. Messages about an older issue are dropped. Numbers grow within a
//            session. Each order is answered once, by an outcome or a refusal.
//   ahead    an order that comes while the worker is full. It waits there for a place. Until it has
//            begun, the home may withdraw it, to give it to a worker with a free place.
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

/// Changes whenever processes that were built before can't understand the messages any more.
inline constexpr std::uint32_t protocol_version = 7;

using issue_number = std::uint64_t;   // of a home, never used again; 0: none
using session_number = std::uint64_t; // likewise
using link_number = std::uint64_t;    // of a stream, on this side; never used again
using bytes = std::vector<std::uint8_t>;

/// A graph, or one nested in it, that a process has.
struct graph_offer {
  std::string name;
  std::string hash;         // of its structure; 32 hex digits
  std::string build = {};   // of its code; see graph/code_build.hpp
  std::string version = {}; // compile_options::version, for people; `hash` depends on it
  friend bool operator==(const graph_offer&, const graph_offer&) = default;
};

/// Identifies the process of a side, for a peer on the same host. Sides with the same boot and PID
/// namespace can look at one another's processes.
struct process_identity {
  std::string boot;            // id of the kernel's boot, a random UUID; empty: no member is known
  std::uint64_t pid_space = 0; // inode of the PID namespace
  std::uint32_t pid = 0;       // in that namespace
  std::uint64_t started = 0;   // clock ticks after the boot
  friend bool operator==(const process_identity&, const process_identity&) = default;
};

/// A worker presents itself to a home.
struct hello {
  std::uint32_t protocol = protocol_version;
  std::string name;        // of the worker, for people; unique among the workers of a home
  std::string incarnation; // another one each time the process starts
  std::vector<std::string> labels;
  std::uint32_t capacity = 0; // tasks at a time, over all homes
  std::vector<graph_offer> graphs;
  bool other_builds = false;              // accepts tasks of a graph with another build
  std::chrono::milliseconds lease{0};     // that the worker asks for; 0: the home's
  std::chrono::milliseconds heartbeat{0}; // with that lease
  process_identity process = {};
};

/// The home accepts the worker: a session begins.
struct welcome {
  session_number session = 0;
  std::string home; // another one each time the process starts
  std::chrono::milliseconds lease{0};
  std::chrono::milliseconds heartbeat{0};
  process_identity process = {}; // of the home
};

/// The reason why a session does not begin, or ends. The link ends, too.
struct refusal {
  errc code = errc::protocol_mismatch;
  std::string why;
};

/// A worker sends a heartbeat when it is welcomed and then at each interval, even when nothing else
/// is sent. A home answers each at once. The home's answer renews the worker's lease, counted from
/// the sending of the answered heartbeat.
struct heartbeat {
  std::uint64_t number = 0;
  std::uint64_t answers = 0; // the highest number that was heard from the other side
  std::uint32_t foreign = 0; // places that other homes have, or that are kept for them; of a home 0
  std::chrono::microseconds held{0}; // time since `answers` was heard
};

/// The facts that the tasks of one run share. Comes before the first task of the run on this link.
struct run_opened {
  std::uint64_t run = 0;  // of the home, never used again
  std::string graph;      // hash of the graph the tasks are nodes of
  bytes facts = {};       // see remote_task.hpp
  std::string build = {}; // of that graph
};
struct run_closed {
  std::uint64_t run = 0;
};
/// The worker's graph of this name has another structure or build, so it gets no tasks of the
/// graph. Sent once per session and graph. The members describe the home's graph.
struct graph_refused {
  std::string name;
  std::string hash;
  std::string build = {};
  std::string version = {};
};
/// The facts that the tasks of one step share. Holds for all orders of the run until the next
/// step_opened.
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
  bool again = false; // the task was handed out before
  bool ahead = false; // without a free place: true: the order waits; false: the worker refuses it
};
/// The number of orders of a home that may wait at a worker of this capacity, `turns` for each
/// place.
constexpr std::uint32_t ahead_of(std::uint32_t capacity,
                                 std::uint32_t turns = limits::worker_ahead_turns_max) noexcept {
  auto all = std::uint64_t{capacity} * turns;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(all, limits::worker_ahead_max));
}
/// The task may go elsewhere, unless it has begun. The answer is a refusal (overloaded) or
/// task_kept; an order that was answered before gets no answer.
struct task_withdraw {
  issue_number issue = 0;
};
/// Answers task_withdraw: the task has begun and stays.
struct task_kept {
  issue_number issue = 0;
};
/// The home does not wait for the task any more. Its place is free when the worker has answered the
/// order.
struct task_stop {
  issue_number issue = 0;
};
/// The run of the task drains: a group ends at its next step border, with graph_drained.
struct task_drain {
  issue_number issue = 0;
  std::string why;
};
/// Another task of the task's step failed for good. Its body may end early, which its outcome then
/// tells.
struct step_failed {
  issue_number issue = 0;
};
struct task_outcome {
  issue_number issue = 0;
  bytes outcome = {};        // see remote_task.hpp
  std::uint64_t took_us = 0; // microseconds since the task began
};
/// The task did not begin, or stopped at a step border, so it may go elsewhere.
struct task_refused {
  issue_number issue = 0;
  errc code =
    errc::overloaded; // full or draining; unknown_graph; invalid_value; cancelled: stopped
  std::string why;
};

/// A group stores a save request. Requests are stored in the order of these messages.
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
/// The number of parts of the task that readers have taken since the last credit.
struct part_credit {
  issue_number issue = 0;
  std::uint32_t parts = 0;
};
/// A sign of life of a task with time-outs: first that it has begun, later that its body makes
/// progress.
struct task_sign {
  issue_number issue = 0;
};

/// The worker takes no more tasks. Tasks with groups come back at their next step border. After the
/// drain's time, all remaining tasks come back.
struct draining {
  std::string why;
};

/// Requests of `troupe cluster`. The answer is a status_reply, which shows the moment before a
/// drain.
struct status_request {};
struct drain_request {
  std::string why;
  std::chrono::milliseconds patience{0}; // see worker::drain
  std::string worker = {}; // that drains; a home passes the request on; empty: the receiver
};
struct status_reply {
  std::string json;
};

using message = std::variant<hello, welcome, refusal, heartbeat, run_opened, run_closed, task_order,
                             task_stop, task_outcome, task_refused, save_order, save_answer,
                             call_order, call_answer, task_part, part_credit, task_sign, draining,
                             status_request, drain_request, status_reply, task_drain, task_withdraw,
                             task_kept, step_opened, graph_refused, step_failed>;

} // namespace troupe::cluster
