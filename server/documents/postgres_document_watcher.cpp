// postgres_document_watcher: reading the log of changes. Its numbers have no holes, so a hole means
// that changes were removed from the log before they were read.
#include "server/documents/postgres_document_watcher.hpp"

#include <troupe/server/limits.hpp>

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <map>

namespace troupe::server {

namespace {

// Whether the descriptor became readable within the time.
bool can_read(int descriptor, std::chrono::milliseconds within) {
  pollfd at{descriptor, POLLIN, 0};
  return poll(&at, 1, static_cast<int>(within.count())) > 0;
}

} // namespace

postgres_document_watcher::postgres_document_watcher(const postgres_options& options,
                                                     const postgres_document_statements& sql,
                                                     document_watches& watches, std::int64_t origin,
                                                     std::optional<std::int64_t> seen)
  : options_{options},
    sql_{sql},
    watches_{watches},
    origin_{origin},
    seen_{seen},
    stop_{eventfd(0, EFD_CLOEXEC)},
    thread_{[this] { run(); }} {
  pthread_setname_np(thread_.native_handle(), "troupe.watcher");
}

postgres_document_watcher::~postgres_document_watcher() {
  const std::uint64_t one = 1;
  static_cast<void>(!write(stop_, &one, sizeof one));
  thread_.join();
  close(stop_);
}

// Failures are not reported here: each call of the store reports its own.
void postgres_document_watcher::run() {
  while (!can_read(stop_, std::chrono::milliseconds{0})) {
    if (!connection_ && !listen()) {
      connection_.reset();
      can_read(stop_, limits::document_poll);
      continue;
    }
    if (!report() || !connection_->wait_for_notification(stop_, limits::document_poll))
      connection_.reset();
  }
}

result<void> postgres_document_watcher::listen() {
  auto opened = postgres_connection::open(options_);
  if (!opened)
    return opened.error();
  connection_ = std::move(*opened);
  auto sent =
    connection_->send_once("LISTEN " + quoted_identifier(document_channel(options_.schema)));
  if (!sent)
    return sent;
  auto done = connection_->finish();
  return done ? result<void>{} : done.error();
}

result<void> postgres_document_watcher::report() {
  auto last = connection_->ask(sql_.last);
  if (!last)
    return last.error();
  auto now = last->size() == 1 ? last->number(0, 0) : 0;
  if (!seen_ || now < *seen_) { // another server took over, and lacks the latest changes
    seen_ = now;
    return report_all();
  }
  for (;;) {
    auto more = report_some();
    if (!more)
      return more.error();
    if (!*more)
      return {};
  }
}

// Whether there may be more.
result<bool> postgres_document_watcher::report_some() {
  postgres_params params;
  params.number(*seen_);
  auto rows = connection_->ask(sql_.changes, params);
  if (!rows)
    return rows.error();
  if (rows->size() == 0)
    return false;
  auto has_hole = rows->number(0, 0) != *seen_ + 1;
  std::map<document_kind, std::vector<std::string>> ids;
  for (std::size_t row = 0; row < rows->size(); ++row)
    if (rows->number(row, 1) != origin_)
      ids[static_cast<document_kind>(rows->number(row, 2))].push_back(rows->string(row, 3));
  seen_ = rows->number(rows->size() - 1, 0);
  if (has_hole)
    if (auto ok = report_all(); !ok)
      return ok.error();
  for (const auto& [kind, changed] : ids)
    watches_.tell(kind, changed);
  return true;
}

result<void> postgres_document_watcher::report_all() {
  for (auto kind : watches_.kinds()) {
    postgres_params params;
    params.number(static_cast<std::int64_t>(kind));
    auto rows = connection_->ask(sql_.ids_of_kind, params);
    if (!rows)
      return rows.error();
    std::vector<std::string> ids;
    for (std::size_t row = 0; row < rows->size(); ++row)
      ids.push_back(rows->string(row, 0));
    watches_.tell(kind, ids);
  }
  return {};
}

} // namespace troupe::server
