// event_log: the events of one run, for any number of readers, each with a position of its own.
#pragma once

#include <troupe/server/limits.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {
struct stream_part; // runtime.hpp
}

namespace troupe::server {

/// An event. Shape: `seq` from 1; `data` one line of JSON. `part`: of the run's stream, with the
/// first event that it became, where other servers may want it; else null.
struct run_event {
  std::uint64_t seq = 0;
  std::string name;
  std::string data;
  std::shared_ptr<const stream_part> part = nullptr;
};

/// A reader's callbacks. Thread: any, one call at a time; short, and without calls of the log.
struct event_reader {
  std::function<void(const run_event& event)> event;
  std::function<void()> end; ///< once, after the last event
};

/// The events of a run. A reader gets the kept events after its position, then each new one, then
/// the end. A reader that names no position gets all events of a log that is younger than
/// limits::server_join_grace: so a client that creates a run and then joins it misses nothing.
/// Order:  every reader sees the order of append().
/// Thread: any.
class event_log {
public:
  /// `kept_max`: how many events stay for later readers; 0 keeps none. `next_seq`: of the first
  /// one.
  explicit event_log(std::size_t kept_max, std::uint64_t next_seq = 1);
  using clock = std::chrono::steady_clock;

  void append(std::string name, std::string data);
  /// An event with its number. It is ignored unless its number is greater than all before. Numbers
  /// continue after it. A stored one may have reached a reader through another server: readers that
  /// came with a position get it when it is after that position.
  void append(run_event event, bool is_stored = false);
  /// An event that was stored by an earlier attempt, or on another server; as append(), without
  /// effect on limits::server_join_grace. Readers that came with a position get it when it is after
  /// that position.
  void restore(run_event event);
  /// No event follows.
  void close();
  bool is_closed() const;

  /// Reads from now on; with `after`, first the kept events whose number is greater.
  /// Owns:   the reader is called until the returned handle is dropped.
  std::shared_ptr<void> read(event_reader reader,
                             std::optional<std::uint64_t> after = std::nullopt);
  std::uint64_t last_seq() const;
  bool has_readers() const;
  /// The first events of a young log that keeps none, as a reader without a position gets them.
  std::vector<run_event> early_events() const;

private:
  struct entry {
    event_reader reader;
    std::uint64_t after = 0; // its position when it came
  };
  void add(run_event event, bool is_stored = false);
  void tell(const run_event& event, bool is_stored);
  void keep(run_event event);
  bool is_young() const;

  mutable std::mutex mutex_;
  const std::size_t kept_max_;
  std::uint64_t next_seq_;
  std::deque<run_event> kept_;
  std::vector<std::weak_ptr<entry>> readers_;
  std::optional<clock::time_point> first_at_; // of the first event
  std::deque<run_event> early_;               // those of the grace
  bool closed_ = false;
};

} // namespace troupe::server
