// thread_sweeper: ends the lives of threads whose time is over.
#pragma once

#include "server/documents/document_store.hpp"
#include "server/rules/records.hpp"
#include "server/runs/run_service.hpp"

#include <troupe/saver.hpp>

#include <cstddef>
#include <memory>
#include <string_view>

namespace troupe::server {

/// The counts of a sweep.
struct sweep_report {
  std::size_t removed = 0;
  std::size_t pruned = 0;
};

/// Several servers may sweep one database: a thread that changes meanwhile is left alone.
/// Thread: one at a time.
class thread_sweeper {
public:
  thread_sweeper(std::shared_ptr<document_store> documents, run_service& runs,
                 std::shared_ptr<troupe::saver> saver);

  /// Removes or prunes the threads that are due. A failure of one is logged, and leaves it to the
  /// next sweep.
  /// Blocks: on the disk, for each thread with a time to live.
  /// Errors: throws error: storage codes of reading.
  sweep_report sweep();

private:
  void sweep_strategy(std::string_view strategy, sweep_report& into);
  bool end_thread(const document& found, sweep_report& into);

  const std::shared_ptr<document_store> documents_;
  run_service& runs_;
  const std::shared_ptr<troupe::saver> saver_;
};

} // namespace troupe::server
