// The worker: for which homes it works, what it takes, and what it drops. Decides; a desk_host
// acts. Knows no actor, no clock, no socket.
//
// Invariants:
//  - Never more tasks than the capacity, over all homes: a stopped task counts until its body
//  ended.
//  - A task belongs to one session. When that is over, in whatever way, the task is told to stop,
//    and nothing it does afterwards is said to anybody.
//  - The desk presents itself to a home only after all it did for that home was told to stop.
//  - A session is over when its lease is, or, after its link broke, when the process of its home is
//    certain to have ended.
//  - What was not begun since the lease was over is said to nobody: the session ends before.
//  - An order is begun at most once, and answered once. One that waits is begun in the order in
//    which its home gave it, when a place is free, or answered as not begun.
//  - Orders wait only while there is no place, or the last one is kept for somebody else.
//  - No home keeps another one out for ever: see has_place_for().
#pragma once

#include "cluster/placement/placement.hpp"
#include "cluster/wire/lease.hpp"
#include "cluster/wire/peer_process.hpp"
#include "cluster/wire/refusal_log.hpp"
#include "cluster/wire/status.hpp"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace troupe::cluster {

using home_number = std::uint32_t; // which of the homes the worker was told to join
using local_run = std::uint64_t;   // of a desk, never used again; 0: none
using local_task = std::uint64_t;  // likewise

/// What a desk has done for it. Must not call back into it: what follows comes later.
class desk_host {
public:
  virtual ~desk_host() = default;
  virtual void send(link_number link, message what) = 0;
  /// Nothing more is said on the link, behind what was sent. What is still heard on it is dropped.
  virtual void end_link(link_number link) = 0;
  /// There is no session with a home (any more): link to it again, after a while that depends on
  /// why. Not called for a session that link_made() replaces, nor when the worker drains.
  virtual void session_over(home_number home, const error& why) = 0;
  /// What the tasks of a run share; and that no more of them come: those that run were told to
  /// stop.
  /// `until`: bodies of its tasks begin only while that is not over.
  virtual void open_run(local_run run, home_number home, run_opened what,
                        std::shared_ptr<lease_end> until) = 0;
  virtual void close_run(local_run run) = 0;
  /// Runs a task → finished or gone. `step`: what it shares with others of its step.
  virtual void begin(local_task task, local_run run, task_order what, const bytes& step) = 0;
  /// Nobody waits for it any more → gone (or finished, if it is).
  virtual void stop(local_task task) = 0;
  /// The worker drains: a group stops at its next step border → given_back. Others go on to their
  /// end.
  virtual void give_back(local_task task) = 0;
  /// A save_answer, call_answer, part_credit or task_drain for it.
  virtual void pass_on(local_task task, message what) = 0;
  virtual void report(cluster_event what) = 0;
  /// The kernel's facts about a process id; nullopt when it reports nothing.
  virtual std::optional<process_facts> look_at(std::uint32_t pid) = 0;
  /// The last task is gone or was taken back, and so are the links.
  virtual void drained() = 0;
};

struct desk_options {
  std::string name;
  std::string incarnation; // another one each time the process starts
  std::vector<std::string> labels;
  std::uint32_t capacity = 1;
  std::vector<graph_offer> graphs;
  bool other_builds = false;             // see hello
  std::optional<lease_terms> terms = {}; // that it asks for; none: those of each home
  process_identity process = {};
};

class desk {
public:
  desk(desk_host& host, desk_options options);

  /// There is a new stream to a home, which it has not heard a word on. Whatever was done for the
  /// home is dropped, then the desk presents itself.
  void link_made(home_number home, link_number link, instant now);
  void link_broken(link_number link, instant now);
  void link_restored(link_number link, instant now);
  /// A status_request is for the owner to answer; who asks may drain it, too, home or not.
  void heard(link_number link, message what, instant now);
  /// Ends the sessions whose link is broken and whose home's process has ended. tick() does so,
  /// too.
  void look_for_ended(instant now);
  /// Once each tick_interval().
  void tick(instant now);
  nanoseconds tick_interval() const noexcept;

