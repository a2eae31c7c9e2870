// The checkpoints in a file of LangGraph's SqliteSaver.
#pragma once

#include <troupe/saver.hpp>

#include <filesystem>
#include <memory>
#include <optional>

struct sqlite3;
struct sqlite3_stmt;

namespace troupe::cli {

/// All checkpoints of a file, one by one.
/// Order:  by thread and namespace, the oldest first.
/// Blocks: on the file, which is opened for reading and seen as of one moment.
/// Errors: members throw error: storage_failed when the file can't be read; invalid_value, naming
///         the thread, the checkpoint and the channel, for what has no counterpart here.
/// Source: langgraph/checkpoint/sqlite, SqliteSaver.
class sqlite_checkpoints {
public:
  explicit sqlite_checkpoints(const std::filesystem::path& file);

  /// The next one; nothing after the last one, and then the first one again.
  std::optional<checkpoint_tuple> next();

private:
  struct close_database {
    void operator()(sqlite3* db) const noexcept;
  };
  struct end_statement {
    void operator()(sqlite3_stmt* statement) const noexcept;
  };
  using statement = std::unique_ptr<sqlite3_stmt, end_statement>;

  statement prepare(const char* sql) const;
  bool step(sqlite3_stmt& statement) const;
  checkpoint_tuple read_checkpoint() const;
  std::vector<pending_write> read_writes(const checkpoint_ref& of) const;
  [[noreturn]] void fail(const char* what) const;

  std::string file_;
  std::unique_ptr<sqlite3, close_database> db_;
  statement checkpoints_;
  statement writes_;
};

} // namespace troupe::cli
