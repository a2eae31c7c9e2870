// postgres_document_statements: the tables of documents in Postgres, and the statements that need
// no query. FORMAT.md, "The server's documents".
#pragma once

#include "persistence/postgres/postgres_schema.hpp"
#include "persistence/postgres/postgres_statements.hpp"

#include <span>
#include <string>
#include <string_view>

namespace troupe::server {

/// The tables of documents.
std::span<const postgres_migration> documents_migrations();

/// A member of the column `members`, if it is a text, as an expression that sorts by its bytes.
/// Shape:  `name`: an SQL expression of the member's name.
std::string text_member(std::string_view name);

/// The channel on which a schema's servers are notified of changes.
std::string document_channel(std::string_view schema);

/// One set for a schema.
struct postgres_document_statements : postgres_transactions {
  explicit postgres_document_statements(std::string_view schema);

  postgres_statement get;           // kind, id → revision, body
  postgres_statement data_key;      // → key id, data key
  postgres_statement last;          // → last number
  postgres_statement lock;          // → last number, key id, data key; locked until the commit
  postgres_statement set_data_key;  // key id, data key
  postgres_statement swap_data_key; // old data key, key id, data key → a row if it had it
  postgres_statement revisions;     // kinds, ids → kind, id, revision of those that exist
  postgres_statement put;           // kinds, ids, revisions, bodies, members
  postgres_statement remove;        // kinds, ids
  postgres_statement log;           // number before, origin, kinds, ids
  postgres_statement was_logged;    // number, origin, id → a row if it was
  postgres_statement set_last;      // number
  postgres_statement trim_log;      // last number to remove
  postgres_statement notify;        // channel
  postgres_statement changes;       // number before → number, origin, kind, id; some, in order
  postgres_statement ids_of_kind;   // kind → ids
};

} // namespace troupe::server
