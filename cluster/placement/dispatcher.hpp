// dispatcher: which worker has a home's task, and when the task goes elsewhere. Decides; a
// dispatcher_host acts. Knows no actor, no clock, no socket.
//
// Invariants:
//  - An issue number is used once. A message about a task counts only if it names the task's newest
//    issue, and comes on the link of the worker that has it.
//  - A link has at most one session, and a session one link. Messages on a link that was ended are
//    dropped.
//  - A worker gets its first order after it has answered its welcome. A hello may arrive late, when
//    its sender has already ended.
//  - A worker is lost when its lease is over. After its link broke, it is also lost when its
//    process is certain to have ended. A refused connection proves nothing.
//  - The unanswered orders of a worker never exceed its capacity plus the orders that may wait
//    there. A stopped order counts until the worker answers.
//  - While a task waits here, no suitable worker has room. While a task waits at a worker and
//    another suitable worker has room, the home asks for it. It asks once for each order, and each
//    request is answered.
//  - Each task ends once: accepted, failed or cancelled.
#pragma once

#include "cluster/placement/placement.hpp"
#include "cluster/wire/lease.hpp"
#include "cluster/wire/peer_process.hpp"
#include "cluster/wire/refusal_log.hpp"
#include "cluster/wire/status.hpp"

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace troupe::cluster {

/// Acts for a dispatcher. Must not call back into it; results come later.
class dispatcher_host {
public:
  virtual ~dispatcher_host() = default;
  virtual void send(link_number link, message what) = 0;
  /// Ends a link after all that was sent on it. Later messages on it are dropped.
  virtual void end_link(link_number link) = 0;
  /// Takes the outcome of a task from `worker` → accepted or rejected. Meanwhile the task is not
  /// handed out again.
  virtual void take(task_number task, bytes outcome, const std::string& worker) = 0;
  virtual void fail(task_number task, error why) = 0;
  /// A save_order, call_order, task_part or task_sign of a task's current issue → reply.
  virtual void pass_on(task_number task, message what) = 0;
  virtual void report(cluster_event what) = 0;
  /// The kernel's facts about a process id; nullopt when the kernel has no answer.
  virtual std::optional<process_facts> look_at(std::uint32_t pid) = 0;
};

struct dispatcher_options {
  std::string incarnation; // of this home: another one each time it starts
  process_identity process = {};
  lease_terms terms = {};
  bool other_builds = false; // see hello
  std::size_t queue_tasks_max = limits::cluster_queue_tasks_max;
  std::size_t queue_bytes_max = limits::cluster_queue_bytes_max;
  std::uint32_t reissues_max = limits::task_reissues_max;
  nanoseconds worker_return = limits::worker_return;
  std::uint32_t ahead_max = limits::worker_ahead_max; // orders that may wait at a worker
};

struct task_request {
  run_number run = 0;
  std::string task_id;
  std::string node;
  bytes task; // see remote_task.hpp
  on_worker where;
  bytes step = {}; // facts that the tasks of its step share
};

/// A home's decisions about tasks and workers.
class dispatcher {
public:
  /// `options.terms` must have passed check_terms.
  dispatcher(dispatcher_host& host, dispatcher_options options, instant now);

  /// Opens a run, so that its tasks may be submitted. `facts`: what these tasks share.
  run_number open_run(graph_offer graph, bytes facts);
  /// Cancels the remaining tasks of the run.
  void close_run(run_number run);

  /// Places a task, or lets it wait.
  /// Errors: overloaded when the queue is full (see retry_after). worker_lost or unknown_graph when
  ///         no worker could ever take it. invalid_config for a label that is too long.
  ///         invalid_value for a run that is not open.
  result<task_number> submit(task_request request, instant now);
  /// Stops a task whose result is not needed any more. Unknown tasks are ignored.
  void cancel(task_number task);
  /// Whether the taken outcome could be used. A rejected task is handed out again, as if its worker
  /// had been lost.
  void accepted(task_number task);
  void rejected(task_number task, const error& why, instant now);
  /// The run of a task drains. The worker that has the task gets a task_drain, now and after each
  /// reissue.
  void drain(task_number task, const std::string& why);
  /// Another task of the task's step failed for good. Its worker gets a step_failed, now and after
  /// each reissue.
  void step_failed(task_number task);
  /// Sends the request to the worker that it names, if that worker has a session.
  void pass_drain(const drain_request& what);
  /// Sends a save_answer, call_answer or part_credit, unless its issue is an older one.
  void reply(message what);

  void heard(link_number link, message what, instant now);
  void link_broken(link_number link, instant now);
  void link_restored(link_number link, instant now);
  /// Gives up the workers with a broken link whose process has ended. tick() does it, too.
  void look_for_ended(instant now);
  /// The home ends. Its workers get a refusal.
  void end();
  /// Checks leases and the time that tasks wait. Called once each tick_interval.
  void tick(instant now);

  /// The time after which a caller should submit again, when the queue was full. Units: 100 ms to
  /// one minute.
  nanoseconds retry_after() const noexcept;
  dispatcher_status status(instant now) const;

private:
  struct line;
  using facts_ptr = std::shared_ptr<const bytes>;

  /// A worker with a session.
  struct worker {
    worker_view view; // its capacity: the tasks it is given, fewer after it refused some as full
    std::uint32_t capacity = 0; // from its hello
    std::string incarnation;
    link_number link = 0;
    session_number session = 0;
    nanoseconds heard{0};        // of waking_: the last message
    nanoseconds acknowledged{0}; // of waking_: the last sign that it hears this home
    nanoseconds renewed{0};      // of waking_: the last answer to its hello or a heartbeat
    lease_terms terms;           // of its session
    peer_process process;
    heartbeat_log beats;
    std::set<issue_number> issues;        // orders without an answer
    std::set<issue_number> ahead;         // of these, may wait there, and were not withdrawn
    std::size_t asked = 0;                // orders that were withdrawn, without an answer
    std::map<run_number, facts_ptr> runs; // that it knows, with the last step that it knows
    std::vector<line*> lines;             // whose tasks it could take
    std::size_t next_line = 0;            // for turns
    instant trusted_at{0};                // the time at which its view.capacity grows again
    nanoseconds backoff{0};
    bool held_back = false; // since view.capacity grew last
    bool misbehaved = false;
    std::set<std::string> other_graphs; // hash and build of graphs of which it has another version
    std::uint64_t orders = 0, outcomes = 0, refused = 0;
    latencies running;      // of its tasks
    nanoseconds typical{0}; // recent duration of its tasks; 0: not known
  };

  /// The tasks that need the same workers.
  struct line {
    on_worker where;
    graph_offer graph;
    std::vector<const worker_view*> able;
    fair_queue waiting;
    std::size_t runs = 0;  // open runs that have used it
    std::size_t asked = 0; // its tasks that were withdrawn from workers, without an answer
    instant nobody_since{0};
    bool waiting_reported = false; // it was reported that its tasks wait for a worker

    place_request wanted() const { return {.where = where, .graph = graph}; }
  };

  struct run {
    graph_offer graph;
    bytes facts;
    facts_ptr step; // of the last task
    std::vector<line*> lines;
    std::set<task_number> tasks;
  };

  struct task {
    run_number run = 0;
    line* at = nullptr;
    std::string task_id;
    std::string node;
    bytes content;
    facts_ptr step;
    instant submitted{0};
    issue_number issue = 0; // 0: it waits, or its outcome was taken
    bool placed = false;    // it was handed out at least once
    bool taken = false;
    std::uint32_t losses = 0; // of workers that had the task
    std::string last_loss = {};
    std::optional<std::string> drains = std::nullopt; // the reason why its run drains
    bool may_end = false;                             // another task of its step failed
  };

  struct issue {
    task_number task = 0; // 0: stopped
    worker* on = nullptr;
    instant sent{0};
    std::size_t ahead_bytes = 0; // of an order that was given ahead
    bool asked = false;          // a withdrawal has no answer yet
  };

  /// A worker whose session has ended; it may come back.
  struct gone_worker {
    instant when;
    worker_view view;
  };

  using line_key = std::tuple<graph_offer, std::string, worker_choice, no_worker>;
  struct key_order {
    bool operator()(const line_key& a, const line_key& b) const noexcept;
  };

  // tasks (dispatcher.cpp)
  line& line_of(run& of, const on_worker& where);
  instant nobody_since(const line& at) const;
  void drop_idle_lines();
  bool nobody_comes(const line& at, instant now) const;
  error nobody_for(const line& at) const;
  error queue_full();
  void enqueue(task_number number, task& t);
  void issue_to(const worker_view& to, task_number number, instant now);
  void tell_run(worker& w, const task& t);
  const worker_view* place_for(const line& at, std::size_t bytes) const;
  task_number next_waiting(line& at);
  void place_waiting(line& at, instant now);
  void serve(worker& w, instant now);
  void give_up_on(line& at);
  void report_waiting(line& at, instant now);
  void lost_once(task_number number, const std::string& why);
  void forget(task_number number);
  void end_with(task_number number, error why);

  // orders given ahead (dispatcher_ahead.cpp)
  void give_ahead(issue_number number, issue& out, std::size_t bytes);
  void no_longer_ahead(issue_number number, issue& out);
  void no_longer_asked(issue& out);
  std::uint32_t ahead_at(const worker& w) const noexcept;
  void note_duration(worker& w, nanoseconds took);
  static std::size_t may_wait_at(const worker& w);
  issue_number newest_ahead(const worker& w, const line& of) const;
  void ask_for_more(const worker& to);
  bool ask_for_one(line& at);
  void share_out(const line& at);
  void share_out_of(const worker& w);
  void share_out_after(const worker& asked, const line& at);
  void take_kept(worker& w, issue_number number);

  // workers (dispatcher_workers.cpp)
  void present(link_number link, hello what, instant now);
  void refuse(link_number link, const hello& what, errc code, const std::string& why, instant now);
  bool make_way(link_number link, const hello& what, instant now);
  void add_worker(link_number link, hello what, instant now);
  std::string back_after(const worker& w, instant now) const;
  void answers_welcome(worker& w, instant now);
  void join_lines(worker& w);
  void join_line(worker& w, line& at);
  void tell_other_graph(const worker& w, const graph_offer& own, bool is_other_build);
  void remove_worker(worker& w, event_kind kind, const std::string& why, instant now);
  bool has_ended(worker& w);
  void lose_if_ended(worker& w, instant now);
  void stop_offering(worker& w, instant now);
  void note_gone(const worker& w, instant now);
  void drain_worker(worker& w, const std::string& why, instant now);
  void hold_back(worker& w, instant now);
  void trust_again(worker& w, instant now);
  void misbehaved(worker& w, const std::string& what);

  // messages of workers about tasks (dispatcher_answers.cpp)
  issue* issue_of(worker& w, issue_number number);
  issue answered(worker& w, issue_number number, instant now);
  bool may_renew(const worker& w, instant now) const;
  std::string why_lost(const worker& w, instant now) const;
  void take_heartbeat(worker& w, const heartbeat& what, instant now);
  void take_outcome(worker& w, task_outcome what, instant now);
  void take_refusal(worker& w, const task_refused& what, instant now);
  void refused_graph(worker& w, const line& at, instant now);
  void hand_on(worker& w, issue_number number, message what);

  dispatcher_host& host_;
  dispatcher_options options_;
  waking_time waking_;
  instant started_;

  std::map<std::string, std::unique_ptr<worker>> workers_; // by name
  std::unordered_map<link_number, worker*> links_;
  std::deque<gone_worker> gone_; // the newest at the back
  std::map<line_key, std::unique_ptr<line>, key_order> lines_;
  std::unordered_map<run_number, run> runs_;
  std::unordered_map<task_number, task> tasks_;
  std::unordered_map<issue_number, issue> issues_; // without an answer

  run_number last_run_ = 0;
  task_number last_task_ = 0;
  issue_number last_issue_ = 0;
  session_number last_session_ = 0;
  std::size_t waiting_ = 0, waiting_bytes_ = 0;
  std::size_t ahead_ = 0;        // orders that could be withdrawn
  instant freed_at_;             // time of the last answer to an order
  nanoseconds between_freed_{0}; // smoothed
  dispatcher_counts counts_;
  refusal_log refusals_;
  latencies placing_, serving_;
};

} // namespace troupe::cluster
