// thread_state: loading it from a checkpoint, and turning it into one.
#include "engine/thread_state.hpp"

#include "graph/names.hpp"

#include <algorithm>

namespace troupe {

namespace {

version find_version(const named<version>& versions, std::string_view name) {
  auto it = std::lower_bound(versions.begin(), versions.end(), name,
                             [](const auto& e, std::string_view n) { return e.first < n; });
  return it != versions.end() && it->first == name ? it->second : version{};
}

const value* find_value(const named<value>& values, std::string_view name) {
  auto it = std::lower_bound(values.begin(), values.end(), name,
                             [](const auto& e, std::string_view n) { return e.first < n; });
  return it != values.end() && it->first == name ? &it->second : nullptr;
}

void load_seen(thread_state& state, const named<named<version>>& from) {
  const auto& plan = *state.plan;
  for (const auto& [name, versions] : from) {
    if (name == names::input) {
      state.input_seen = true;
    } else if (name == names::interrupt) {
      auto& marks = state.interrupt_seen.emplace(plan.channels.size());
      for (const auto& [channel, v] : versions)
        if (auto c = plan.find_channel(channel); c != no_index)
          marks[c] = v;
    } else if (auto n = plan.find_node(name); n != no_index) {
      auto& seen = state.seen[n];
      seen.present = true;
      if (versions.empty())
        continue;
      const auto& triggers = plan.nodes[n].triggers;
      seen.at.resize(triggers.size());
      for (std::size_t i = 0; i < triggers.size(); ++i)
        seen.at[i] = find_version(versions, plan.channels[triggers[i]].name);
    } else {
      state.foreign_seen.emplace_back(name, versions);
    }
  }
}

named<version> seen_by_name(const thread_state& state, const plan_node& node,
                            const node_seen& seen) {
  named<version> out;
  out.reserve(seen.at.size());
  for (std::size_t i = 0; i < seen.at.size(); ++i)
    if (seen.at[i].number != 0)
      out.emplace_back(state.plan->channels[node.triggers[i]].name, seen.at[i]);
  return out;
}

template <class T> void sort_by_name(named<T>& list) {
  std::sort(list.begin(), list.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
}

named<version> marks_by_name(const thread_state& state) {
  named<version> out;
  for (channel_index c = 0; c < state.versions.size(); ++c)
    if ((*state.interrupt_seen)[c].number != 0)
      out.emplace_back(state.plan->channels[c].name, (*state.interrupt_seen)[c]);
  sort_by_name(out);
  return out;
}

void take_moved(thread_state& state, checkpoint& out, std::vector<std::string>& new_versions) {
  auto& moved = state.moved;
  std::sort(moved.begin(), moved.end());
  moved.erase(std::unique(moved.begin(), moved.end()), moved.end());
  new_versions.reserve(moved.size());
  out.channel_values.reserve(moved.size());
  for (auto c : moved) {
    const auto& channel = state.plan->channels[c];
    new_versions.push_back(channel.name);
    if (auto stored = store_channel(channel.spec, state.cells[c]))
      out.channel_values.emplace_back(channel.name, std::move(*stored));
  }
  moved.clear();
  std::sort(new_versions.begin(), new_versions.end());
  sort_by_name(out.channel_values);
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

} // namespace

void reset_state(thread_state& state, std::shared_ptr<const graph_plan> plan, std::uint64_t tag) {
  state.plan = std::move(plan);
  const auto& channels = state.plan->channels;
  state.cells.clear();
  state.cells.reserve(channels.size());
  for (const auto& c : channels)
    state.cells.push_back(initial_cell(c.spec));
  state.versions.assign(channels.size(), {});
  state.seen.assign(state.plan->nodes.size(), {});
  state.input_seen = false;
  state.interrupt_seen.reset();
  state.moved.clear();
  list_live(state);
  state.slot.assign(channels.size(), 0);
  state.newest = {};
  state.tag = tag;
  state.foreign_versions.clear();
  state.foreign_seen.clear();
}

result<void> load_state(thread_state& state, std::shared_ptr<const graph_plan> plan,
                        std::uint64_t tag, const checkpoint& from) {
  reset_state(state, std::move(plan), tag);
  const auto& channels = state.plan->channels;
  for (const auto& [name, v] : from.channel_versions) {
    state.newest = std::max(state.newest, v);
    auto c = state.plan->find_channel(name);
    if (c == no_index) {
      state.foreign_versions.emplace_back(name, v);
      continue;
    }
    state.versions[c] = v;
    const auto* stored = find_value(from.channel_values, name);
    auto cell = load_channel(channels[c].spec, name,
                             stored ? std::optional<value>{*stored} : std::nullopt);
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
  const auto& plan = *state.plan;
  out.channel_versions.reserve(plan.channels.size() + state.foreign_versions.size());
  for (channel_index c = 0; c < plan.channels.size(); ++c)
    if (state.versions[c].number != 0)
      out.channel_versions.emplace_back(plan.channels[c].name, state.versions[c]);
  for (const auto& foreign : state.foreign_versions)
    out.channel_versions.push_back(foreign);
  take_moved(state, out, new_versions);
  out.versions_seen.reserve(plan.nodes.size() + 2 + state.foreign_seen.size());
  for (node_index n = 0; n < plan.nodes.size(); ++n)
    if (state.seen[n].present)
      out.versions_seen.emplace_back(plan.nodes[n].name,
                                     seen_by_name(state, plan.nodes[n], state.seen[n]));
  if (state.input_seen)
    out.versions_seen.emplace_back(names::input, named<version>{});
  if (state.interrupt_seen)
    out.versions_seen.emplace_back(names::interrupt, marks_by_name(state));
  for (const auto& foreign : state.foreign_seen)
    out.versions_seen.push_back(foreign);
  sort_by_name(out.channel_versions);
  sort_by_name(out.versions_seen);
  if (updated) {
    auto& list = out.updated_channels.emplace();
    list.reserve(updated->size());
    for (auto c : *updated)
      list.push_back(plan.channels[c].name);
    std::sort(list.begin(), list.end());
  }
  return out;
}

value read_channels(const thread_state& state, std::span<const channel_index> keys) {
  std::vector<value::map_init> out;
  out.reserve(keys.size());
  for (auto c : keys)
    if (available(state, c))
      out.emplace_back(state.plan->channels[c].name,
                       read_channel(state.plan->channels[c].spec, state.cells[c]));
  return value::map(std::move(out));
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
