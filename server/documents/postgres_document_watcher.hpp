// postgres_document_watcher: a thread that learns of other servers' changes, by notifications and,
// where one is lost, by looking from time to time.
#pragma once

#include "persistence/postgres/postgres_connection.hpp"
#include "server/documents/document_watches.hpp"
#include "server/documents/postgres_document_statements.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>

namespace troupe::server {

class postgres_document_watcher {
public:
  /// `seen`: the last number of a change that need not be reported; nullopt: not known, so all
  /// documents are reported as changed once. Changes of `origin` are not reported.
  postgres_document_watcher(const postgres_options& options,
                            const postgres_document_statements& sql, document_watches& watches,
                            std::int64_t origin, std::optional<std::int64_t> seen);
  /// Ends the thread.
  ~postgres_document_watcher();
  postgres_document_watcher(const postgres_document_watcher&) = delete;
  postgres_document_watcher& operator=(const postgres_document_watcher&) = delete;

private:
  void run();
  result<void> listen();
  result<void> report();
  result<bool> report_some();
  result<void> report_all();

  const postgres_options options_;
  const postgres_document_statements& sql_;
  document_watches& watches_;
  const std::int64_t origin_;
  std::optional<std::int64_t> seen_;
  std::unique_ptr<postgres_connection> connection_;
  const int stop_;     // an eventfd, readable when the thread must end
  std::thread thread_; // the last member: it uses the others
};

} // namespace troupe::server
