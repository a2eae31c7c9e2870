// postgres_documents: the documents of servers that share a Postgres database.
#pragma once

#include "server/documents/document_store.hpp"

#include <troupe/postgres.hpp>

#include <memory>
#include <optional>

namespace troupe::server {

/// The documents in a schema of a Postgres database (13 or newer); their tables are created or
/// migrated here. Any number of servers may share a schema, also with savers, stores and caches.
/// With a key ring, bodies that are stored from now on are sealed; ids and members with an index
/// stay plain. Searches by other members then read all documents that the indexes select.
/// Order:  one writer thread gathers commits into transactions. Transactions of all servers come
///         one after the other.
/// Blocks: on the network, as the saver. A lost connection is opened again; a read, and a
///         transaction whose end is not known, are then tried once more. Such a transaction is
///         never stored twice.
/// Errors: as open_postgres_saver.
result<std::shared_ptr<document_store>> open_postgres_documents(const postgres_options& database);

/// Wraps the data key of a schema's documents under the current key of `database.keyring`, which is
/// not null and also has the older keys. True when it was under another key; nullopt for plain
/// documents, or a schema without documents.
/// Errors: as rotate_store_keys.
result<std::optional<bool>> rotate_documents_key(const postgres_options& database);

} // namespace troupe::server
