// The state of a thread in memory, by index: what a run works on between two steps. Pure.
//
// Invariants:
//  - cells, versions and seen change only between steps (apply, entry), never while tasks run.
//  - a channel without a version has number 0; all versions of a run share its tag.
//  - `live` holds exactly the channels that are available and react to silence.
#pragma once

#include "channels/channel.hpp"
#include "graph/graph_plan.hpp"

#include <troupe/saver.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

class name_places;     // engine/name_places.hpp
class numbered_names;  // persistence/numbered_put.hpp
struct numbered_put;   // persistence/numbered_put.hpp
struct numbered_tuple; // persistence/checkpoint_page.hpp

/// The versions that a node saw when it last ran: nothing yet, or the versions of its triggers.
struct node_seen {
  bool present = false;
  std::vector<version> at; // one a trigger, in the order of plan_node::triggers; empty: all null
};

struct thread_state {
  std::shared_ptr<const graph_plan> plan;
  std::vector<channel_cell> cells;
  std::vector<version> versions;
  std::vector<node_seen> seen;
  bool input_seen = false;                            // "__input__": {}
  std::optional<std::vector<version>> interrupt_seen; // "__interrupt__": one a channel
  std::vector<channel_index> live;
  std::vector<std::uint8_t> is_live; // one a channel: whether `live` holds it
  std::vector<std::uint32_t> slot;   // one a channel, all 0 between steps: scratch space of
                                     // step_apply
  std::vector<channel_index> moved;  // channels with a new version since the last checkpoint was
                                     // made
  version newest;                    // the greatest of all versions
  std::uint64_t tag = 0;             // of versions made from here on
  // Data of the checkpoint that this graph does not know; kept as it is.
  named<version> foreign_versions;
  named<named<version>> foreign_seen;

  bool started() const noexcept { return newest.number != 0; }
};

/// The state before the first checkpoint.
void reset_state(thread_state& state, const std::shared_ptr<const graph_plan>& plan,
                 std::uint64_t tag);

/// The state a checkpoint holds.
/// Errors: checkpoint_corrupt.
result<void> load_state(thread_state& state, const std::shared_ptr<const graph_plan>& plan,
                        std::uint64_t tag, const checkpoint& from);

/// The state of which a checkpoint with numbers for names can show the values and the next tasks:
/// without what the graph does not know, and `live` is as it was. Call list_live() before writes
/// are applied.
/// Errors: checkpoint_corrupt.
result<void> load_state(thread_state& state, const std::shared_ptr<const graph_plan>& plan,
                        const numbered_tuple& from, const name_places& places);

/// Lists the available channels that react to silence.
void list_live(thread_state& state);

/// The state as a checkpoint, with the values of the channels in `moved`, which is emptied. The
/// names of these channels go to `new_versions`, sorted. `id` and `ts` are left to the caller.
/// Shape:  `updated` by index, any order; nullptr: null.
checkpoint take_checkpoint(thread_state& state, const std::vector<channel_index>* updated,
                           std::vector<std::string>& new_versions);
/// The same in the place of an older checkpoint, most of whose names are the same.
void take_checkpoint(thread_state& state, const std::vector<channel_index>* updated,
                     checkpoint& out, std::vector<std::string>& new_versions);

/// Whether the state has names that its graph does not know.
inline bool has_foreign(const thread_state& state) noexcept {
  return !state.foreign_versions.empty() || !state.foreign_seen.empty();
}
/// The names of a graph, for the numbers of take_checkpoint().
/// Owns: nothing; the plan must outlive `names`.
void use_names(const graph_plan& plan, numbered_names& names);
/// As take_checkpoint() of a state without foreign names, with numbers for names, in the place of
/// another checkpoint.
void take_checkpoint(thread_state& state, const std::vector<channel_index>* updated,
                     numbered_put& out);

/// Marks a started task as seen: by its name, with nothing.
void mark_called(thread_state& state, const std::string& name);

/// The version that the next apply gives to the channels it moves.
inline version next_version(const thread_state& state) {
  return {state.newest.number + 1, state.tag};
}

inline bool available(const thread_state& state, channel_index c) {
  return channel_available(state.plan->channels[c].spec, state.cells[c]);
}

/// The available channels among `keys`, as a map.
value read_channels(const thread_state& state, std::span<const channel_index> keys);

/// The channels of a state that results and stream parts show: a map of them, or the bare value of
/// the only one.
struct shown_channels {
  index_list keys;
  bool bare = false;

  bool has(channel_index c) const {
    return c != no_index && std::find(keys.begin(), keys.end(), c) != keys.end();
  }
};
/// All state channels of a graph.
inline shown_channels whole_state(const graph_plan& plan) {
  return {plan.stream_keys, plan.single};
}

/// The state as a stream or result shows it; null for a bare channel without a value.
value read_output(const thread_state& state, const shown_channels& shown);
/// The same as an update, in the order of the channels.
state_update read_in_order(const thread_state& state, const shown_channels& shown);

} // namespace troupe
