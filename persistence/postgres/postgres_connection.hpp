// postgres_connection: one connection to a Postgres server, always in pipeline mode. It never
// blocks without a time limit.
//
// Invariants:
//  - A connection that has seen a failure is not used again: all further calls return that failure.
//  - No call waits longer than the connect time-out, or for a server that is silent longer than the
//    statement time-out and a margin.
#pragma once

#include "persistence/postgres/postgres_values.hpp"

#include <troupe/postgres.hpp>

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace troupe {

/// The kind of a failure, which decides whether to try again.
enum class postgres_failure : std::uint8_t {
  none,
  statement, ///< the server refused something
  repeat,    ///< the transaction was undone because of another one
  lost,      ///< the connection is gone; the result of a commit is not known
};

/// The error for a server's answer.
/// Shape:  `sqlstate` five characters, or empty.
/// Errors: storage_full, storage_locked, else storage_failed.
error postgres_error(std::string_view sqlstate, std::string_view message);
postgres_failure kind_of_failure(std::string_view sqlstate) noexcept;

/// Whether the options are valid and the conninfo can be read.
/// Errors: invalid_config, which never quotes the conninfo, because it may hold a password.
result<void> check_options(const postgres_options& options);

/// A name as an SQL identifier, in quotes.
std::string quoted_identifier(std::string_view name);

/// Thread: one at a time.
class postgres_connection {
public:
  /// Opens a connection.
  /// Blocks: at most options.connect_timeout, plus the look-up of host names.
  static result<std::unique_ptr<postgres_connection>> open(const postgres_options& options);
  ~postgres_connection();
  postgres_connection(const postgres_connection&) = delete;
  postgres_connection& operator=(const postgres_connection&) = delete;

  /// Queues a statement after those before it.
  /// Owns:   copies of the parameters; refers to the statement for its whole lifetime.
  result<void> send(const postgres_statement& statement, const postgres_params& params = {});
  /// Queues a statement that is used once.
  result<void> send_once(const std::string& sql);

  /// Waits for the queued statements. Order: the answers of the statements since the last finish().
  result<std::vector<postgres_rows>> finish();
  /// send() and finish() of a statement, after the queued ones; returns its own answer.
  result<postgres_rows> ask(const postgres_statement& statement,
                            const postgres_params& params = {});

  /// Waits for a notification of a channel that this connection listens to (LISTEN), for at most
  /// `timeout`, or until `stop`, a descriptor, can be read. Whether there was a notification.
  /// Nothing may be queued.
  result<bool> wait_for_notification(int stop, std::chrono::milliseconds timeout);

  bool is_usable() const noexcept { return failure_ == postgres_failure::none; }
  /// Whether it is usable, outside a transaction and without an answer to wait for.
  bool is_idle() const noexcept {
    return is_usable() && queued_.empty() && PQtransactionStatus(connection_.get()) == PQTRANS_IDLE;
  }
  postgres_failure failure() const noexcept { return failure_; }

private:
  struct close {
    void operator()(PGconn* c) const noexcept { PQfinish(c); }
  };
  using clock = std::chrono::steady_clock;

  postgres_connection(PGconn* connection, const postgres_options& options);
  result<void> connect(std::chrono::milliseconds timeout);
  result<void> set_up(const postgres_options& options);
  result<void> prepare(const postgres_statement& statement, const std::string& name);
  result<void> sent(int ok, std::size_t bytes, bool is_asked_for);
  result<void> flush();
  result<void> wait(short events);
  result<PGresult*> next_result();
  error fail(postgres_failure kind, error why);
  error lost(std::string_view what);
  std::string place() const;

  std::unique_ptr<PGconn, close> connection_;
  std::chrono::milliseconds patience_;
  std::unordered_map<const postgres_statement*, std::string> prepared_;
  std::vector<bool> queued_;     // whether the answer is wanted: false for a preparation
  std::size_t unsent_bytes_ = 0; // at most
  postgres_failure failure_ = postgres_failure::none;
  std::optional<error> why_;
};

} // namespace troupe