  /// A task ended with this outcome; its body ended without one (`why`); its group stands at a step
  /// border. Each task once.
  void finished(local_task task, bytes outcome, instant now);
  void gone(local_task task, const std::string& why, instant now);
  void given_back(local_task task, instant now);
  /// A save_order, call_order, task_part or task_sign of a task; its issue is filled in.
  void say(local_task task, message what);

  /// Takes no more tasks, and ends when those it has are gone, or were taken back: `patience` from
  /// now, unless that was to be earlier.
  void drain(const std::string& why, nanoseconds patience, instant now);

  /// Until when outcomes may be kept back, the first of them since `first`, when some were sent
  /// last at `sent`. While enough orders wait, for worker_outcomes_held. While others run, so that
  /// outcomes leave worker_outcomes_apart from one another. Else not at all: somebody may wait.
  instant may_keep_outcomes(instant first, instant sent) const noexcept;

  desk_status status(instant now) const;

private:
  struct run {
    local_run local = 0;
    bool known = false; // the graph is
    std::string graph;  // its hash
    std::shared_ptr<const bytes> step = std::make_shared<const bytes>();
    std::set<local_task> tasks;
  };

  struct waiting_order {
    task_order what;
    std::shared_ptr<const bytes> step;
    std::optional<std::string> drains = std::nullopt; // why its run does
  };

  struct session {
    home_number home = 0;
    link_number link = 0;
    instant asked{0};
    std::optional<held_lease> lease; // none: the home has not answered the hello yet
    session_number number = 0;
    std::string incarnation; // of the home
    peer_process process;    // likewise
    bool reachable = true;
    bool misbehaved = false;
    instant wants_until{0}; // it was refused as full, and will try again by then
    issue_number last_issue = 0;
    std::map<issue_number, local_task> tasks; // it waits for
    std::map<issue_number, waiting_order> waiting;
    std::map<run_number, run> runs;
    std::set<std::string> other_graphs; // names of those that the home has others of
  };

  struct task {
    session* of = nullptr; // null: the session is over
    issue_number issue = 0;
    run_number run = 0;
    bool stopped = false;
    instant begun{0};
    instant left{0}; // since when its session is over
  };

  void welcomed(session& s, const welcome& what, instant now);
  void take_order(session& s, task_order what, instant now);
  bool has_place_for(const session& s, instant now) const;
  void wait_for_place(session& s, waiting_order order);
  std::optional<waiting_order> take_waiting(session& s, issue_number issue);
  bool refuse_waiting(session& s, issue_number issue, errc code, const std::string& why);
  void refuse_all_waiting(session& s, const std::string& why);
  void begin(session& s, waiting_order order, instant now);
  void begin_waiting(instant now);
  void withdraw(session& s, issue_number issue);
  void refuse_order(session& s, issue_number issue, errc code, std::string why);
  bool is_known(const std::string& graph, const std::string& build) const;
  void open_run(session& s, run_opened what);
  void open_step(session& s, step_opened what);
  void close_run(session& s, run_number number);
  void take(session& s, message what, instant now);
  void take_refusal(session& s, const refusal& no, instant now);
  void take_other_graph(session& s, const graph_refused& what);
  void stop(local_task number, task& t);
  void hand_on(session& s, issue_number number, message what);
  void end_session(session& s, const error& why, bool again, instant now,
                   event_kind how = event_kind::session_ended);
  void beat(session& s, instant now);
  void lease_over(session& s, instant now);
  bool has_ended(session& s);
  void end_if_ended(session& s, instant now);
  task take_out(local_task number, instant now);
  void take_back(instant now);
  void end_when_empty(instant now);
  void end(instant now);
  void misbehaved(session& s, const std::string& what);

  desk_host& host_;
  desk_options options_;
  std::map<std::string, std::string> builds_; // of its graphs, by hash
  std::map<home_number, session> sessions_;
  std::unordered_map<link_number, session*> links_;
  std::unordered_map<local_task, task> tasks_;
  std::size_t waiting_ = 0, waiting_bytes_ = 0; // orders, of all sessions
  local_task last_task_ = 0;
  local_run last_run_ = 0;
  std::optional<instant> drained_by_; // it drains
  instant ticked_{};                  // when the time was told last
  bool over_ = false;
  desk_counts counts_;
  refusal_log refusals_;
  latencies running_;
};

} // namespace troupe::cluster
