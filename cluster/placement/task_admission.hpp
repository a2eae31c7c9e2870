// admission: the homes that a worker works for, the tasks it takes, and those it drops. Decides; a
// admission_host acts. Knows no actor, no clock, no socket.
//
// Invariants:
//  - Never more tasks than the capacity, over all homes. A stopped task counts until its body has
//    ended.
//  - A task belongs to one session. When the session ends, the task is stopped, and later messages
//    about it are dropped.
//  - The admission presents itself to a home only after it has stopped all that it did for that
//  home.
//  - A session ends with its lease. After its link broke, it also ends when the process of its home
//    is certain to have ended.
//  - The home never hears about a task that begins after the lease: its session ends first.
//  - An order begins at most once, and is answered once. Orders of a home that wait begin in their
//    order, as places get free, or are answered as not begun.
//  - An order waits only while no place is free, or while the last place is kept for another home.
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

using home_number = std::uint32_t; // index among the homes that the worker joins
using local_run = std::uint64_t;   // of an admission, never used again; 0: none
using local_task = std::uint64_t;  // likewise

/// Acts for an admission. Must not call back into it; results come later.
class admission_host {
public:
  virtual ~admission_host() = default;
  virtual void send(link_number link, message what) = 0;
  /// Ends a link after all that was sent on it. Later messages on it are dropped.
  virtual void end_link(link_number link) = 0;
  /// A home has no session now. The owner links to it again, after a pause that depends on `why`.
  /// Not called for a session that link_made() replaces, nor during a drain.
  virtual void session_over(home_number home, const error& why) = 0;
  /// Takes the facts that the tasks of a run share. Bodies of these tasks begin only while `until`
  /// is not over.
  virtual void open_run(local_run run, home_number home, run_opened what,
                        std::shared_ptr<lease_end> until) = 0;
  /// No more tasks of the run come; those that run have been stopped.
  virtual void close_run(local_run run) = 0;
  /// Runs a task → finished or gone. `step`: the facts that the tasks of its step share.
  virtual void begin(local_task task, local_run run, task_order what, const bytes& step) = 0;
  /// The task's result is not needed any more → gone (or finished, if it has ended).
  virtual void stop(local_task task) = 0;
  /// The worker drains: a group stops at its next step border → given_back. Other tasks run to
  /// their end.
  virtual void give_back(local_task task) = 0;
  /// Hands a save_answer, call_answer, part_credit, task_drain or step_failed to the task.
  virtual void pass_on(local_task task, message what) = 0;
  virtual void report(cluster_event what) = 0;
  /// The kernel's facts about a process id; nullopt when the kernel has no answer.
  virtual std::optional<process_facts> look_at(std::uint32_t pid) = 0;
  /// The last task has ended or was taken back, and the links have ended.
  virtual void drained() = 0;
};

struct admission_options {
  std::string name;
  std::string incarnation; // another one each time the process starts
  std::vector<std::string> labels;
  std::uint32_t capacity = 1;
  std::vector<graph_offer> graphs;
  bool other_builds = false;             // see hello
  std::optional<lease_terms> terms = {}; // that the worker asks for; nullopt: each home's
  process_identity process = {};
};

/// A worker's decisions.
class task_admission {
public:
  task_admission(admission_host& host, admission_options options);

  /// A new stream to a home is up, and nothing was sent on it yet. Drops all that was done for the
  /// home, then presents the worker.
  void link_made(home_number home, link_number link, instant now);
  void link_broken(link_number link, instant now);
  void link_restored(link_number link, instant now);
  /// Takes a message of a home or an operator; any of them may drain the worker. The owner answers
  /// a status_request itself.
  void heard(link_number link, message what, instant now);
  /// Ends the sessions with a broken link whose home's process has ended. tick() does it, too.
  void look_for_ended(instant now);
  /// Checks leases and sends heartbeats. Called once each tick_interval().
  void tick(instant now);
  nanoseconds tick_interval() const noexcept;

  /// The end of a task: with an outcome, without one (`why`), or with its group at a step border.
  /// Called once for each task.
  void finished(local_task task, bytes outcome, instant now);
  void gone(local_task task, const std::string& why, instant now);
  void given_back(local_task task, instant now);
  /// Sends a save_order, call_order, task_part or task_sign of a task; the admission fills in its
  /// issue.
  void say(local_task task, message what);

  /// Takes no more tasks. Ends when all tasks have ended, and at the latest `patience` from now,
  /// when the rest is taken back. A second call can only shorten the time.
  void drain(const std::string& why, nanoseconds patience, instant now);

  /// The time until which outcomes may be kept, to leave together. The first of them came at
  /// `first`, and others left last at `sent`. While enough orders wait, the time is
  /// worker_outcomes_held after `first`. While other tasks run, it is worker_outcomes_apart after
  /// `sent`. Otherwise it is `first`, since the home may wait for them.
  instant may_keep_outcomes(instant first, instant sent) const noexcept;

  admission_status status(instant now) const;

private:
  struct run {
    local_run local = 0;
    bool known = false; // whether the worker has the graph
    std::string graph;  // its hash
    std::shared_ptr<const bytes> step = std::make_shared<const bytes>();
    std::set<local_task> tasks;
  };

  struct waiting_order {
    task_order what;
    std::shared_ptr<const bytes> step;
    std::optional<std::string> drains = std::nullopt; // the reason why its run drains
    bool may_end = false;                             // another task of its step failed
  };

  struct session {
    home_number home = 0;
    link_number link = 0;
    instant asked{0};
    std::optional<held_lease> lease; // nullopt: the home has not answered the hello
    session_number number = 0;
    std::string incarnation; // of the home
    peer_process process;    // likewise
    bool reachable = true;
    bool misbehaved = false;
    instant wants_until{0}; // it was refused as full, and will try again by then
    issue_number last_issue = 0;
    std::map<issue_number, local_task> tasks; // tasks that it waits for
    std::map<issue_number, waiting_order> waiting;
    std::map<run_number, run> runs;
    std::set<std::string> other_graphs; // names of graphs that the home has in another version
  };

  struct task {
    session* of = nullptr; // null: the session is over
    issue_number issue = 0;
    run_number run = 0;
    bool stopped = false;
    instant begun{0};
    instant left{0}; // the time at which its session ended
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

  admission_host& host_;
  admission_options options_;
  std::map<std::string, std::string> builds_; // builds of its graphs, by hash
  std::map<home_number, session> sessions_;
  std::unordered_map<link_number, session*> links_;
  std::unordered_map<local_task, task> tasks_;
  std::size_t waiting_ = 0, waiting_bytes_ = 0; // orders and their bytes, of all sessions
  local_task last_task_ = 0;
  local_run last_run_ = 0;
  std::optional<instant> drained_by_; // the end of its drain, while it drains
  instant ticked_{};                  // time of the last tick
  bool over_ = false;
  admission_counts counts_;
  refusal_log refusals_;
  latencies running_;
};

} // namespace troupe::cluster
