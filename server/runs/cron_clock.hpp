// cron_clock: starts the runs of crons when their time has come.
#pragma once

#include "server/documents/document_store.hpp"
#include "server/rules/records.hpp"
#include "server/runs/run_service.hpp"

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace troupe::server {

/// The next time of a cron after `micros`; null when it is disabled, ended, or never comes.
value next_run_date(const cron_record& cron, std::int64_t micros);

/// Looks at each full minute for crons whose next_run_date is past. The commit that sets the next
/// date decides which of several servers starts the run. A time that passed while no server ran is
/// made up for once.
class cron_clock {
public:
  /// `start`: starts a run of the cron; may throw.
  cron_clock(std::shared_ptr<document_store> documents, std::function<std::int64_t()> now,
             std::function<void(const cron_record&)> start);
  cron_clock(const cron_clock&) = delete;
  cron_clock& operator=(const cron_clock&) = delete;
  ~cron_clock();

  /// One look; the thread does it at full minutes.
  void look();

private:
  void serve();

  const std::shared_ptr<document_store> documents_;
  const std::function<std::int64_t()> now_;
  const std::function<void(const cron_record&)> start_;
  std::mutex mutex_;
  std::condition_variable stopped_;
  bool stops_ = false;
  std::thread thread_; // the last member
};

} // namespace troupe::server
