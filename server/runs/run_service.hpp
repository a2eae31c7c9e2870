// run_service: the runs of a server. It accepts them, carries them out one after the other on each
// thread, and tells their readers.
//
// Invariants:
//  - a run is a record before it begins, and before its client is answered.
//  - the record of its thread decides who is next: `inflight` lists the runs, `running` is one of
//    them. Both change in the commit that changes the run, and only if the thread is as it was
//    read. So at most one run of a thread is running, on any number of servers.
//  - the log of a run is closed after the commit of its end.
#pragma once

#include "server/documents/document_store.hpp"
#include "server/rules/records.hpp"
#include "server/rules/run_request.hpp"
#include "server/rules/run_rules.hpp"
#include "server/runs/event_log.hpp"
#include "server/runs/graph_set.hpp"
#include "server/runs/work_queue.hpp"

#include <troupe/run_stream.hpp>
#include <troupe/server/limits.hpp>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
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

/// Sees all runs of a thread, on this server. Thread: any, one call at a time for each run; short.
struct thread_observer {
  std::function<void(const run_record& run)> began;
  std::function<void(const run_record& run, const stream_part& part)> part;
  std::function<void(const run_record& run, const run_event& event)> event;
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
  /// After the commit of a run's end, on a thread of the service; it may block.
  std::function<void(const run_outcome& outcome)> on_end = {};
};

class run_service {
public:
  run_service(graph_set& graphs, std::shared_ptr<document_store> documents,
              run_service_options options);
  run_service(const run_service&) = delete;
  run_service& operator=(const run_service&) = delete;
  /// Runs in flight are drained; a later server takes them up again.
  ~run_service();

  /// A new run on a thread. `watch` is called with its log before it can begin.
  /// Shape:  an empty `thread_id`: a thread of its own, which is removed with the run unless the
  ///         request keeps it.
  /// Blocks: on a commit.
  /// Errors: throws refusal: 404 for a missing thread, 409 when the thread is busy and the strategy
  ///         is reject; error: storage codes.
  run_record create(const std::string& thread_id, const run_request& request,
                    const assistant_record& assistant,
                    const std::function<void(event_log& log)>& watch = {});

  /// Asks for the end of a run that is pending or running. False: there is no such run.
  bool cancel(const std::string& thread_id, const std::string& run_id, cancel_action action);

  /// The events of a run: those after `after`, where they are kept, and those to come. A run that
  /// is over and was not resumable has none. Errors: throws refusal{404} for an unknown run.
  std::shared_ptr<void> read(const std::string& thread_id, const std::string& run_id,
                             std::optional<std::uint64_t> after, event_reader reader);

  /// Calls `then` once when the run is over; at once when it is already.
  /// Errors: throws refusal{404} for an unknown run.
  void when_ended(const std::string& thread_id, const std::string& run_id,
                  std::function<void(const run_outcome&)> then);

  /// Ends a run that is in flight, and removes it and its checkpoints.
  void remove(const std::string& thread_id, const std::string& run_id);
  /// Ends the runs of a thread, and removes the thread with all it has. False: there is none.
  /// Errors: throws error: storage codes; conflict when its document has another revision than
  ///         `expected`.
  bool remove_thread(const std::string& thread_id,
                     std::optional<std::uint64_t> expected = std::nullopt);

  /// Does this soon, on a thread that may block.
  void later(std::function<void()> work) { work_.post(std::move(work)); }

  std::shared_ptr<void> observe(const std::string& thread_id, thread_observer observer);

  /// Takes up what servers that are gone left running or pending. Call it once at the start.
  void recover();
  /// Stops running runs at the end of their step, so that the next server takes them up. Returns
  /// whether all have stopped.
  /// Blocks: at most this long.
  bool drain(std::chrono::milliseconds at_most);

  std::size_t running() const;
  std::int64_t now() const { return options_.now(); }

private:
  struct live_run;
  struct read_thread {
    thread_record thread;
    std::uint64_t revision = 0;
  };

  // ---- records
  std::optional<read_thread> find_thread(const std::string& thread_id) const;
  run_record get_run(const std::string& thread_id, const std::string& run_id,
                     std::uint64_t* revision = nullptr) const;
  std::vector<waiting_run> line_of(const thread_record& thread) const;
  void begin_in(thread_record& thread, run_record& run);

  // ---- carrying out
  std::shared_ptr<live_run> live(const std::string& run_id) const;
  std::shared_ptr<live_run> make_live(const run_record& run);
  void start(const std::shared_ptr<live_run>& run);
  void carry_out(const std::shared_ptr<live_run>& run);
  run_input next_input(const app<>& with, const run_record& run) const;
  void take_part(live_run& run, const stream_part& part);
  void say(live_run& run, std::string name, std::string data);
  void end(const std::shared_ptr<live_run>& run, const result<run_result>& how);
  void finish(const std::shared_ptr<live_run>& run, const result<run_result>& how);
  void leave_for_later(const std::shared_ptr<live_run>& run);
  void advance(const std::string& thread_id);
  void tell_ended(const std::shared_ptr<live_run>& run, const run_outcome& outcome);
  bool has_next(const run_record& run, const result<run_result>& how) const;
  void remove_checkpoints(const run_record& run) const;

  template <class F> void observers_of(const std::string& thread_id, F&& each);

  graph_set& graphs_;
  const std::shared_ptr<document_store> documents_;
  run_service_options options_;

  mutable std::mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<live_run>> live_; // by run id
  std::unordered_map<std::string, std::vector<std::weak_ptr<thread_observer>>> observers_;
  std::atomic<bool> drains_ = false;
  std::condition_variable emptied_;
  std::size_t carried_ = 0; // runs that the engine has

  std::shared_ptr<void> watch_; // of changes by other servers
  work_queue work_;             // the last member: its threads use all others
};

} // namespace troupe::server
