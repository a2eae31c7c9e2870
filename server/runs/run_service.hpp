// run_service: the runs of a server. It accepts them, carries them out one after the other on each
// thread, and tells their readers.
//
// Invariants:
//  - a run is a record before it begins. The record is durable before anybody hears of the run.
//    Where nobody does before the end (run_waiter), and the run saves nothing before it (exit),
//    one commit of the disk may store the record with its end. A kill before it leaves no record.
//  - the record of its thread decides who is next: `inflight` lists the runs, `running` is one of
//    them. Both change in the commit that changes the run, and only if the thread is as it was
//    read. So at most one run of a thread is running, on any number of servers.
//  - the log of a run is closed after the commit of its end.
//  - servers that share a database: the record of a running run names its owner. Only the owner
//    stores its end, in a commit that fails when the run has another owner or attempt. A run whose
//    owner has no lease any more (server_lease.hpp) begins again, by a commit that succeeds on one
//    server.
//  - what a server wants of a run elsewhere is in the run's record: `cancel`, `followed`. The owner
//    watches it. The log of a run elsewhere is fed from its stored events.
//  - a run of a thread that another server follows is `followed` from its beginning. The stored
//    events of such a run carry the parts of its stream.
//
// Sources: run_service.cpp (new runs, ends that are asked for), run_carrying.cpp (a run from its
// first part to its end), run_following.cpp (readers, runs elsewhere), thread_following.cpp
// (observers of threads), run_recovery.cpp (servers that begin, stop or die).
#pragma once

#include "server/documents/document_store.hpp"
#include "server/rules/records.hpp"
#include "server/rules/run_request.hpp"
#include "server/rules/run_rules.hpp"
#include "server/runs/event_log.hpp"
#include "server/runs/followed_threads.hpp"
#include "server/runs/graph_set.hpp"
#include "server/runs/server_lease.hpp"
#include "server/runs/thread_turns.hpp"
#include "server/runs/work_queue.hpp"

#include <troupe/run_stream.hpp>
#include <troupe/server/limits.hpp>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace troupe::server {

/// The end of a run. Shape: `output`: the values, with `__interrupt__` for a paused run, or
/// {"__error__": {error, message}}.
struct run_outcome {
  run_record run;
  value output = value::map();
  value values = value::map(); ///< the state, without questions
  std::string started_at = {};
};

/// Sees the runs of a thread: those of this server, and while the thread is followed those of the
/// others. A run elsewhere shows what its server stored: parts may be missing that came before that
/// server learned of the follower.
/// Thread: any, one call at a time for each run; short, and without calls of the service.
struct thread_observer {
  std::function<void(const run_record& run)> began;
  /// With the part of the run's stream that it came from, where there is one.
  std::function<void(const run_record& run, const run_event& event)> event;
  std::function<void(const run_outcome& outcome)> ended;
};

/// A client that waits for the end of a run and hears nothing of the run before `known`.
struct run_waiter {
  /// The run's record is durable. It is not called when the run ends at once, and not after
  /// `ended`.
  std::function<void(const run_record& run)> known;
  /// Thread: any; short.
  std::function<void(const run_outcome& outcome)> ended;
};

struct run_service_options {
  std::string server_id; ///< unique among the servers of a database
  std::int64_t attempts_max = limits::server_run_attempts_max;
  std::size_t events_kept_max = limits::server_run_events_max;
  std::size_t threads = limits::server_run_threads;
  std::function<std::int64_t()> now = {}; ///< microseconds since 1970; empty: the system's clock
  /// The time to live of threads that runs make; nullopt: they stay.
  std::optional<double> thread_ttl_minutes = {};
  std::string thread_ttl_strategy = "delete";
  std::function<std::int64_t()> steady_now = {}; ///< of the lease; empty: the system's
  bool has_lease_thread = true;                  ///< false: the test calls look_at_servers()
  /// After the commit of a run's end, on a thread of the service; it may block.
  std::function<void(const run_outcome& outcome)> on_end = {};
};

class run_service {
public:
  run_service(graph_set& graphs, std::shared_ptr<document_store> documents,
              run_service_options options);
  run_service(const run_service&) = delete;
  run_service& operator=(const run_service&) = delete;
  /// Runs in flight are drained; a later server takes them up again. Those that are still in a step
  /// after limits::server_drain_wait are given up here, without a trace in the documents.
  ~run_service();

