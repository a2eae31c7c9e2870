// Rebuilding the values of delta channels from the histories of checkpoints.
#include "engine/find_checkpoint.hpp"

#include "channels/channel.hpp"
#include "graph/channel_kinds.hpp"
#include "persistence/delta_history.hpp"
#include "persistence/record/saver_rules.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace troupe {

namespace {

result<value> replayed(const graph_plan& plan, const std::string& channel,
                       const delta_history& history) {
  std::vector<value> writes;
  writes.reserve(history.writes.size());
  for (const auto& w : history.writes)
    writes.push_back(w.value);
  const auto& spec = plan.channels[plan.find_channel(channel)].spec;
  auto cell = replay_channel(spec, channel, history.seed, writes);
  return cell ? result<value>{std::move(cell->content)} : cell.error();
}

// The checkpoints that were listed, by where they are.
class listed_checkpoints {
public:
  explicit listed_checkpoints(const std::vector<checkpoint_tuple>& list) {
    for (const auto& tuple : list)
      by_place_.emplace(place(tuple.ref), &tuple);
  }

  const checkpoint_tuple* find(const checkpoint_ref& ref) const {
    auto at = by_place_.find(place(ref));
    return at == by_place_.end() ? nullptr : at->second;
  }

private:
  using key = std::tuple<std::string_view, std::string_view, std::string_view>;
  static key place(const checkpoint_ref& ref) {
    return {ref.thread_id, ref.checkpoint_ns, ref.checkpoint_id};
  }

  std::map<key, const checkpoint_tuple*> by_place_;
};

result<std::vector<named<delta_history>>> histories_of(const graph_plan& plan, saver& from,
                                                       const std::vector<checkpoint_tuple>& list) {
  listed_checkpoints listed{list};
  std::vector<named<delta_history>> out;
  for (const auto& tuple : list) {
    std::optional<checkpoint_tuple> read; // the last checkpoint that was not listed
    auto step_back = [&](const std::string& id, const auto&) -> result<const checkpoint_tuple*> {
      const checkpoint_ref ref{tuple.ref.thread_id, tuple.ref.checkpoint_ns, id};
      if (const auto* known = listed.find(ref))
        return known;
      auto found = from.get_tuple(ref);
      if (!found)
        return found.error();
      read = std::move(*found);
      return read ? &*read : nullptr;
    };
    auto channels = channels_to_replay(plan, tuple.checkpoint);
    auto found = walk_history(channels, tuple.parent_id, step_back);
    if (!found)
      return found.error();
    out.push_back(std::move(*found));
  }
  return out;
}

} // namespace

std::vector<std::string> channels_to_replay(const graph_plan& plan, const checkpoint& of) {
  std::vector<std::string> out;
  for (auto c : plan.stream_keys) {
    const auto& channel = plan.channels[c];
    if (replays_history(channel.spec.kind) && find_named(of.channel_versions, channel.name)
        && !find_named(of.channel_values, channel.name))
      out.push_back(channel.name);
  }
  return out;
}

result<void> add_replayed(const graph_plan& plan, checkpoint& to,
                          const named<delta_history>& histories) {
  auto values = to.channel_values;
  for (const auto& [channel, history] : histories) {
    auto content = replayed(plan, channel, history);
    if (!content)
      return content.error();
    values.emplace_back(channel, std::move(*content));
  }
  std::ranges::sort(values, {}, &std::pair<std::string, value>::first);
  to.channel_values = std::move(values);
  return {};
}

result<std::optional<checkpoint_tuple>> find_checkpoint(const graph_plan& plan, saver& from,
                                                        const checkpoint_ref& ref) {
  auto found = from.get_tuple(ref);
  if (!found || !*found)
    return found;
  auto channels = channels_to_replay(plan, (*found)->checkpoint);
  if (channels.empty())
    return found;
  auto histories = from.get_delta_channel_history((*found)->ref, channels);
  if (!histories)
    return histories.error();
  if (auto added = add_replayed(plan, (*found)->checkpoint, *histories); !added)
    return added.error();
  return found;
}

result<void> check_kept(const run_config& config, bool found) {
  if (found || config.checkpoint_id.empty() || config.store_history == store_history::all)
    return {};
  return error{errc::checkpoint_missing,
               "read checkpoint `" + config.checkpoint_id + "` of thread `" + config.thread_id
                 + "`: it is not stored: with store_history::latest_only a thread keeps its newest "
                   "checkpoint only"};
}

// All histories are read before any value is added: an added value must not be taken for a stored
// one.
result<std::vector<checkpoint_tuple>> list_checkpoints(const graph_plan& plan, saver& from,
                                                       const list_query& query) {
  auto list = from.list(query);
  if (!list || std::ranges::all_of(*list, [&plan](const checkpoint_tuple& tuple) {
        return channels_to_replay(plan, tuple.checkpoint).empty();
      }))
    return list;
  auto histories = histories_of(plan, from, *list);
  if (!histories)
    return histories.error();
  for (std::size_t i = 0; i < list->size(); ++i)
    if (auto added = add_replayed(plan, (*list)[i].checkpoint, (*histories)[i]); !added)
      return added.error();
  return list;
}

} // namespace troupe
