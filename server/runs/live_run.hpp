// live_run: a run that this server has in hand: it carries it out, or it waits for it with others.
// Only run_service's sources include this.
#pragma once

#include "server/rules/part_frames.hpp"
#include "server/runs/run_service.hpp"

#include <atomic>

namespace troupe::server {

struct run_service::live_run {
  /// `given`: the log of an earlier hand, whose readers stay.
  explicit live_run(run_record r, std::size_t events_kept_max,
                    std::shared_ptr<event_log> given = nullptr)
    : run_id{r.run_id},
      thread_id{r.thread_id},
      is_resumable{r.flag("resumable")},
      run{std::move(r)},
      frames{wire_modes(run.kwargs), run.flag("subgraphs")},
      log{given ? std::move(given)
                : std::make_shared<event_log>(is_resumable ? events_kept_max : 0)} {}

  const std::string run_id;
  const std::string thread_id;
  const bool is_resumable; ///< events are stored
  run_record run;          ///< under the service's mutex before `begun`, then constant
  part_frames frames;      ///< used by the one thread that takes the run's parts
  const std::shared_ptr<event_log> log;
  run_control control;
  std::string started_at;
  std::optional<app<>> graph; ///< set when it first begins here; a newer one does not replace it
  std::optional<run_stream> stream;
  std::atomic<cancel_action> cancel = cancel_action::none;
  std::atomic<bool> is_abandoned = false; ///< another server has it: nothing is stored here
  std::atomic<bool> is_ending = false;    ///< its end is on its way to its client
  std::atomic<bool> is_lost = false;      ///< its record was accepted, but not stored
  /// How much the answer waits for, where the begin was accepted before the disk had it: the begin
  /// is durable, and the end is accepted.
  std::atomic<int> answer_waits_for = 0;
  std::optional<run_outcome> early_outcome; ///< set before the end is accepted
  bool has_said_its_end = false;            ///< used by the one thread that finishes the run
  int conflicts = 0;                        ///< the same
  std::mutex events_mutex;
  std::uint64_t events = 0; ///< under events_mutex: the number of the newest one
  bool is_followed = false; ///< under events_mutex: events are stored with their parts
  bool is_fed_here = false; ///< under events_mutex: by the engine, not from stored events
  bool begun = false;       ///< under the service's mutex: in this server's hands
  int begins = 0; ///< under the service's mutex: commits of its begin without an answer yet
  /// The record as observers of the thread were told of it; null before. Under the service's mutex.
  std::shared_ptr<const run_record> told;
  /// As the commit of its begin left them; their first use empties them. Under the service's mutex
  /// before `begun`, then of the one thread that finishes the run.
  std::optional<begun_records> as_begun;
  std::optional<run_outcome> outcome;                           // under the service's mutex
  std::vector<std::function<void(const run_outcome&)>> waiting; // under the service's mutex
};

/// Until it ends, the begin of a run is on its way to the documents, and nobody here begins it
/// again.
class run_service::beginning {
public:
  beginning(run_service& service, std::shared_ptr<live_run> run)
    : service_{service},
      run_{std::move(run)} {
    std::lock_guard lock{service_.mutex_};
    ++run_->begins;
  }
  ~beginning() {
    std::lock_guard lock{service_.mutex_};
    --run_->begins;
  }
  beginning(const beginning&) = delete;
  beginning& operator=(const beginning&) = delete;

private:
  run_service& service_;
  const std::shared_ptr<live_run> run_;
};

template <class F> void run_service::observers_of(const std::string& thread_id, F&& each) {
  std::vector<std::shared_ptr<thread_observer>> those;
  {
    std::lock_guard lock{mutex_};
    auto found = observers_.find(thread_id);
    if (found == observers_.end())
      return;
    for (const auto& weak : found->second)
      if (auto one = weak.lock())
        those.push_back(std::move(one));
    if (those.empty())
      observers_.erase(found);
  }
  for (const auto& one : those)
    each(*one);
}

/// The end of a run on its way to the documents, and what follows.
struct run_service::run_end {
  std::shared_ptr<live_run> hand;
  result<run_result> how;
  run_outcome outcome;
  cancel_action asked = cancel_action::none;
  std::shared_ptr<live_run> next; ///< the thread's next run, which begins in the same commit
  std::int64_t wait_until = 0;    ///< when the next one begins; 0: none does at a time
};

} // namespace troupe::server
