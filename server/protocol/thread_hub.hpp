// thread_hub: the events of a thread, over all its runs, for any number of subscribers.
#pragma once

#include "server/protocol/run_translation.hpp"

#include <troupe/server/limits.hpp>

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace troupe::server {

/// The wishes of a subscriber. Shape: `channels` names; unknown ones select nothing. `namespaces`:
/// prefixes, empty for all. `depth`: the longest rest of a namespace after its prefix.
/// `thread_created_at`: of the thread that is meant, as runs have it; 0 for any.
struct subscription {
  std::vector<std::string> channels;
  std::vector<std::vector<std::string>> namespaces = {};
  std::optional<std::size_t> depth = std::nullopt;
  std::uint64_t since = 0;
  std::int64_t thread_created_at = 0;
};
bool wants(const subscription& what, const protocol_event& event);

/// A numbered event. Shape: `json` is the whole event, one line.
struct numbered_event {
  std::uint64_t seq = 0;
  protocol_event event;
  std::string json;
};

/// The takers of a subscription. Both are short, and call nothing of the hub.
struct thread_reader {
  std::function<void(const numbered_event&)> take;
  /// Called once, before the first event of a newer thread than the one that is meant. The
  /// subscription ends then. Without this function, the subscription continues with the newer
  /// thread.
  std::function<void()> replaced = {};
};

/// The last limits::server_thread_events_max events are kept, of one thread: a thread that is
/// created under the id of a removed one shows none of its events.
/// Shape:  numbers go on from run to run, also after a restart of the server: an event has the
///         microsecond in which its run began, plus its place in the run. A run has fewer events
///         than it takes microseconds, so the numbers of two runs are apart, and the same on all
///         servers of a database. A single server never lets a number fall.
/// Thread: any.
class thread_hub {
public:
  /// `now`: microseconds since 1970.
  thread_hub(std::function<std::int64_t()> now, bool is_one_of_several)
    : now_{std::move(now)},
      is_one_of_several_{is_one_of_several} {}
  /// Calls `replay` with an observer for what the hub may have missed. New events wait for its end,
  /// and each event counts once.
  /// Errors: rethrows what `replay` throws.
  void fill(const std::function<void(const thread_observer& past)>& replay);
  /// Whether the hub has seen the end of this run.
  bool has_ended(const std::string& run_id) const;

  /// `to` takes the kept events that are wanted, then each new one, until the returned handle is
  /// dropped. `begins` is called before that; no subscriber gets an event between it and the kept
  /// events. It is short, and calls nothing of the hub.
  std::shared_ptr<void> subscribe(
    subscription what, thread_reader to, const std::function<void()>& begins = [] {});
  std::uint64_t last_seq() const;
  bool has_subscribers() const;

  /// Hold it from the look at questions until the run that answers them is there: so each question
  /// is answered once.
  std::unique_lock<std::mutex> answer() { return std::unique_lock{answers_}; }

  static thread_observer observer(std::weak_ptr<thread_hub> self);

private:
  struct reader {
    subscription what;
    thread_reader to;
  };
  struct seen_run {
    run_translation translation;
    std::uint64_t next_seq = 0;
    std::uint64_t last_event = 0; // of the run, that had a part
    std::int64_t thread_created_at = 0;
  };
  /// Calls the member, or keeps the call until all fills have ended.
  template <class... What>
  void hear(void (thread_hub::*member)(const What&...), const What&... what);

  void begin_fill();
  void end_fill();

  // -- under the mutex
  bool is_over(const std::string& run_id) const;
  void begin(const run_record& run);
  void take(const run_record& run, const run_event& event);
  void end(const run_outcome& outcome);
  void begin_thread(std::int64_t created_at);
  void add(seen_run& run, run_translation::events events);

  const std::function<std::int64_t()> now_;
  const bool is_one_of_several_;
  std::mutex answers_; // taken before mutex_
  mutable std::mutex mutex_;
  std::int64_t thread_created_at_ = 0; // of the thread that has the events; 0: not known
  std::uint64_t last_seq_ = 0;
  std::deque<numbered_event> kept_;
  std::vector<std::weak_ptr<reader>> readers_;
  std::map<std::string, seen_run> runs_; // by run id
  std::deque<std::string> ended_;        // ids of the last runs
  std::vector<std::function<void(thread_hub&)>> waiting_;
  int fills_ = 0; // that are on their way
};

/// The hubs of threads that somebody follows or followed: the last
/// limits::server_threads_followed_max of those without subscribers. Thread: any.
class thread_hubs {
public:
  explicit thread_hubs(run_service& runs) : runs_{runs} {}
  std::shared_ptr<thread_hub> at(const std::string& thread_id);
  /// The hub sees the runs of all servers while the handle is held; first those that were before,
  /// as far as they are stored. Null where there is one server.
  /// Blocks: on a commit and reads of documents. Errors: throws error: storage codes.
  std::shared_ptr<void> follow(const std::string& thread_id);

private:
  struct entry {
    std::shared_ptr<thread_hub> hub;
    std::shared_ptr<void> observing;
    std::list<std::string>::iterator place;
  };
  run_service& runs_;
  std::mutex mutex_;
  std::list<std::string> order_; // the last used one first
  std::unordered_map<std::string, entry> hubs_;
};

} // namespace troupe::server
