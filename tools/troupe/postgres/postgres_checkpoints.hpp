// The checkpoints in a database of LangGraph's PostgresSaver.
#pragma once

#include <troupe/saver.hpp>

#include <libpq-fe.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::cli {

/// All checkpoints of a database, one by one.
/// Order:  by thread and namespace, the oldest first.
/// Blocks: on the server; the database is read as of one moment, and not changed.
/// Errors: members throw error: storage_failed when the server fails, or has no such tables, which
///         never quotes a password; invalid_value, naming the thread, the checkpoint and the
///         channel, for what has no counterpart here.
/// Source: langgraph/checkpoint/postgres/base.py, BasePostgresSaver.
class postgres_checkpoints {
public:
  /// Shape: `conninfo` as libpq's: a URI, or words `host=… dbname=…`.
  explicit postgres_checkpoints(const std::string& conninfo);

  /// The next one; nothing after the last one, and then the first one again.
  std::optional<checkpoint_tuple> next();

private:
  struct end_connection {
    void operator()(PGconn* c) const noexcept { PQfinish(c); }
  };
  struct clear_answer {
    void operator()(PGresult* r) const noexcept { PQclear(r); }
  };
  using answer = std::unique_ptr<PGresult, clear_answer>;

  answer ask(const char* sql, const std::vector<std::string>& texts = {}) const;
  checkpoint_tuple read_checkpoint(const PGresult& row) const;
  named<value> read_values(const checkpoint_ref& of, const value& inline_values) const;
  std::vector<pending_write> read_writes(const checkpoint_ref& of) const;

  std::unique_ptr<PGconn, end_connection> connection_;
  bool is_open_ = false; // whether the cursor is
};

} // namespace troupe::cli
