// Which checkpoints of a thread stay when it is pruned. Pure: the savers read, and remove the rest.
#pragma once

#include <troupe/saver.hpp>

#include <functional>
#include <string>
#include <vector>

namespace troupe {

/// What decides about a checkpoint.
struct checkpoint_summary {
  std::string id;
  std::string parent_id;
  std::string ts;
  value metadata;
  bool stays = false;
};

/// Order:  by id.
struct namespace_summary {
  std::string ns;
  std::vector<checkpoint_summary> checkpoints;
};

/// All namespaces of a thread.
/// Order:  by name, so that a graph is before the graphs within.
using thread_summary = std::vector<namespace_summary>;

/// Marks what the rules name.
void mark_kept(thread_summary& thread, const retention& keep);

/// Marks what none of these runs made.
void mark_other_runs(thread_summary& thread, const std::vector<std::string>& run_ids);

/// Whether a value of the channel is stored under the version it has at this checkpoint.
using stores_value = std::function<result<bool>(
  const namespace_summary& at, const checkpoint_summary&, const std::string& channel)>;

/// Marks what those marked can't be read without: a delta channel's value is in the writes of the
/// checkpoints above, up to one that stores it.
/// Errors: those of `stores`.
result<void> mark_needed(thread_summary& thread, const stores_value& stores);

} // namespace troupe
