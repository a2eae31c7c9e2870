// stream_log: the recent parts of threads, numbered, for readers that come later or again.
//
// Invariants:
//  - the numbers of a thread's parts grow by one while its log is kept.
//  - a log is kept while a run writes to it; of the others the oldest are dropped, by their count
//    and by their bytes. A log is measured once, when its last run ends.
#pragma once

#include "coordinator/part_list.hpp"

#include <atomic>
#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

namespace troupe {

using byte_counter = std::atomic<std::size_t>;

/// The log of one thread.
class thread_log {
public:
  thread_log() = default;
  /// `all`: the bytes of all logs without a run.
  explicit thread_log(std::shared_ptr<byte_counter> all) : all_{std::move(all)} {}
  thread_log(const thread_log&) = delete;
  thread_log& operator=(const thread_log&) = delete;
  ~thread_log() { count(0); }

  /// Numbers the part and keeps a copy. From any thread.
  void append(stream_part& part);
  /// open(): a run begins to write. close(): it ends.
  void open();
  void close();
  bool is_open() const;
  /// Its share of the bytes of all logs without a run.
  std::size_t bytes() const;
  /// The log was dropped: it no longer counts, also while a reader still holds it.
  void dropped();

  /// The parts after `after`. Waits for a part while a run is on; returns none at the end.
  /// Errors: missing_key when some of them were dropped.
  result<part_list> parts_after(std::uint64_t after);

private:
  void count(std::size_t bytes);

  std::shared_ptr<byte_counter> all_;
  std::size_t bytes_ = 0; // of these in `all_`
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  part_list parts_;
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
  /// `next`: a log that will soon have a run.
  bool keeps_too_much_beside(const thread_log& next) const;

  std::shared_ptr<byte_counter> bytes_ = std::make_shared<byte_counter>(0);
  std::mutex mutex_;
  std::unordered_map<std::string, entry> logs_;
  std::list<std::string> by_use_; // the most recently used one at the end
};

} // namespace troupe
