// Removes what a thread no longer needs, and copies threads, on a connection that reads else.
#pragma once

#include "persistence/postgres/postgres_connection.hpp"
#include "persistence/postgres/postgres_statements.hpp"
#include "persistence/retention.hpp"

#include <functional>
#include <string>
#include <vector>

namespace troupe {

/// Marks what stays of a thread by itself.
using postgres_rule = std::function<void(thread_summary&)>;

/// Decides once, then removes in transactions of limits::postgres_pruned_max checkpoints, children
/// before their parents, so that what is there can be read at any time. Each holds the thread's
/// row, as the writer does. A dry run only decides, and counts checkpoints.
/// Errors: as saver::prune.
result<prune_report> prune_thread(postgres_connection& on, const postgres_statements& sql,
                                  const std::string& thread_id, const postgres_rule& mark,
                                  bool dry_run = false);

/// The threads in which one of these runs made a checkpoint.
result<std::vector<std::string>> threads_of_runs(postgres_connection& on,
                                                 const postgres_statements& sql,
                                                 const std::vector<std::string>& run_ids);

/// As saver::copy_thread, without its checks of the ids. `sequence`: where numbers come from.
/// Shape:  `may_be_done` is set before the commit: from then on a lost connection leaves open
///         whether the copy is there.
result<void> copy_thread(postgres_connection& on, const postgres_statements& sql,
                         const std::string& sequence, const std::string& source,
                         const std::string& target, bool& may_be_done);

} // namespace troupe
