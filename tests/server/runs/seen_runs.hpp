// seen_runs: what an observer of a thread saw of its runs.
#pragma once

#include "tests/server/runs/shared_servers.hpp"

#include <algorithm>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace troupe::server::test {

/// The things that an observer saw, each as a line. Parts are "RUN part MODE DATA".
class seen_runs {
public:
  thread_observer observer() {
    return {.began = [this](const run_record& run) { add(run.run_id, "began"); },
            .event =
              [this](const run_record& run, const run_event& event) {
                if (event.part)
                  add(run.run_id, "part " + std::string{to_string(event.part->mode)} + ' '
                                    + to_json(event.part->data));
                add(run.run_id, std::to_string(event.seq) + ' ' + event.name + ' ' + event.data);
              },
            .ended =
              [this](const run_outcome& outcome) {
                add(outcome.run.run_id, "ended " + std::string{to_string(outcome.run.status)});
              }};
  }
  /// The lines of a run, once its end was seen.
  std::vector<std::string> of(const run_record& run) {
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [&] {
      return std::ranges::any_of(lines_[run.run_id],
                                 [](const auto& line) { return line.starts_with("ended"); });
    });
    return lines_[run.run_id];
  }
  std::size_t count(const run_record& run) {
    std::lock_guard lock{mutex_};
    return lines_[run.run_id].size();
  }
  void wait_for(const run_record& run, std::size_t count) {
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [&] { return lines_[run.run_id].size() >= count; });
  }

private:
  void add(const std::string& run_id, std::string line) {
    std::lock_guard lock{mutex_};
    lines_[run_id].push_back(std::move(line));
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::vector<std::string>> lines_; // by run id
};

/// An observer on a server that follows the thread.
struct following_observer {
  following_observer(shared_server& of, const std::string& thread)
    : observing{of.runs.observe(thread, seen.observer())},
      following{of.runs.follow_thread(thread)} {}
  seen_runs seen;
  std::shared_ptr<void> observing;
  std::shared_ptr<void> following;
};

} // namespace troupe::server::test