  /// A new run on a thread. `watch` is called with its log before it can begin. The change that
  /// `along` gives is part of the commit that makes the run. `along` is called at each try; an
  /// exception of it ends them. `waiter`: null unless the caller tells nobody of the run before
  /// `known`.
  /// Shape:  an empty `thread_id`: a thread of its own, which is removed with the run unless the
  ///         request keeps it.
  /// Blocks: on a commit; with a waiter perhaps on the writer of the documents alone.
  /// Errors: throws refusal: 404 for a missing thread, 409 when the thread is busy and the strategy
  ///         is reject; error: storage codes.
  run_record create(const std::string& thread_id, const run_request& request,
                    const assistant_record& assistant,
                    const std::function<void(event_log& log)>& watch = {},
                    const std::function<document_change()>& along = {},
                    const run_waiter* waiter = nullptr);

  /// Asks for the end of a run that is pending or running. False: there is no such run.
  bool cancel(const std::string& thread_id, const std::string& run_id, cancel_action action);

  /// The events of a run: those after `after`, where they are kept, and those to come. A run that
  /// is over and was not resumable has none. A run on another server is followed: all events of a
  /// resumable run, and those of another run after its server learned of the first reader elsewhere
  /// (from the first one on within limits::server_join_grace of its begin).
  /// Errors: throws refusal{404} for an unknown run.
  std::shared_ptr<void> read(const std::string& thread_id, const std::string& run_id,
                             std::optional<std::uint64_t> after, event_reader reader);

  /// Calls `then` once when the run is over; at once when it is already. A run that left no record
  /// is known for limits::server_recent_ends_max ends of runs.
  /// Errors: throws refusal{404} for an unknown run.
  void when_ended(const std::string& thread_id, const std::string& run_id,
                  std::function<void(const run_outcome&)> then);

  /// Ends a run that is in flight, and removes it and its checkpoints.
  void remove(const std::string& thread_id, const std::string& run_id);
  /// Ends the runs of a thread, and removes the thread with all it has. False: the thread is
  /// unknown.
  /// Errors: throws error: storage codes; conflict when its document has another revision than
  ///         `expected`.
  bool remove_thread(const std::string& thread_id,
                     std::optional<std::uint64_t> expected = std::nullopt);

  /// Does this soon, on a thread that may block.
  void later(std::function<void()> work) { work_.post(std::move(work)); }

  std::shared_ptr<void> observe(const std::string& thread_id, thread_observer observer);
  /// The observers of a thread see its runs on other servers, too, while the handle is held and
  /// limits::server_follower_kept longer.
  /// Blocks: on a commit of documents that servers share. Errors: throws error: storage codes.
  std::shared_ptr<void> follow_thread(const std::string& thread_id);
  /// Tells `to` of the wanted runs of a thread whose events servers share, as far as they are
  /// stored: those that run, and those that ended less than limits::server_followed_kept ago.
  /// Order:  as they began. Blocks: on reads. Errors: throws error: storage codes.
  void replay_thread(const std::string& thread_id,
                     const std::function<bool(const run_record&)>& wants,
                     const thread_observer& to) const;
  /// Whether other servers may have readers of a thread, too.
  bool is_one_of_several() const noexcept { return lease_ != nullptr; }

  /// Takes up what servers that are gone left running or pending. Call it once at the start. On
  /// documents that are not shared, no other server lives. Else the lease decides, and later ends
  /// of servers are noticed, too.
  void recover();
  /// One look of the lease, where options.has_lease_thread is false.
  void look_at_servers();
  /// Stops running runs at the end of their step, so that the next server takes them up. Returns
  /// whether all have stopped.
  /// Blocks: at most this long.
  bool drain(std::chrono::milliseconds at_most);

  std::size_t running() const;
  std::int64_t now() const { return options_.now(); }

private:
  struct live_run;
  struct run_end;
  /// How far the end of a run is. `failed`: it is tried again.
  enum class finishing { done, on_its_way, failed };
  struct read_thread {
    thread_record thread;
    std::uint64_t revision = 0;
  };
  /// The records of a run and its thread, as they are or as the run's begin left them.
  struct end_records {
    std::optional<read_thread> thread;
    std::optional<run_record> run;
    std::uint64_t run_revision = 0;
  };
  struct begun_records {
    read_thread thread;
    std::uint64_t run_revision = 0;
  };

  class beginning; // live_run.hpp

  // ---- records
  std::string owner_id() const;
  std::optional<read_thread> find_thread(const std::string& thread_id) const;
  std::optional<run_record> find_run(const std::string& thread_id, const std::string& run_id,
                                     std::uint64_t* revision = nullptr) const;
  run_record get_run(const std::string& thread_id, const std::string& run_id,
                     std::uint64_t* revision = nullptr) const;
  std::vector<waiting_run> line_of(const thread_record& thread) const;
  void begin_in(thread_record& thread, run_record& run);
  end_records records_for_end(live_run& hand) const;

