// unfinished: finds the threads that were cut off in the middle of a run, as far as the store
// shows. Pure, apart from calls to the saver that it is given.
//
// A run that pauses or fails puts its thread to rest (thread_at_rest), and a finished run leaves
// nothing to run. So a thread was cut off when it has an owner, is not at rest and has something
// left to run. The channels that trigger nodes show what is left to run; no state is read.
#pragma once

#include "engine/thread_owners.hpp"
#include "graph/graph_plan.hpp"

#include <troupe/runtime.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace troupe {

/// Whether the newest checkpoint of a thread belongs to this graph and leaves something to do that
/// waits for no answer. The thread must not be at rest.
/// Shape:  `newest` has the values of the trigger_channels at least.
/// Errors: checkpoint_corrupt.
result<bool> is_cut_off(const std::shared_ptr<const graph_plan>& plan,
                        const checkpoint_tuple& newest);

/// The channels whose values decide what runs next. Order: by name.
std::vector<std::string> trigger_channels(const graph_plan& plan);

/// See basic_app::try_unfinished; with the owners that left the threads. `skipped` is called for
/// each thread that can't be read.
result<std::vector<owned_thread>>
find_unfinished(const std::shared_ptr<const graph_plan>& plan, saver& store, thread_owners& owners,
                const unfinished_query& which,
                const std::function<void(const std::string& thread_id, const error& why)>& skipped);

} // namespace troupe
