// postgres_document_writer: writes commits into Postgres, as the sink of the group commit.
//
// Invariants:
//  - A transaction locks the only row of documents_state first. So transactions of all servers come
//    one after the other, and numbers of changes become visible in their order.
//  - revisions_ has only revisions that were read or written under that lock.
#pragma once

#include "persistence/group_commit.hpp"
#include "persistence/postgres/postgres_connection.hpp"
#include "server/documents/postgres_document_sealing.hpp"
#include "server/documents/postgres_document_statements.hpp"

#include <chrono>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace troupe::server {

/// A change on its way to Postgres.
/// Shape:  as document_change. `body` msgpack, nullopt to remove; `members` JSON text.
struct posted_change {
  document_kind kind;
  std::string id;
  std::optional<std::string> body;
  std::string members;
  std::optional<std::uint64_t> expected;
  bool is_condition = false;
};

/// A commit on its way to Postgres.
struct posted_commit {
  std::vector<posted_change> changes;
  std::optional<troupe::error> refused = std::nullopt; ///< changed nothing
  std::int64_t number = 0; ///< of its last change in the transaction that was tried last; 0: none
};

/// Thread: the writer thread, but for expect() and forget().
class postgres_document_writer final : public commit_sink {
public:
  /// `origin`: the number by which this store knows its own changes.
  postgres_document_writer(const postgres_options& options, const postgres_document_statements& sql,
                           const postgres_sealing& sealing, std::int64_t origin);

  /// Announces a commit that will be made, so that what it needs is read with others; and the end
  /// of the first announced one.
  void expect(std::shared_ptr<posted_commit> commit);
  void forget(const std::shared_ptr<posted_commit>& commit);

  result<void> begin() override;
  write_outcome write(const commit_job& job) override { return job.upkeep(); }
  result<void> commit() override;
  void abort() override;
  // Requests that were taken together belong together: a transaction takes two round trips.
  bool foresee(std::span<const commit_job>) override { return true; }
  bool may_repeat() const override { return may_repeat_; }

  /// Makes a commit within the open transaction.
  write_outcome make(posted_commit& commit);

private:
  using clock = std::chrono::steady_clock;
  using place = std::pair<document_kind, std::string>;

  result<void> connect();
  result<std::unique_ptr<postgres_connection>> open() const;
  result<void> lock();
  result<void> seal_from_now_on();
  result<bool> is_stored(const posted_commit& commit);
  result<bool> ask_revisions(const posted_commit* commit);
  void note_revisions(postgres_rows& rows);
  result<void> read_revisions(const posted_commit& commit);
  result<void> check(const posted_commit& commit);
  result<void> send(posted_commit& commit, std::size_t& bytes);
  result<void> send_log();

  const postgres_options options_;
  const postgres_document_statements& sql_;
  const std::int64_t origin_;
  const std::string channel_;
  document_cipher cipher_;

  std::mutex expected_mutex_;
  std::list<std::shared_ptr<posted_commit>> expected_;

  std::unique_ptr<postgres_connection> connection_;
  std::optional<troupe::error> unreachable_;
  clock::time_point no_attempt_before_;
  std::map<place, std::uint64_t> revisions_; // 0: the document does not exist
  std::int64_t before_ = 0;                  // the last number before the transaction
  std::int64_t last_ = 0;                    // and now
  bool may_repeat_ = false;
};

} // namespace troupe::server
