// postgres_pruner: removes what a thread no longer needs, and copies threads, on a reader's
// connection.
#pragma once

#include "persistence/postgres/postgres_connection.hpp"
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
                                  const std::string& thread_id, const retention_rule& mark,
                                  bool dry_run = false);

/// The threads in which one of these runs made a checkpoint.
result<std::vector<std::string>> threads_of_runs(postgres_connection& on,
                                                 const postgres_statements& sql,
                                                 const std::vector<std::string>& run_ids);

/// The arguments of saver::copy_thread.
struct thread_copied {
  const std::string& source;
  const std::string& target;
  const std::string& up_to;
};

/// As saver::copy_thread, without its checks of the ids. `sequence`: the sequence of new numbers.
/// Shape:  `may_be_done` is set before the commit: from then on, after a lost connection, it is not
///         known whether the copy exists.
result<void> copy_thread(postgres_connection& on, const postgres_statements& sql,
                         const std::string& sequence, const thread_copied& what, bool& may_be_done);

} // namespace troupe
