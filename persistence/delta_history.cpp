// history_walk: gathering the histories of delta channels.
#include "persistence/delta_history.hpp"

#include "persistence/record/saver_rules.hpp"

#include <algorithm>

namespace troupe {

history_walk::history_walk(const std::vector<std::string>& channels) : open_{channels} {
  std::ranges::sort(open_);
  open_.erase(std::unique(open_.begin(), open_.end()), open_.end());
  for (const auto& channel : open_)
    found_.emplace_back(channel, delta_history{});
}

bool history_walk::wants(const std::string& checkpoint_id) {
  return !open_.empty() && !checkpoint_id.empty() && met_.insert(checkpoint_id).second;
}

void history_walk::take(const checkpoint_tuple& ancestor) {
  for (auto w = ancestor.pending_writes.rbegin(); w != ancestor.pending_writes.rend(); ++w)
    if (!w->task_path.starts_with(branch_path_prefix)
        && std::ranges::binary_search(open_, w->channel))
      of(w->channel).writes.push_back(*w);
  std::erase_if(open_, [this, &ancestor](const std::string& channel) {
    const auto* stored = find_named(ancestor.checkpoint.channel_values, channel);
    if (stored)
      of(channel).seed = *stored;
    return stored != nullptr;
  });
}

named<delta_history> history_walk::finish() {
  for (auto& [channel, history] : found_)
    std::ranges::reverse(history.writes);
  return std::move(found_);
}

delta_history& history_walk::of(const std::string& channel) {
  return std::ranges::lower_bound(found_, channel, {},
                                  &std::pair<std::string, delta_history>::first)
    ->second;
}

result<named<delta_history>> saver::get_delta_channel_history(
  const checkpoint_ref& ref, const std::vector<std::string>& channels) {
  std::string parent_id;
  if (!channels.empty()) {
    auto target = get_tuple(ref);
    if (!target)
      return target.error();
    if (*target)
      parent_id = std::move((*target)->parent_id);
  }
  return walk_history(channels, std::move(parent_id), [&](const std::string& id, const auto&) {
    return get_tuple({ref.thread_id, ref.checkpoint_ns, id});
  });
}

} // namespace troupe
