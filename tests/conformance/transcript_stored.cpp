// Snapshots and stored checkpoints in a transcript.
#include "tests/conformance/labels.hpp"
#include "tests/conformance/transcript.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

namespace troupe::conformance {
namespace {

constexpr std::string_view null_task = "00000000-0000-0000-0000-000000000000";

// For a task that is a graph: its state, or the place of that state.
answer_json shown_inner(const task_snapshot& task) {
  if (task.state)
    return shown(*task.state);
  return task.subgraph_ns.empty() ? answer_json{}
                                  : answer_json{{"ns", marked_ns(task.subgraph_ns)}};
}

answer_json shown_task(const task_snapshot& task) {
  return {
    {"id", marked(label_kind::task, task.id)},
    {"name", task.name},
    {"path", shown(task.path)},
    {"error", shown(task.error)},
    {"interrupts", shown(task.interrupts)},
    {"result", task.result ? shown(*task.result) : answer_json{}},
    {"state", shown_inner(task)},
  };
}

// ---- channels of a checkpoint ---------------------------------------------------------------

// The nodes that have arrived, sorted; of a deferred join beside the flag that it is finished.
answer_json shown_join(const value& arrived) {
  auto out = shown(arrived);
  auto& names = out.is_array() && !out.empty() && out[0].is_array() ? out[0] : out;
  std::sort(names.begin(), names.end());
  return out;
}

answer_json shown_values(const named<value>& channels) {
  auto out = answer_json::object();
  for (const auto& [channel, v] : channels)
    out[channel] = channel.starts_with("join:") ? shown_join(v) : shown(v);
  return out;
}

answer_json shown_versions(const named<version>& versions) {
  auto out = answer_json::object();
  for (const auto& [channel, version] : versions)
    out[channel] = version.number;
  return out;
}

answer_json shown_seen(const named<named<version>>& seen) {
  auto out = answer_json::object();
  for (const auto& [node, versions] : seen)
    out[node] = shown_versions(versions);
  return out;
}

// ---- pending writes -------------------------------------------------------------------------

using write_list = std::vector<pending_write>;

// The null task, tasks made by an update, pulled ones by name, pushed ones by index: so the paths
// sort. A task may have writes under two paths.
auto task_order(const pending_write& write) {
  return std::tuple{write.task_id != null_task, std::string_view{write.task_path}};
}

std::size_t special_order(std::string_view channel) {
  constexpr std::array<std::string_view, 4> first{"__resume__", "__interrupt__", "__error__",
                                                  "__error_source_node__"};
  return static_cast<std::size_t>(std::find(first.begin(), first.end(), channel) - first.begin());
}

bool is_edge(const pending_write& write) {
  return write.channel.starts_with("branch:to:") || write.channel.starts_with("join:");
}

// Sorts those writes of one task whose order does not matter, in the places they hold.
void sort_edges(write_list::iterator begin, write_list::iterator end) {
  write_list edges;
  std::copy_if(begin, end, std::back_inserter(edges), is_edge);
  std::stable_sort(edges.begin(), edges.end(),
                   [](const auto& a, const auto& b) { return a.channel < b.channel; });
  auto next = edges.begin();
  for (auto write = begin; write != end; ++write)
    if (is_edge(*write))
      *write = std::move(*next++);
}

void sort_task(write_list::iterator begin, write_list::iterator end) {
  std::stable_sort(begin, end, [](const auto& a, const auto& b) {
    return special_order(a.channel) < special_order(b.channel);
  });
  sort_edges(begin, end);
}

write_list in_order(write_list writes) {
  std::stable_sort(writes.begin(), writes.end(),
                   [](const auto& a, const auto& b) { return task_order(a) < task_order(b); });
  for (auto begin = writes.begin(); begin != writes.end();) {
    auto end = std::find_if(begin, writes.end(), [&](const auto& write) {
      return write.task_id != begin->task_id || write.task_path != begin->task_path;
    });
    sort_task(begin, end);
    begin = end;
  }
  return writes;
}

answer_json shown_writes(const write_list& writes) {
  auto out = answer_json::array();
  for (const auto& write : in_order(writes))
    out.push_back({marked(label_kind::task, write.task_id), write.channel, shown(write.value)});
  return out;
}

} // namespace

answer_json shown(const state_snapshot& snapshot) {
  auto tasks = answer_json::array();
  for (const auto& task : snapshot.tasks)
    tasks.push_back(shown_task(task));
  return {
    {"values", shown(snapshot.values)},
    {"next", snapshot.next},
    {"checkpoint", shown_checkpoint(snapshot.config.checkpoint_id)},
    {"parent", shown_checkpoint(snapshot.parent_id)},
    {"metadata", shown_metadata(snapshot.metadata)},
    {"tasks", std::move(tasks)},
    {"interrupts", shown(snapshot.interrupts)},
  };
}

answer_json shown(const checkpoint_tuple& stored) {
  const auto& checkpoint = stored.checkpoint;
  return {
    {"checkpoint", shown_checkpoint(stored.ref.checkpoint_id)},
    {"parent", shown_checkpoint(stored.parent_id)},
    {"ns", marked_ns(stored.ref.checkpoint_ns)},
    {"values", shown_values(checkpoint.channel_values)},
    {"versions", shown_versions(checkpoint.channel_versions)},
    {"seen", shown_seen(checkpoint.versions_seen)},
    {"updated",
     checkpoint.updated_channels ? answer_json(*checkpoint.updated_channels) : answer_json{}},
    {"metadata", shown_metadata(stored.metadata)},
    {"writes", shown_writes(stored.pending_writes)},
  };
}

} // namespace troupe::conformance
