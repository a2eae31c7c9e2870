// postgres_statements: the SQL of the Postgres saver. FORMAT.md, "Postgres", explains the columns.
#pragma once

#include "persistence/postgres/postgres_values.hpp"

#include <string>
#include <string_view>

namespace troupe {

/// The statements of every set. A connection finds its prepared statements by their addresses, so a
/// set must not move while there are connections.
struct postgres_transactions {
  postgres_transactions() = default;
  postgres_transactions(const postgres_transactions&) = delete;
  postgres_transactions& operator=(const postgres_transactions&) = delete;

  postgres_statement begin{"BEGIN"};
  /// Gives several statements the same view.
  postgres_statement begin_reading{"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"};
  postgres_statement commit{"COMMIT"};
  postgres_statement rollback{"ROLLBACK"};
};

/// One set for a schema.
struct postgres_statements : postgres_transactions {
  explicit postgres_statements(std::string_view schema);

  // ---- writing: numbers, threads and chains
  postgres_statement next_numbers;  // sequence → the first of a block of numbers_in_block
  postgres_statement lock_threads;  // ids → id, thread, owner, key id, data key of existing ones;
                                    // locked
  postgres_statement make_threads;  // ids, threads → ids of those that did not exist; locked
  postgres_statement find_chains;   // threads, namespaces → thread, ns, chain
  postgres_statement make_chain;    // chain, thread, ns
  postgres_statement set_owner;     // thread, owner
  postgres_statement set_data_key;  // thread, key id, data key
  postgres_statement erase_threads; // threads; only their own rows

  // ---- writing: the rest of a chain
  postgres_statement store_writes;        // chain, checkpoint, task, path, slots, channels, values
  postgres_statement store_values;        // chain, channels, numbers, tags, values
  postgres_statement erase_values;        // chain, channels, numbers, tags
  postgres_statement store_checkpoint;    // chain and all columns
  postgres_statement erase_chains_values; // thread
  postgres_statement erase_chains_writes; // thread
  postgres_statement erase_chains_checkpoints; // thread
  postgres_statement erase_chains;             // thread

  // ---- reading. A "tuple" statement gives rows of postgres_tuple_column.
  postgres_statement owner;         // thread id → owner
  postgres_statement newest_tuple;  // thread id, ns
  postgres_statement tuple;         // thread id, ns, checkpoint
  postgres_statement tuples;        // chains, checkpoints
  postgres_statement list;          // any of thread id, ns, checkpoint, before → a cursor of
                                    // thread id, ns, chain, checkpoint, metadata, thread, key id,
                                    // data key
  postgres_statement fetch;         // rows of the cursor
  postgres_statement threads;       // → id, checkpoint, ts, count
  postgres_statement owners;        // → id, owner
  postgres_statement newest_parent; // thread id, ns → chain, parent
  postgres_statement parent;        // thread id, ns, checkpoint → chain, parent
  postgres_statement ancestors; // chain, first, channels, how many → "tuple" rows; only values
                                // and writes of the channels, up to each one's first value

  // ---- pruning and copying
  postgres_statement summaries;           // thread → ns, chain, checkpoint, parent, ts, metadata
  postgres_statement stored_of;           // thread, channel → ns, checkpoint with a value of it
  postgres_statement erase_checkpoints;   // chains, checkpoints
  postgres_statement erase_their_writes;  // chains, checkpoints
  postgres_statement erase_unused_values; // thread → how many
  postgres_statement erase_empty_chains;  // thread
  postgres_statement threads_of_runs;     // run ids → thread ids
  postgres_statement copy_chains;         // source thread, target thread, sequence
  postgres_statement copy_checkpoints;    // source thread, target thread, as the following
  postgres_statement copy_values;
  postgres_statement copy_writes;
  // The rows of a copy that are sealed anew: cursors, source thread, target thread → source chain,
  // target chain, and the columns of a row
  postgres_statement copied_checkpoints; // checkpoint, parent, v, ts, metadata, seen, channels,
                                         // numbers, tags, updated
  postgres_statement copied_values;      // channel, number, tag, value
  postgres_statement copied_writes;      // checkpoint, task, slot, channel, path, value
  postgres_statement close;              // the cursor
  postgres_statement reseal_checkpoint;  // chain, checkpoint, metadata, seen
  postgres_statement reseal_value;       // chain, channel, number, tag, value
  postgres_statement reseal_write;       // chain, checkpoint, task, slot, value

  // ---- threads without a past
  postgres_statement drop_older_checkpoints; // chain, id
  postgres_statement drop_older_writes;      // chain, id
  postgres_statement drop_other_values;      // chain
  postgres_statement drop_task_namespaces;   // thread, prefix of the namespaces, id

  // ---- undoing a run
  postgres_statement erase_newer_checkpoints; // thread, id
  postgres_statement erase_newer_writes;      // thread, id
  postgres_statement writes_behind; // thread, ns, checkpoint → chain, task, slot, channel, path,
                                    // value
  postgres_statement erase_writes_of; // chain, checkpoint
  postgres_statement restore_writes; // chain, checkpoint; of each: task, slot, channel, path, value
  postgres_statement erase_empty_thread; // thread

  // ---- rotating keys
  postgres_statement data_keys;     // after thread → thread, key id, data key; some, in order
  postgres_statement swap_data_key; // thread, old data key, key id, data key → a row if it had it
};

inline constexpr std::int64_t numbers_in_block = 1024; // as the sequence increments

/// The columns of a "tuple" statement. Values come once, for all checkpoints that have them.
enum postgres_tuple_column : int {
  kind_column, // 0 checkpoint, 1 value, 2 write, 3 the data key of a chain's thread
  chain_column,
  a_column,        // checkpoint id | channel    | the write's checkpoint id | key id
  b_column,        // parent id     |            | channel
  data_column,     // metadata      | value      | value                      | data key
  number_column,   // v             | number     | slot                       | thread
  tag_column,      // its place     | tag        |
  c_column,        // ts            |            | task id
  d_column,        // seen          |            | task path
  channels_column, // of checkpoints, as the following
  numbers_column,
  tags_column,
  updated_column,
};

} // namespace troupe
