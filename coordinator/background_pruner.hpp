// background_pruner: prunes and deletes threads, and sweeps the long-term store, on a thread of its
// own.
//
// Invariants:
//  - A thread is deleted only while its turn is held here: no run of this runtime is on it.
//  - The saver is asked for one thread at a time, the store for a limited number of items. So
//    stop() waits for one such request at most.
#pragma once

#include "coordinator/thread_turns.hpp"

#include <troupe/runtime.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace troupe {

/// Errors: invalid_config.
result<void> check_pruning(const pruning& how);

/// The threads to remove and to prune.
struct upkeep_plan {
  std::vector<thread_info> remove; // they are too old
  std::vector<thread_info> prune;
};

/// Shape:  a thread without a time is never too old; a thread with no more checkpoints than are
///         kept is left alone.
upkeep_plan plan_upkeep(std::vector<thread_info> threads, const pruning& how,
                        std::chrono::system_clock::time_point now);

class background_pruner {
public:
  using clock = std::chrono::system_clock;
  using logger = std::function<void(const std::string&)>;

  /// Does nothing until it is started.
  /// Shape:  `threads` or `items` may be null: then nothing of that kind is done. `log` gets a line
  ///         for each round that removed something. `warn` gets a line for each failure that
  ///         differs from that of the round before.
  background_pruner(pruning how, std::shared_ptr<saver> threads, std::shared_ptr<store> items,
                    std::shared_ptr<thread_turns> turns, logger log, logger warn);
  ~background_pruner() { stop(); }

  void start();
  /// Ends the thread, after its current request to the saver or the store.
  void stop();

  /// One round. Thread: one at a time. Blocks: on the saver and the store.
  void round(clock::time_point now);

private:
  struct removed {
    std::size_t threads = 0;
    prune_report within;
    std::size_t items = 0; // expired items of the store
  };
  void run();
  result<void> look_after_threads(clock::time_point now, removed& done);
  result<void> sweep_items(removed& done);
  result<void> remove(const thread_info& thread, clock::time_point now, removed& done);
  result<void> prune(const thread_info& thread, removed& done);
  void report(const result<void>& how, const removed& done);

  const pruning how_;
  const std::shared_ptr<saver> threads_;
  const std::shared_ptr<store> items_;
  const std::shared_ptr<thread_turns> turns_;
  const logger log_, warn_;
  /// Threads of which pruning removed nothing: while they stay unchanged, it would again remove
  /// nothing.
  std::unordered_map<std::string, std::pair<std::string, std::size_t>> unchanged_;
  std::string last_failure_;

  std::mutex mutex_;
  std::condition_variable wake_;
  std::atomic<bool> stopping_{false};
  std::thread worker_;
};

} // namespace troupe
