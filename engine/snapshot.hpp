// snapshot: reads the state of a thread that no run holds. Pure, apart from calls to the saver that
// it is given.
// Source: langgraph/pregel/main.py, Pregel._prepare_state_snapshot.
#pragma once

#include "engine/thread_state.hpp"

#include <troupe/runtime.hpp>

#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// A stored checkpoint as a snapshot.
/// Shape:  `saved` nullopt: the empty snapshot of the thread and namespace in `at`. `live`: the
///         newest checkpoint, read without an id: the writes of its finished tasks are applied, and
///         only unanswered questions are listed.
/// Errors: checkpoint_corrupt. Stored writes that the channels refuse are not an error: the state
///         is shown without them, and their tasks as pending.
result<state_snapshot> make_snapshot(const std::shared_ptr<const graph_plan>& plan,
                                     const checkpoint_ref& at,
                                     std::optional<checkpoint_tuple> saved, bool live);

/// The state of a thread, with those of its tasks that are graphs when `subgraphs` is set.
/// Shape:  `config.checkpoint_ns` names a subgraph's state.
/// Errors: invalid_config (Subgraph … not found), those of make_snapshot, storage codes.
result<state_snapshot> read_snapshot(const std::shared_ptr<const graph_plan>& root, saver& store,
                                     const run_config& config, bool subgraphs);

/// The states of a thread at its stored checkpoints, newest first.
/// Shape:  `config.checkpoint_ns` as in read_snapshot; with `config.checkpoint_id`, that one alone.
/// Errors: as read_snapshot.
/// Source: langgraph/pregel/main.py, Pregel.get_state_history.
result<std::vector<state_snapshot>> read_history(const std::shared_ptr<const graph_plan>& root,
                                                 saver& store, const run_config& config,
                                                 const history_options& options);

/// The graph whose state is read under a namespace.
/// Errors: invalid_config (Subgraph … not found).
result<std::shared_ptr<const graph_plan>> graph_at(const std::shared_ptr<const graph_plan>& root,
                                                   std::string_view checkpoint_ns);

/// The namespace under which that graph keeps its state: without task ids when it keeps one state
/// per thread, else `checkpoint_ns`.
/// Source: langgraph/pregel/main.py, get_state; langgraph/_internal/_config.py,
/// recast_checkpoint_ns.
std::string kept_namespace(const graph_plan& plan, std::string_view checkpoint_ns);

} // namespace troupe
