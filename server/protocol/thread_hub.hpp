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
struct subscription {
  std::vector<std::string> channels;
  std::vector<std::vector<std::string>> namespaces = {};
  std::optional<std::size_t> depth = std::nullopt;
  std::uint64_t since = 0;
};
bool wants(const subscription& what, const protocol_event& event);

/// A numbered event. Shape: `json` is the whole event, one line.
struct numbered_event {
  std::uint64_t seq = 0;
  protocol_event event;
  std::string json;
};

/// The last limits::server_thread_events_max events are kept. Numbers go on from run to run.
/// Thread: any.
class thread_hub {
public:
  explicit thread_hub(std::function<std::int64_t()> now) : now_{std::move(now)} {}

  /// Calls `take` with the kept events that are wanted, then with each new one, until the returned
  /// handle is dropped. `take` is short, and calls nothing of the hub.
  std::shared_ptr<void> subscribe(subscription what,
                                  std::function<void(const numbered_event&)> take);
  std::uint64_t last_seq() const;
  bool has_subscribers() const;

  /// Whether a run that has not ended asked this question, for the first caller alone.
  bool take_question(const std::string& interrupt_id);
  /// Takes all questions of a run that has not ended. Whether there was one.
  bool take_questions();

  thread_observer observer(std::weak_ptr<thread_hub> self);

private:
  struct reader {
    subscription what;
    std::function<void(const numbered_event&)> take;
  };
  void add(run_translation::events events);
  std::optional<run_translation::events> translate(
    const std::string& run_id, const std::function<run_translation::events(run_translation&)>& how);

  const std::function<std::int64_t()> now_;
  mutable std::mutex mutex_;
  std::uint64_t next_seq_ = 1;
  std::deque<numbered_event> kept_;
  std::vector<std::weak_ptr<reader>> readers_;
  std::map<std::string, run_translation> runs_; // by run id
};

/// The hubs of threads that somebody follows or followed: the last
/// limits::server_threads_followed_max of those without subscribers. Thread: any.
class thread_hubs {
public:
  explicit thread_hubs(run_service& runs) : runs_{runs} {}
  std::shared_ptr<thread_hub> at(const std::string& thread_id);

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
