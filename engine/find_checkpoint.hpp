// find_checkpoint: loads checkpoints with the values of their delta channels. Where a checkpoint
// holds no value, it is rebuilt from the writes of the ancestors before the checkpoint is returned.
// Pure, apart from calls to the saver that it is given.
//
// A step stores its tasks' writes to delta channels with the checkpoint it started from, like all
// writes. The checkpoint that the step makes holds their values only now and then. Duties of the
// files:
//
//   this file        find_checkpoint() and list_checkpoints(), to load any checkpoint
//                    in place of saver::get_tuple() and list(). Their results are complete, so
//                    load_state() and everything after it knows nothing of histories.
//   message_writes   give_message_ids(), before a write is stored, reported or applied
//   delta_book       decides which checkpoints hold a value: counts updates, knows what a
//                    new branch would misread, and moves the versions for it
//   exit_writes      durability exit: the writes of all steps, for the one checkpoint at the end
//   run_deltas       both for a run: enter → begin, take_command → command_wrote, task_finished →
//                    ids, applied → applied, put_checkpoint → made, fill_put → settle, save_exit
//   outside_update   the same for an update, in superstep::settle_deltas
//
// A graph without delta channels pays one look at an empty list in each of these places.
#pragma once

#include "graph/graph_plan.hpp"

#include <troupe/run_config.hpp>
#include <troupe/saver.hpp>

#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// The channels whose value this checkpoint leaves to its history: they were written, and it holds
/// no value of them.
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

/// Whether a checkpoint that the config names by id is there (`found`). The reference reads a
/// missing one as an empty state. With store_history::latest_only that would end the thread's only
/// checkpoint.
/// Errors: checkpoint_missing.
result<void> check_kept(const run_config& config, bool found);

/// The checkpoints that the query names, with the values of all their channels. An ancestor that is
/// among them is not read again.
/// Errors: as saver::list and replay_channel.
result<std::vector<checkpoint_tuple>> list_checkpoints(const graph_plan& plan, saver& from,
                                                       const list_query& query);

} // namespace troupe
