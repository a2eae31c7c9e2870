// Retention: which checkpoints of a thread stay when it is pruned. Pure: the savers read, and
// remove the rest.
#pragma once

#include <troupe/saver.hpp>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// The facts that decide about a checkpoint.
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

/// Whether a namespace belongs to a task of the graph in namespace `graph_ns`, or to a task below:
/// one of its names after `graph_ns` has a task id.
bool is_of_a_task_of(std::string_view ns, std::string_view graph_ns) noexcept;

/// Marks the checkpoints that stay.
using retention_rule = std::function<void(thread_summary&)>;

/// Marks the checkpoints that the rules of `keep` name.
void mark_kept(thread_summary& thread, const retention& keep);

/// Marks the checkpoints that none of these runs made.
void mark_other_runs(thread_summary& thread, const std::vector<std::string>& run_ids);

/// Marks the root's checkpoint `id` and its ancestors, and the checkpoints that runs within their
/// tasks made.
void mark_up_to(thread_summary& thread, std::string_view id);

/// Whether a value of the channel is stored under the version it has at this checkpoint.
using stores_value = std::function<result<bool>(
  const namespace_summary& at, const checkpoint_summary&, const std::string& channel)>;

/// Marks the checkpoints without which the marked ones can't be read. A delta channel's value is in
/// the writes of the ancestors, up to one that stores the value.
/// Errors: those of `stores`.
result<void> mark_needed(thread_summary& thread, const stores_value& stores);

} // namespace troupe
