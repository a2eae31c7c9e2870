// The features that a plan's runs used, for the report of a campaign.
#pragma once

#include <bitset>
#include <cstddef>
#include <string>

namespace troupe::fuzz {

enum class feature : std::size_t {
  // of a run
  parallel_tasks,
  joins,
  deferred_nodes,
  sends,
  sends_of_one_node, // two or more in a step
  routes,
  path_maps,
  commands,
  parent_commands,
  rounds, // a node ran in two steps of a run
  questions,
  answers,
  two_questions_at_once,
  breakpoints,
  failures,
  retries,
  failing_routes,
  refused_writes, // two values for a channel that takes one
  overwrites,
  recursion_limits,
  // graphs within
  subgraphs,
  subgraphs_two_deep,
  subgraphs_per_thread,
  subgraphs_without_saver,
  questions_in_subgraphs,
  failures_in_subgraphs,
  retries_of_subgraphs,
  sends_to_subgraphs,
  // channels that were written
  reducers,
  topics,
  delta_channels,
  ephemeral_channels,
  untracked_channels,
  // schemas
  input_schemas,
  output_schemas,
  node_schemas,
  // calls
  go_on,
  answers_by_id,
  lenient_answers,
  commands_as_input,
  updates,
  clears,
  input_updates,
  copies,
  looks_back,
  time_travels,
  forks,
  // how
  durability_sync,
  durability_async,
  durability_exit,
  memory_saver,
  lmdb_saver,
  plain_bodies,
  blocking_bodies,
  coroutine_bodies,
  delayed_bodies,
  count_
};

inline constexpr std::size_t feature_count = static_cast<std::size_t>(feature::count_);

class coverage {
public:
  void saw(feature f) { seen_.set(static_cast<std::size_t>(f)); }
  void saw(const coverage& more) { seen_ |= more.seen_; }
  bool has(std::size_t f) const { return seen_.test(f); }

private:
  std::bitset<feature_count> seen_;
};

const char* name_of(feature f);

} // namespace troupe::fuzz
