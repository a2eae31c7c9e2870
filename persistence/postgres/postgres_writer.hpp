// postgres_writer: writes requests into Postgres, as the sink of the group commit.
#pragma once

#include "persistence/encoded_request.hpp"
#include "persistence/group_commit.hpp"
#include "persistence/postgres/postgres_connection.hpp"
#include "persistence/postgres/postgres_statements.hpp"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace troupe {

/// Locks threads before it compares their owners, all announced ones at once. Statements that store
/// are only queued, and leave with the commit.
/// Thread: the writer thread.
class postgres_writer final : public commit_sink {
public:
  postgres_writer(const postgres_options& options, const postgres_statements& sql);

  bool foresee(std::span<const commit_job> jobs) override;
  result<void> begin() override;
  write_outcome write(const commit_job& job) override;
  result<void> commit() override;
  void abort() override;
  bool may_repeat() const override { return may_repeat_; }

private:
  using clock = std::chrono::steady_clock;

  /// A chain of checkpoints, as far as this transaction knows it.
  struct known_chain {
    std::int64_t number = 0;       // 0: it does not exist yet
    std::set<std::string> present; // some of its checkpoints
    std::string newest;            // the newest of all its checkpoints; empty: it has none
  };
  /// A thread that this transaction has locked.
  struct locked_thread {
    std::int64_t number = 0;
    std::uint64_t owner = 0;
    bool is_there = true;                      // not deleted
    bool is_unused = false;                    // its row was only made to lock it
    std::map<std::string, known_chain> chains; // by namespace; those that were looked up
  };
  /// The data that a request needs before it is stored: a chain, and whether it has a checkpoint.
  struct place {
    std::string thread_id;
    std::string ns;
    std::string parent_id;
    friend auto operator<=>(const place&, const place&) = default;
  };

  result<void> connect();
  static place place_of(const save_request& request);
  result<locked_thread*> find_or_lock(const save_request& request);
  result<void> lock(std::vector<std::string> thread_ids);
  result<void> lock_those_there(const std::vector<std::string>& thread_ids);
  result<void> make_missing(const std::vector<std::string>& thread_ids);
  result<void> look_up(const std::vector<place>& places);
  result<known_chain*> find_chain(const save_request& request, locked_thread& thread);
  result<void> check_parent(const save_request& request, locked_thread& thread);
  result<void> take_numbers(std::size_t count);
  result<void> erase(locked_thread& thread);
  result<void> store(const save_request& request, locked_thread& thread);
  result<void> make_chain(const save_request& request, const locked_thread& thread,
                          known_chain& chain);
  result<void> store_owner(const save_request& request, locked_thread& thread);
  result<void> store_writes(std::int64_t chain, const std::string& checkpoint_id,
                            const task_writes& task);
  result<void> store_values(std::int64_t chain, const checkpoint_put& put);
  result<void> store_checkpoint(std::int64_t chain, const checkpoint_put& put);
  result<void> drop_older(locked_thread& thread, known_chain& chain, const save_request& request);
  void give_up();

  const postgres_options options_;
  const postgres_statements& sql_;
  const std::string numbers_; // the name of the sequence
  std::unique_ptr<postgres_connection> connection_;
  clock::time_point no_attempt_before_;
  std::optional<troupe::error> unreachable_; // the error of the last attempt to connect
  bool may_repeat_ = false;

  std::set<place> foreseen_; // of announced jobs
  std::map<std::string, locked_thread> locked_;
  std::int64_t next_number_ = 0;
  std::int64_t numbers_end_ = 0;
  encoded_request encoded_;
};

} // namespace troupe
