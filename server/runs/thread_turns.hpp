// thread_turns: changes of one thread's record come one after the other.
#pragma once

#include "server/runs/document_changes.hpp"

#include <condition_variable>
#include <mutex>
#include <string>
#include <unordered_set>

namespace troupe::server {

/// Turns of those in this process who change a thread. Without them, each commit would refuse all
/// that come at the same time, and a burst of requests could use up its tries.
/// Thread: any; a caller waits for its turn, and takes none within another.
class thread_turns {
public:
  /// As without_conflict(), in a turn of the thread: other servers may still come between.
  template <class F> auto change(const std::string& thread_id, F&& change) {
    const turn mine{*this, thread_id};
    return without_conflict(change);
  }

private:
  class turn {
  public:
    turn(thread_turns& of, const std::string& thread_id) : of_{of}, id_{thread_id} {
      std::unique_lock lock{of_.mutex_};
      of_.ended_.wait(lock, [this] { return of_.taken_.insert(id_).second; });
    }
    turn(const turn&) = delete;
    turn& operator=(const turn&) = delete;
    ~turn() {
      {
        std::lock_guard lock{of_.mutex_};
        of_.taken_.erase(id_);
      }
      of_.ended_.notify_all();
    }

  private:
    thread_turns& of_;
    const std::string& id_;
  };

  std::mutex mutex_;
  std::condition_variable ended_;
  std::unordered_set<std::string> taken_; // ids of threads
};

} // namespace troupe::server
