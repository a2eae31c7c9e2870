// The values of delta channels on their way in: where a checkpoint holds none, they are rebuilt
// from the writes of its ancestors, before anyone looks at it. Pure but for the saver it is given.
//
// How delta channels hang together. A step stores what its tasks write to them with the checkpoint
// it started from, as all writes; the checkpoint it makes holds their values only now and then.
// Who does what:
//
//   this file        find_checkpoint() and list_checkpoints(), for whoever reads a checkpoint to
//                    load it, in place of saver::get_tuple() and list(). What they give is
//                    complete, so load_state() and all that follows knows nothing of histories.
//   message_writes   give_message_ids(), before a write is stored, reported or applied
//   delta_book       which checkpoints hold a value: counts updates, and knows what a new branch
//                    would misread; the versions that move for it
//   exit_writes      durability exit: the writes of all steps, for the one checkpoint at the end
//   run_deltas       both for a run: enter → begin, take_command → command_wrote, task_finished →
//                    ids, applied → applied, put_checkpoint → made, make_put → settle, save_exit
//   outside_update   the same for an update, in superstep::settle_deltas
//
// A graph without delta channels pays one look at an empty list in each of these places.
#pragma once

#include "graph/graph_plan.hpp"

#include <troupe/saver.hpp>

#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// The channels whose value this checkpoint leaves to its history: they were written, and it holds
/// nothing for them.
/// Order:  that of the plan.
/// Source: langgraph/pregel/_checkpoint.py.
std::vector<std::string> channels_to_replay(const graph_plan& plan, const checkpoint& of);

/// Adds the values that these histories stand for.
/// Errors: as replay_channel; `to` is as before.
result<void> add_replayed(const graph_plan& plan, checkpoint& to,
                          const named<delta_history>& histories);

/// The checkpoint at `ref` with the values of all its channels.
/// Errors: as saver::get_tuple and replay_channel.
result<std::optional<checkpoint_tuple>> find_checkpoint(const graph_plan& plan, saver& from,
                                                        const checkpoint_ref& ref);

/// Those the query names, likewise. An ancestor that is among them is not read again.
/// Errors: as saver::list and replay_channel.
result<std::vector<checkpoint_tuple>> list_checkpoints(const graph_plan& plan, saver& from,
                                                       const list_query& query);

} // namespace troupe
