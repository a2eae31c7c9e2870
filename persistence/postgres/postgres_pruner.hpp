// postgres_pruner: removes what a thread no longer needs, on a reader's connection.
#pragma once

#include "persistence/postgres/postgres_connection.hpp"
#include "persistence/postgres/postgres_sealing.hpp"
#include "persistence/postgres/postgres_statements.hpp"
#include "persistence/retention.hpp"

#include <string>
#include <vector>

namespace troupe {

/// Decides once, then removes in transactions of limits::postgres_pruned_max checkpoints, children
/// before their parents. So the remaining ones can be read at any time. Each transaction locks the
/// thread's row, as the writer does. A dry run only decides, and counts checkpoints.
/// Errors: as saver::prune.
result<prune_report> prune_thread(postgres_connection& on, const postgres_statements& sql,
                                  const postgres_sealing& sealing, const std::string& thread_id,
                                  const retention_rule& mark, bool dry_run = false);

/// The threads in which one of these runs made a checkpoint.
result<std::vector<std::string>> threads_of_runs(postgres_connection& on,
                                                 const postgres_statements& sql,
                                                 const std::vector<std::string>& run_ids);

/// A thread that a transaction has copied.
/// Shape:  `data_key`: null for a plain one.
struct copied_thread {
  const std::string& id;
  std::int64_t number;
  const std::optional<wrapped_key>& data_key;
};

/// Removes what the copy does not keep, in the open transaction that made it: all but the root's
/// checkpoint `up_to`, its ancestors, and what runs within their tasks stored. False when the copy
/// lacks `up_to`.
/// Errors: as saver::prune.
result<bool> cut_copy(postgres_connection& on, const postgres_statements& sql,
                      const postgres_sealing& sealing, const copied_thread& copy,
                      const std::string& up_to);

} // namespace troupe
