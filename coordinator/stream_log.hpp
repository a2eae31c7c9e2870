// stream_log: the recent parts of threads, numbered, for readers that come later or again.
//
// Invariants:
//  - the numbers of a thread's parts grow by one while its log is kept.
//  - a log is kept while a run writes to it; of the others the oldest are dropped.
#pragma once

#include <troupe/runtime.hpp>

#include <condition_variable>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

namespace troupe {

/// The log of one thread.
class thread_log {
public:
  /// Numbers the part and keeps a copy. From any thread.
  void append(stream_part& part);
  /// open(): a run begins to write. close(): it ends.
  void open();
  void close();
  bool is_open() const;

  /// The parts after `after`. Waits for a part while a run is on; returns none at the end.
  /// Errors: missing_key when some of them were dropped.
  result<std::deque<stream_part>> parts_after(std::uint64_t after);

private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<stream_part> parts_;
  std::uint64_t last_ = 0; // number of the newest part
  int runs_ = 0;
  int followers_ = 0; // that wait for a part
};

/// Any thread may call.
class stream_log {
public:
  /// The thread's log, made when it does not exist.
  std::shared_ptr<thread_log> of(const std::string& thread_id);
  std::shared_ptr<thread_log> find(const std::string& thread_id);

private:
  struct entry {
    std::shared_ptr<thread_log> log;
    std::list<std::string>::iterator place;
  };
  std::mutex mutex_;
  std::unordered_map<std::string, entry> logs_;
  std::list<std::string> by_use_; // the most recently used one at the end
};

} // namespace troupe
