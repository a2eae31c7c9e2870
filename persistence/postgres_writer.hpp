// Writes requests into Postgres: the sink of the group commit.
#pragma once

#include "persistence/encoded_request.hpp"
#include "persistence/group_commit.hpp"
#include "persistence/postgres_connection.hpp"
#include "persistence/postgres_statements.hpp"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace troupe {

/// Threads are locked before their owner is compared, all that are foreseen in one round trip; what
/// is stored is only queued, and goes out with the commit, in a second one.
/// Thread: the writer thread.
class postgres_writer final : public commit_sink {
public:
  postgres_writer(const postgres_options& options, const postgres_statements& sql);

  void foresee(std::span<const commit_job> jobs) override;
  result<void> begin() override;
  write_outcome write(const commit_job& job) override;
  result<void> commit() override;
  void abort() override;
  bool may_repeat() const override { return may_repeat_; }

private:
  using clock = std::chrono::steady_clock;

  /// A thread that this transaction has locked.
  struct locked_thread {
    std::int64_t number = 0;
    std::uint64_t owner = 0;
    bool is_there = true;   // not deleted
    bool is_unused = false; // its row was only made to lock it
  };

  result<void> connect();
  result<locked_thread*> find_or_lock(const std::string& thread_id);
  result<void> lock(const std::vector<std::string>& thread_ids);
  result<void> lock_those_there(const std::vector<std::string>& thread_ids);
  result<void> make_missing(const std::vector<std::string>& thread_ids);
  result<void> take_number(std::size_t count);
  result<std::int64_t> chain_of(std::int64_t thread, const std::string& ns);
  result<void> erase(locked_thread& thread);
  result<void> store(const save_request& request, locked_thread& thread);
  result<void> store_owner(const save_request& request, locked_thread& thread);
  result<void> store_writes(std::int64_t chain, const std::string& checkpoint_id,
                            const task_writes& task);
  result<void> store_values(std::int64_t chain, const checkpoint_put& put);
  result<void> store_checkpoint(std::int64_t chain, const checkpoint_put& put);
  void forget();

  const postgres_options options_;
  const postgres_statements& sql_;
  const std::string numbers_; // the name of the sequence
  std::unique_ptr<postgres_connection> connection_;
  clock::time_point no_attempt_before_;
  std::optional<troupe::error> unreachable_; // how the last attempt ended
  bool may_repeat_ = false;

  std::set<std::string> foreseen_; // threads of jobs to come
  std::map<std::string, locked_thread> locked_;
  // by thread number and namespace; numbers are never used again
  std::unordered_map<std::int64_t, std::unordered_map<std::string, std::int64_t>> chains_;
  std::int64_t next_number_ = 0;
  std::int64_t numbers_end_ = 0;
  encoded_request encoded_;
};

} // namespace troupe