  // ---- runs in hand
  std::shared_ptr<live_run> live(const std::string& run_id) const;
  std::shared_ptr<live_run> make_live(const run_record& run);
  bool has_begun(const live_run& hand) const;
  bool begins_or_has_begun(const live_run& hand) const;
  bool is_observed(const std::string& thread_id) const;

  // ---- carrying out
  void accept_begin(const std::shared_ptr<live_run>& run, std::vector<document_change> changes,
                    const std::function<void(const run_record&)>& known);
  void answer_early(const std::shared_ptr<live_run>& run);
  void carry_out(const std::shared_ptr<live_run>& run);
  void start(const std::shared_ptr<live_run>& run);
  run_input next_input(const app<>& with, const run_record& run, bool began_before) const;
  void take_part(live_run& run, const stream_part& part);
  void say(live_run& run, std::string name, std::string data,
           std::shared_ptr<const stream_part> part = nullptr);
  void end(const std::shared_ptr<live_run>& run, const result<run_result>& how);
  void try_to_finish(const std::shared_ptr<live_run>& run, const result<run_result>& how);
  void go_on_finishing(const std::shared_ptr<live_run>& run, const result<run_result>& how,
                       const std::function<finishing()>& step);
  finishing finish(const std::shared_ptr<live_run>& run, const result<run_result>& how);
  finishing store_end(const std::shared_ptr<live_run>& run, const result<run_result>& how,
                      run_outcome outcome, cancel_action asked);
  finishing settle_end(const run_end& end, const result<void>& committed);
  finishing leave_for_later(const std::shared_ptr<live_run>& run);
  void put_down();
  void advance(const std::string& thread_id);
  void tell_ended(const std::shared_ptr<live_run>& run, const run_outcome& outcome);
  bool has_next(const live_run& hand, const result<run_result>& how) const;
  /// The graph that the run began with here, else the newest of its name.
  std::optional<app<>> graph_of(const live_run& hand) const;
  void remove_checkpoints(const run_record& run) const;
  void forget_later(const run_record& run);
  void forget(const run_record& run);

  // ---- readers, and runs elsewhere
  void look_soon(const std::string& run_id);
  void look_at(const std::string& run_id);
  void obey(live_run& run, const run_record& mine, const std::optional<run_record>& stored);
  void follow(const std::shared_ptr<live_run>& run, const run_record& stored,
              std::uint64_t revision);
  void ask_to_end(live_run& run, cancel_action how);
  void abandon(live_run& run);
  finishing let_go(const std::shared_ptr<live_run>& run);
  void store_events_of(live_run& run);
  std::vector<document_change> condition_of_owner(const live_run& run) const;
  void restore_events(live_run& run);
  void read_stored_events(live_run& run);
  void prepare_reader(live_run& run);
  run_outcome recent_outcome(const std::string& thread_id, const std::string& run_id) const;
  run_outcome outcome_of(const run_record& run, bool has_just_ended) const;
  void watch_documents();

  // ---- observers of threads
  void tell_began(live_run& hand, const run_record& run);
  std::shared_ptr<const run_record> told_run(const live_run& hand) const;
  void look_at_thread_run_soon(const std::string& thread_id, const std::string& run_id);
  void look_at_thread_run(const std::string& thread_id, const std::string& run_id);

  // ---- servers that begin, stop or die
  bool has_lost_its_owner(const run_record& run) const;
  std::vector<std::string> threads_to_look_at() const;
  void take_up_dead_run(const std::string& thread_id);
  void give_up(const run_record& run);
  void sweep();
  void sweep_soon();
  void abandon_all();

  template <class F> void observers_of(const std::string& thread_id, F&& each);

  graph_set& graphs_;
  const std::shared_ptr<document_store> documents_;
  run_service_options options_;

  thread_turns turns_; // taken before the mutex

  mutable std::mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<live_run>> live_; // by run id
  std::unordered_map<std::string, std::vector<std::weak_ptr<thread_observer>>> observers_;
  std::atomic<bool> drains_ = false;
  std::condition_variable emptied_;
  std::size_t carried_ = 0;        // runs that the engine has, or whose end is not stored yet
  std::deque<run_outcome> recent_; // the last ends, of which some left no record
  std::unordered_set<std::string> looked_at_soon_; // ids of runs
  std::atomic<bool> sweeps_soon_ = false;
  std::atomic<bool> has_left_ = false;

  // Null unless the documents are shared.
  std::unique_ptr<followed_threads> followed_;
  std::shared_ptr<server_lease> lease_; // the gates of runs keep it
  work_queue work_;                     // its threads use all above
  std::vector<std::shared_ptr<void>> watches_;
};

} // namespace troupe::server
