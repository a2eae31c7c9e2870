// outside_update: changes the state of a thread that no run holds. Pure, apart from calls to the
// saver that it is given.
// Source: langgraph/pregel/main.py, Pregel.bulk_update_state.
#pragma once

#include "engine/thread_state.hpp"

#include <troupe/runtime.hpp>

#include <functional>
#include <string>
#include <vector>

namespace troupe {

class thread_owners; // engine/thread_owners.hpp

/// The functions that an update needs besides the saver.
struct update_tools {
  /// `above`: id_ticks() of an id; the new id sorts after it.
  std::function<std::string(std::int64_t step, std::uint64_t above)> next_checkpoint_id;
  std::function<std::string()> timestamp;
  std::function<std::uint64_t()> tag; // of the versions that one superstep makes
  thread_owners* owners = nullptr;    // of the runtime
};

/// Applies supersteps of updates, each on the checkpoint that the one before made.
/// Errors: see basic_app::try_update_state; nothing of a superstep is stored when it fails.
result<checkpoint_ref> update_thread(const std::shared_ptr<const graph_plan>& plan, saver& store,
                                     const run_config& config,
                                     const std::vector<std::vector<outside_update>>& supersteps,
                                     const update_tools& tools);

} // namespace troupe
