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

/// Looks at each full minute for crons whose next_run_date is past. One commit sets the next date
/// and makes the run: it decides which of several servers starts the run, and no death loses a
/// time. A time that passed while no server ran is made up for once. A cron that is due, but whose
/// thread or assistant is gone, is removed.
class cron_clock {
public:
  /// The change of the cron's date. It throws when the cron changed meanwhile.
  using date_change = std::function<document_change()>;
  /// Makes a run of the cron, with that change in the same commit; may throw.
  using start_run = std::function<void(const cron_record& cron, const date_change& along)>;

  cron_clock(std::shared_ptr<document_store> documents, std::function<std::int64_t()> now,
             start_run start);
  cron_clock(const cron_clock&) = delete;
  cron_clock& operator=(const cron_clock&) = delete;
  ~cron_clock();

  /// One look; the thread does it at full minutes.
  void look();

private:
  void serve();
  void take(const document& at, cron_record cron);
  bool is_orphan(const cron_record& cron) const;

  const std::shared_ptr<document_store> documents_;
  const std::function<std::int64_t()> now_;
  const start_run start_;
  std::mutex mutex_;
  std::condition_variable stopped_;
  bool stops_ = false;
  std::thread thread_; // the last member
};

} // namespace troupe::server
