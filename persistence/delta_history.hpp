// history_walk: goes through the ancestors of a checkpoint and gathers the values and writes that
// make up its delta channels.
#pragma once

#include <troupe/saver.hpp>

#include <set>
#include <string>
#include <vector>

namespace troupe {

/// Gathers histories while the caller leads it from parent to parent.
/// Order:  the target's parent first, then its parent, and so on.
/// Source: langgraph/checkpoint/base, BaseCheckpointSaver.get_delta_channel_history.
class history_walk {
public:
  /// `channels` in any order; a channel may stand several times.
  explicit history_walk(const std::vector<std::string>& channels);

  /// The channels whose histories are not complete yet.
  const std::vector<std::string>& open() const noexcept { return open_; }

  /// Whether the walk continues at this checkpoint: some histories are not complete, and the
  /// checkpoint was not met before.
  bool wants(const std::string& checkpoint_id);

  /// Takes an ancestor's writes, and those of its values that complete a history.
  void take(const checkpoint_tuple& ancestor);

  /// The gathered histories, by channel.
  named<delta_history> finish();

private:
  delta_history& of(const std::string& channel);

  named<delta_history> found_; // writes newest first until finish()
  std::vector<std::string> open_;
  std::set<std::string> met_;
};

/// Leads a walk from `parent_id` on. `read(id, open)` returns
/// result<std::optional<checkpoint_tuple>> or result<const checkpoint_tuple*>. Only the parent, the
/// writes and the values of the channels `open` are used. nullopt or null ends the walk.
template <class Read>
result<named<delta_history>> walk_history(const std::vector<std::string>& channels,
                                          std::string parent_id, Read read) {
  history_walk walk{channels};
  while (walk.wants(parent_id)) {
    auto ancestor = read(parent_id, walk.open());
    if (!ancestor)
      return ancestor.error();
    if (!*ancestor)
      break;
    walk.take(**ancestor);
    parent_id = (*ancestor)->parent_id;
  }
  return walk.finish();
}

} // namespace troupe
