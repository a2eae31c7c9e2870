// The home: who has which task, when it goes elsewhere, and what counts no more. Decides; a
// dispatcher_host acts. Knows no actor, no clock, no socket.
//
// Invariants:
//  - An issue number is used once. What is said about a task counts only if it is said about its
//    newest issue, on the link of the worker that has it.
//  - A link has at most one session, and a session one link: what is said on a link that was ended
//    counts no more, even if it arrives.
//  - A worker gets its first order when it has answered its welcome: a hello may have been on its
//  way
//    for long, and nobody be there any more who said it.
//  - A worker is given up when its lease is over, or, after its link broke, when its process is
//    certain to have ended: a connection that is refused proves nothing.
//  - A worker never has more orders without an answer than its capacity and what may wait there; an
//    order that was stopped has none until the worker answers.
//  - While a task waits here, no worker that could take it has room. While one waits at a worker
//    and another one that could take it has room, it is asked for: once, and each is answered.
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

/// What a dispatcher has done for it. Must not call back into it: what follows comes later.
class dispatcher_host {
public:
  virtual ~dispatcher_host() = default;
  virtual void send(link_number link, message what) = 0;
  /// Nothing more is said on the link, behind what was sent. What is still heard on it is dropped.
  virtual void end_link(link_number link) = 0;
  /// The outcome of a task → accepted or rejected. It is not handed out again meanwhile. `worker`:
  /// whose it is.
  virtual void take(task_number task, bytes outcome, const std::string& worker) = 0;
  virtual void fail(task_number task, error why) = 0;
  /// A save_order, call_order, task_part or task_sign of a task's current issue → reply.
  virtual void pass_on(task_number task, message what) = 0;
  virtual void report(cluster_event what) = 0;
  /// The kernel's facts about a process id; nullopt when it reports nothing.
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
  bytes step = {}; // what the tasks of its step share
};

class dispatcher {
public:
  /// `options.terms` must have passed check_terms.
  dispatcher(dispatcher_host& host, dispatcher_options options, instant now);

  /// A run's tasks may be submitted. `facts`: what they share.
  run_number open_run(graph_offer graph, bytes facts);
  /// Cancels what is left of it.
  void close_run(run_number run);

  /// Places a task, or lets it wait.
  /// Errors: overloaded (the queue is full: see retry_after), worker_lost or unknown_graph (nobody
  ///         could ever take it), invalid_config (the label), invalid_value (no such run).
  result<task_number> submit(task_request request, instant now);
  /// Nobody waits for it any more. Unknown ones are ignored.
  void cancel(task_number task);
  /// The outcome that was taken is used; or can't be: the task is handed out again, as if its
  /// worker had been lost.
  void accepted(task_number task);
  void rejected(task_number task, const error& why, instant now);
  /// Its run drains: whoever has the task is told, now and whenever it is handed out again.
  void drain(task_number task, const std::string& why);
  /// Hands it on to the worker it names, if that is here.
  void pass_drain(const drain_request& what);
  /// Sends a save_answer, call_answer or part_credit, if its issue is still the task's.
  void reply(message what);

  void heard(link_number link, message what, instant now);
  void link_broken(link_number link, instant now);
  void link_restored(link_number link, instant now);
  /// Gives up the workers whose link is broken and whose process has ended. tick() does so, too.
  void look_for_ended(instant now);
  /// The home ends: its workers are told.
  void end();
  /// Once each tick_interval.
  void tick(instant now);

  /// How long somebody whose task was not taken should wait. Units: 100 ms to one minute.
  nanoseconds retry_after() const noexcept;
  dispatcher_status status(instant now) const;

private:
  struct line;
  using facts_ptr = std::shared_ptr<const bytes>;

  /// A worker with a session.
  struct worker {
    worker_view view; // its capacity: what it is given, less after it refused tasks as full
    std::uint32_t capacity = 0; // what it said
    std::string incarnation;
    link_number link = 0;
    session_number session = 0;
    nanoseconds heard{0};        // of waking_
    nanoseconds acknowledged{0}; // likewise: when it said last that it hears this home
    nanoseconds renewed{0};      // likewise: when its hello or heartbeat was answered last
    lease_terms terms;           // that hold between it and this home
    peer_process process;
    heartbeat_log beats;
    std::set<issue_number> issues;        // it has not answered
    std::set<issue_number> ahead;         // of those: may wait there, and were not asked for
    std::size_t asked = 0;                // for so many
    std::map<run_number, facts_ptr> runs; // it was told of, with the last step it was told of
    std::vector<line*> lines;             // whose tasks it could take
    std::size_t next_line = 0;            // for turns
    instant trusted_at{0};                // it is given more from then on
    nanoseconds backoff{0};
    bool held_back = false; // since it was trusted last
    bool misbehaved = false;
    std::set<std::string> other_graphs; // hashes of graphs it was told that it has others of
    std::uint64_t orders = 0, outcomes = 0, refused = 0;
    latencies running;      // its tasks
    nanoseconds typical{0}; // what they took lately; 0: not known
  };

  /// Tasks that want the same workers.
  struct line {
    on_worker where;
    graph_offer graph;
    std::vector<const worker_view*> able;
    fair_queue waiting;
    std::size_t runs = 0;  // that have used it and are open
    std::size_t asked = 0; // for so many of its tasks that wait at workers
    instant nobody_since{0};
    bool told_nobody = false; // that its tasks wait for somebody to come

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
    bool placed = false;    // it was handed out
    bool taken = false;
    std::uint32_t losses = 0; // of workers that had it
    std::string last_loss = {};
    std::optional<std::string> drains = std::nullopt; // why its run does
  };

  struct issue {
    task_number task = 0; // 0: stopped
    worker* on = nullptr;
    instant sent{0};
    std::size_t ahead_bytes = 0; // it was given ahead
    bool asked = false;          // for, without an answer
  };

  /// A worker that is not there any more may come back.
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
  void tell_nobody(line& at, instant now);
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

  // what workers say (dispatcher_answers.cpp)
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
  std::deque<gone_worker> gone_; // the last ones, the newest at the back
  std::map<line_key, std::unique_ptr<line>, key_order> lines_;
  std::unordered_map<run_number, run> runs_;
  std::unordered_map<task_number, task> tasks_;
  std::unordered_map<issue_number, issue> issues_; // that have no answer

  run_number last_run_ = 0;
  task_number last_task_ = 0;
  issue_number last_issue_ = 0;
  session_number last_session_ = 0;
  std::size_t waiting_ = 0, waiting_bytes_ = 0;
  std::size_t ahead_ = 0;        // orders that could be asked for
  instant freed_at_;             // when an order was answered last
  nanoseconds between_freed_{0}; // smoothed
  dispatcher_counts counts_;
  refusal_log refusals_;
  latencies placing_, serving_;
};

} // namespace troupe::cluster
