// Which threads were cut off in the middle of a run, as far as the store tells. Pure but for the
// saver it is given.
//
// A run that pauses or fails puts its thread to rest (thread_at_rest), and one that is finished
// leaves nothing to run: what has an owner, is not at rest and has something left to run was cut
// off. What is left to run is seen by the channels that trigger nodes alone: no state is read.
#pragma once

#include "engine/thread_owners.hpp"
#include "graph/graph_plan.hpp"

#include <troupe/runtime.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace troupe {

/// Whether the newest checkpoint of a thread that is not at rest leaves something to do that waits
/// for nobody, and is of this graph.
/// Shape:  `newest` has the values of the trigger_channels at least.
/// Errors: checkpoint_corrupt.
result<bool> is_cut_off(const std::shared_ptr<const graph_plan>& plan,
                        const checkpoint_tuple& newest);

/// The channels whose values decide what runs next. Order: by name.
std::vector<std::string> trigger_channels(const graph_plan& plan);

/// See basic_app::try_unfinished; with the owners that left them. `skipped` is told of each thread
/// that can't be read.
result<std::vector<owned_thread>>
find_unfinished(const std::shared_ptr<const graph_plan>& plan, saver& store, thread_owners& owners,
                const unfinished_query& which,
                const std::function<void(const std::string& thread_id, const error& why)>& skipped);

} // namespace troupe
