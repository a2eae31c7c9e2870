// Postgres for threads, long-term memory and cached nodes: a saver, a store and a cache that
// several hosts share.
#pragma once

#include <troupe/keyring.hpp>
#include <troupe/limits.hpp>
#include <troupe/node_cache.hpp>
#include <troupe/saver.hpp>
#include <troupe/store.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

namespace troupe {

/// The place where a store's search by meaning compares vectors.
/// Errors: see open_postgres_store.
/// Source: troupe; langgraph/store/postgres, PostgresStore, always searches in the database.
enum class vector_search {
  automatic, ///< in the database where its extension `vector` (pgvector) is installed and usable
  memory,    ///< in the memory of each store
  database,  ///< in the database, whose extension is created when missing
};

/// The database, and the time-outs of its use.
/// Shape:  `conninfo`: libpq's keywords ("host=db dbname=app user=app") or URI, in which special
///         characters of the password are percent-encoded. Missing parts come from the PG…
///         variables of the environment and the password file. `schema`: 1 … 63 bytes, created when
///         missing. Several schemas may share a database.
/// Units:  `pool_size` connections, opened when needed; the saver's writer has one of its own.
///         `connect_timeout` for all hosts together, without the look-up of their names.
///         `statement_timeout` for each statement, on the server; the client gives a silent server
///         up limits::postgres_silence_margin later. `lock_timeout` for locks of another
///         transaction. `commit_window` as for LMDB; a store and a cache
///         ignore it.
/// Errors: see open_postgres_saver.
/// Source: troupe; libpq, section "Connection Strings".
struct postgres_options {
  std::string conninfo = {};
  std::string schema = "troupe";
  std::size_t pool_size = limits::postgres_pool_size_default;
  std::chrono::milliseconds connect_timeout = limits::postgres_connect_timeout;
  std::chrono::milliseconds statement_timeout = limits::postgres_statement_timeout;
  std::chrono::milliseconds lock_timeout = limits::postgres_lock_timeout;
  std::chrono::milliseconds commit_window = limits::commit_window;
  vector_search search = vector_search::automatic; ///< of a store with an index
  /// With a key ring or another provider, threads and items stored from now on are encrypted
  /// (AES-256-GCM). Each thread has a data key, the store has one. Encrypted are
  /// - in a thread: values, writes with their task paths, metadata, names of nodes
  /// - in the store: items and vectors
  /// Ids, namespaces, names of channels, versions, `run_id`, keys of items, sizes and times stay
  /// plain. Older plain rows stay readable, and plain. A writer without the key neither writes to
  /// an encrypted thread nor puts into an encrypted store.
  std::shared_ptr<const key_provider> keyring = nullptr;
  /// Payloads of at least this many bytes are compressed (zstd) before they are encrypted;
  /// SIZE_MAX: never. Plain ones are compressed by the server.
  std::size_t compress_bytes_min = limits::compress_bytes_min;
};

/// The saver in a Postgres database (13 or newer); its tables are created or migrated here. Any
/// number of savers, processes and hosts may share a schema; claims keep two runs from one thread.
/// Durable means committed, as durable as the server's `synchronous_commit` makes it. A pooler in
/// front must keep a session on one server connection (pgbouncer: pool_mode=session).
/// Order:  one writer thread gathers requests into transactions of three round trips each, however
///         many requests they hold.
/// Blocks: on the network, at most `connect_timeout` or `statement_timeout` and the margin at a
///         time. A lost connection is opened again. A read, and a transaction whose end is not
///         known, are then tried once more; such a transaction may be stored twice. While the
///         server can't be reached, calls fail as soon as the connection is refused.
/// Errors: the opening and all calls give
///         - invalid_config (the options), storage_full (the server's disk)
///         - storage_locked: another transaction held a thread for `lock_timeout`
///         - overloaded: no connection came free
///         - format_too_new, checkpoint_corrupt, storage_failed
///         - key_missing: a thread's key is not in `keyring`; it can still be deleted
///         No message contains the password or a key.
/// Source: langgraph/checkpoint/postgres, PostgresSaver; persistence/FORMAT.md.
result<std::shared_ptr<saver>> open_postgres_saver(const postgres_options& options);

/// A long-term store in a Postgres database (13 or newer); its own tables are created or migrated
/// here. The store may share a schema with a saver. Any number of stores, processes and hosts may
/// share a schema, each with its own options. Every call of any of them sees everything that was
/// stored by calls that had returned before it began. Times to live count by the clock of the
/// calling host. Vectors are stored. A search without a `query` reads items page by page,
/// and filters them here, until it has enough. `search` of the database's
/// options chooses how a search by meaning is done, with the same results up to rounding:
///  - In memory: the store has all vectors of its `dims`. The first search reads them, and each
///    further one reads the new ones.
///  - In the database (pgvector 0.4 or newer, `dims` up to limits::postgres_vector_dims_max): a
///    search compares all vectors under its prefix there, and reads the closest. If the opening
///    finds more than store_index::exact_max vectors of up to limits::postgres_indexed_dims_max
///    dims, it builds an index first (HNSW, or ivfflat with pgvector 0.4). Searches among more than
///    `exact_max` vectors then find most of the closest. By cosine, numbers of less than 1e-18
///    count as 0.
/// Stores of both kinds may share a schema. An encrypted store is searched in memory.
/// Order:  changes of all stores are serialised; a change is one transaction of two round trips,
///         however many puts it has.
/// Blocks: on the network, as the saver. A call that lost its connection is tried once more, also a
///         change whose end is not known: it may be stored twice.
/// Errors: as the saver's; the opening also gives invalid_config for invalid store options, and for
///         vector_search::database when `keyring` is set or the store is encrypted, or when the
///         extension is missing and can't be created. Without the store's key, reading its sealed
///         items and all puts give key_missing; removals need no key.
/// Source: langgraph/store/postgres, PostgresStore; persistence/FORMAT.md.
result<std::shared_ptr<store>> open_postgres_store(const postgres_options& database,
                                                   store_options options = {});

/// The options of open_postgres_cache.
/// Units:  `bytes_max` bounds the bytes of all values with their places, as stored, without indexes
///         and rows that the server has not vacuumed yet; at least
///         limits::postgres_cache_bytes_min. One value may take an eighth. Hosts that share a
///         schema give the same bound.
/// Errors: see open_postgres_cache.
/// Source: troupe.
struct postgres_cache_options {
  std::size_t bytes_max = limits::postgres_cache_bytes_default;
};

/// A node cache in a Postgres database (13 or newer); its own tables are created or migrated here.
/// Any number of caches, processes and hosts may share a schema, also with savers and stores: what
/// one of them sets, all others get. Times to live count by the clock of the calling host. Values
/// are plain, even where the saver or the store encrypts.
/// Order:  a set that makes the cache too large is followed by removals on the same thread: first
///         of expired values, then of the oldest. The cache may be too large for a moment.
/// Blocks: on the network, as the saver. get() is one round trip, set() two. A call that lost its
///         connection is tried once more. A run whose cache fails logs that, and runs the node.
/// Errors: as the saver's.
/// Source: troupe; persistence/FORMAT.md, "Postgres".
result<std::shared_ptr<node_cache>> open_postgres_cache(const postgres_options& database,
                                                        postgres_cache_options options = {});

/// Wraps all data keys of a schema under the current key of `database.keyring`: those of its
/// threads and of its long-term store. As rotate_store_keys for a data directory: data is not
/// touched, and other processes may run meanwhile, if their rings have both keys. Nothing is locked
/// while the key provider works.
/// Shape:  `keyring` is not null and also has the older keys. The report's `files` counts the
///         store.
/// Blocks: on the network and the key provider, for each data key.
/// Errors: as open_postgres_saver, and
///         - key_missing: a thread or the store is under a key that is not in the ring; data keys
///           that were already wrapped stay wrapped
///         - invalid_config: `keyring` is null
///         - storage_failed: the schema has neither a saver nor a store
/// Source: troupe.
result<rotation_report> rotate_store_keys(const postgres_options& database);

} // namespace troupe
