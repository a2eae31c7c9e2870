// thread_state: loading it from a checkpoint, and turning it into one.
#include "engine/thread_state.hpp"

#include "graph/names.hpp"
#include "graph/same_text.hpp"
#include "graph/value_node.hpp"
#include "persistence/record/refill.hpp"

#include <boost/container/small_vector.hpp>

#include <algorithm>

namespace troupe {

namespace {

// `guess`: where it probably stands.
version find_version(const named<version>& versions, std::string_view name, std::size_t guess) {
  if (guess < versions.size() && same_text(versions[guess].first, name))
    return versions[guess].second;
  auto it = std::lower_bound(versions.begin(), versions.end(), name,
                             [](const auto& e, std::string_view n) { return e.first < n; });
  return it != versions.end() && it->first == name ? it->second : version{};
}

void load_seen(thread_state& state, const named<named<version>>& from) {
  const auto& plan = *state.plan;
  std::size_t next = 0;
  for (const auto& [name, versions] : from) {
    if (name == names::input) {
      state.input_seen = true;
    } else if (name == names::interrupt) {
      auto& marks = state.interrupt_seen.emplace(plan.channels.size());
      for (const auto& [channel, v] : versions)
        if (auto c = plan.find_channel(channel); c != no_index)
          marks[c] = v;
    } else if (auto n = plan.find_node(name, next); n != no_index) {
      auto& seen = state.seen[n];
      seen.present = true;
      if (versions.empty())
        continue;
      const auto& triggers = plan.nodes[n].triggers;
      seen.at.resize(triggers.size());
      for (std::size_t i = 0; i < triggers.size(); ++i)
        seen.at[i] = find_version(versions, plan.channels[triggers[i]].name, i);
    } else {
      state.foreign_seen.emplace_back(name, versions);
    }
  }
}

void sort_channels(const graph_plan& plan, auto& channels) {
  std::ranges::sort(channels, {},
                    [&plan](channel_index c) -> std::string_view { return plan.channels[c].name; });
}

void refill_names(const graph_plan& plan, std::span<const channel_index> channels,
                  std::vector<std::string>& out) {
  refill<std::string> names{out, channels.size()};
  for (auto c : channels)
    set_name(names.next(), plan.channels[c].name);
}

// Those of the plan come in order.
template <class T> void sort_by_name(named<T>& list) {
  auto less = [](const auto& a, const auto& b) { return a.first < b.first; };
  if (!std::is_sorted(list.begin(), list.end(), less))
    std::sort(list.begin(), list.end(), less);
}

void take_versions(const thread_state& state, named<version>& out) {
  {
    refill_named<version> versions{out, state.versions.size() + state.foreign_versions.size()};
    for (auto c : state.plan->channels_by_name())
      if (state.versions[c].number != 0)
        versions.add(state.plan->channels[c].name) = state.versions[c];
    for (const auto& [name, at] : state.foreign_versions)
      versions.add(name) = at;
  }
  if (!state.foreign_versions.empty())
    sort_by_name(out);
}

void take_seen(const thread_state& state, const plan_node& node, const node_seen& seen,
               named<version>& out) {
  refill_named<version> versions{out, seen.at.size()};
  for (std::size_t i = 0; i < seen.at.size(); ++i)
    if (seen.at[i].number != 0)
      versions.add(state.plan->channels[node.triggers[i]].name) = seen.at[i];
}

void take_marks(const thread_state& state, named<version>& out) {
  refill_named<version> versions{out, state.versions.size()};
  for (auto c : state.plan->channels_by_name())
    if ((*state.interrupt_seen)[c].number != 0)
      versions.add(state.plan->channels[c].name) = (*state.interrupt_seen)[c];
}

void take_all_seen(const thread_state& state, named<named<version>>& out) {
  {
    refill_named<named<version>> seen{out, state.seen.size() + 2 + state.foreign_seen.size()};
    if (state.input_seen)
      seen.add(names::input).clear();
    if (state.interrupt_seen)
      take_marks(state, seen.add(names::interrupt));
    for (auto n : state.plan->nodes_by_name())
      if (state.seen[n].present)
        take_seen(state, state.plan->nodes[n], state.seen[n], seen.add(state.plan->nodes[n].name));
    for (const auto& [name, versions] : state.foreign_seen)
      seen.add(name) = versions;
  }
  sort_by_name(out);
}

void take_moved(thread_state& state, named<value>& values, std::vector<std::string>& new_versions) {
  auto& moved = state.moved;
  const auto& channels = state.plan->channels;
  sort_channels(*state.plan, moved);
  moved.erase(std::unique(moved.begin(), moved.end()), moved.end());
  refill_names(*state.plan, moved, new_versions);
  refill_named<value> by_name{values, moved.size()};
  for (auto c : moved)
    if (auto stored = store_channel(channels[c].spec, state.cells[c]))
      by_name.add(channels[c].name) = std::move(*stored);
  moved.clear();
}

// Lists the available channels that react to silence.
void list_live(thread_state& state) {
  state.live.clear();
  state.is_live.assign(state.cells.size(), 0);
  for (auto c : state.plan->reacting)
    if (available(state, c)) {
      state.live.push_back(c);
      state.is_live[c] = 1;
    }
}

// As reset_state, but nothing is live yet.
void clear_state(thread_state& state, std::shared_ptr<const graph_plan> plan, std::uint64_t tag) {
  state.plan = std::move(plan);
  const auto& channels = state.plan->channels;
  state.cells.clear();
  state.cells.reserve(channels.size());
  for (const auto& c : channels)
    state.cells.push_back(initial_cell(c.spec));
  state.versions.assign(channels.size(), {});
  state.seen.resize(state.plan->nodes.size());
  for (auto& seen : state.seen) {
    seen.present = false;
    seen.at.clear();
  }
  state.input_seen = false;
  state.interrupt_seen.reset();
  state.moved.clear();
  state.slot.assign(channels.size(), 0);
  state.newest = {};
  state.tag = tag;
  state.foreign_versions.clear();
  state.foreign_seen.clear();
}

} // namespace

void reset_state(thread_state& state, std::shared_ptr<const graph_plan> plan, std::uint64_t tag) {
  clear_state(state, std::move(plan), tag);
  list_live(state);
}

result<void> load_state(thread_state& state, std::shared_ptr<const graph_plan> plan,
                        std::uint64_t tag, const checkpoint& from) {
  clear_state(state, std::move(plan), tag);
  const auto& channels = state.plan->channels;
  auto stored = from.channel_values.begin(); // sorted by name, as the versions are
  std::size_t next = 0;
  for (const auto& [name, v] : from.channel_versions) {
    state.newest = std::max(state.newest, v);
    auto c = state.plan->find_channel(name, next);
    if (c == no_index) {
      state.foreign_versions.emplace_back(name, v);
      continue;
    }
    state.versions[c] = v;
    while (stored != from.channel_values.end() && !same_text(stored->first, name)
           && stored->first < name)
      ++stored;
    if (stored == from.channel_values.end() || !same_text(stored->first, name))
      continue; // the channel is empty
    auto cell = load_channel(channels[c].spec, name, (stored++)->second);
    if (!cell)
      return cell.error();
    state.cells[c] = std::move(*cell);
  }
  list_live(state);
  load_seen(state, from.versions_seen);
  return {};
}

void mark_called(thread_state& state, const std::string& name) {
  auto known = std::find_if(state.foreign_seen.begin(), state.foreign_seen.end(),
                            [&name](const auto& e) { return e.first == name; });
  if (known == state.foreign_seen.end())
    state.foreign_seen.emplace_back(name, named<version>{});
}

checkpoint take_checkpoint(thread_state& state, const std::vector<channel_index>* updated,
                           std::vector<std::string>& new_versions) {
  checkpoint out;
  take_checkpoint(state, updated, out, new_versions);
  return out;
}

void take_checkpoint(thread_state& state, const std::vector<channel_index>* updated,
                     checkpoint& out, std::vector<std::string>& new_versions) {
  take_versions(state, out.channel_versions);
  take_moved(state, out.channel_values, new_versions);
  take_all_seen(state, out.versions_seen);
  if (!updated)
    return out.updated_channels.reset();
  if (!out.updated_channels)
    out.updated_channels.emplace();
  boost::container::small_vector<channel_index, 16> sorted{updated->begin(), updated->end()};
  sort_channels(*state.plan, sorted);
  refill_names(*state.plan, {sorted.data(), sorted.size()}, *out.updated_channels);
}

value read_channels(const thread_state& state, std::span<const channel_index> keys) {
  boost::container::small_vector<value, 16> out; // key, value, key, value …
  out.reserve(2 * keys.size());
  for (auto c : keys)
    if (available(state, c)) {
      out.emplace_back(state.plan->channels[c].name);
      out.push_back(read_channel(state.plan->channels[c].spec, state.cells[c]));
    }
  bool duplicates = false; // the names of channels differ
  return value_access::map({out.data(), out.size()}, duplicates);
}

state_update read_in_order(const thread_state& state, const shown_channels& shown) {
  state_update out;
  for (auto c : shown.keys)
    if (available(state, c))
      out.set(state.plan->channels[c].name,
              read_channel(state.plan->channels[c].spec, state.cells[c]));
  return out;
}

value read_output(const thread_state& state, const shown_channels& shown) {
  if (!shown.bare)
    return read_channels(state, shown.keys);
  auto c = shown.keys[0];
  return available(state, c) ? read_channel(state.plan->channels[c].spec, state.cells[c]) : value{};
}

} // namespace troupe
