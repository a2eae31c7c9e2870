// delta_book: counting updates, forcing values, and moving versions that nothing wrote.
#include "engine/delta_book.hpp"

#include "channels/kinds.hpp"
#include "graph/names.hpp"
#include "persistence/record/saver_rules.hpp"

#include <algorithm>

namespace troupe {

namespace {

constexpr std::string_view counters_key = "counters_since_delta_snapshot";

named<version>* find_entry(named<named<version>>& entries, std::string_view name) {
  auto at = std::ranges::find(entries, name, &std::pair<std::string, named<version>>::first);
  return at == entries.end() ? nullptr : &at->second;
}

void set(named<version>& entries, std::string name, version to) {
  auto at = std::ranges::lower_bound(entries, name, {}, &std::pair<std::string, version>::first);
  if (at != entries.end() && at->first == name)
    at->second = to;
  else
    entries.emplace(at, std::move(name), to);
}

// ---- what was seen --------------------------------------------------------------------------

// The marks of entries that had seen a version which moved without a write. `entry:channel` is the
// version that was really seen, `entry|channel` the version in its place.
class bump_marks {
public:
  bump_marks(thread_state& state, channel_index c, version from, version to)
    : state_{state},
      channel_{state.plan->channels[c].name},
      from_{from},
      to_{to} {}

  /// Moves the version that `entry` has seen of the channel.
  void move(const std::string& entry, version& seen) {
    if (seen != from_)
      return;
    auto& marks = all();
    auto now = entry + "|" + channel_;
    const auto* before = find_named(marks, now);
    if (from_.number != 0 && (!before || *before != from_))
      set(marks, entry + ":" + channel_, from_);
    set(marks, std::move(now), to_);
    seen = to_;
  }

private:
  named<version>& all() {
    if (auto* marks = find_entry(state_.foreign_seen, names::snapshot_bumps))
      return *marks;
    return state_.foreign_seen.emplace_back(names::snapshot_bumps, named<version>{}).second;
  }

  thread_state& state_;
  const std::string& channel_;
  version from_, to_;
};

void move_nodes(thread_state& state, channel_index c, bool first, bump_marks& marks) {
  for (auto n : state.plan->channels[c].triggers) {
    auto& seen = state.seen[n];
    seen.present |= first;
    if (!seen.present)
      continue;
    const auto& triggers = state.plan->nodes[n].triggers;
    seen.at.resize(triggers.size());
    for (std::size_t i = 0; i < triggers.size(); ++i)
      if (triggers[i] == c)
        marks.move(state.plan->nodes[n].name, seen.at[i]);
  }
}

// Moves the entries of nodes that this graph does not have. An entry that never saw the channel
// stays as it is.
void move_foreign(thread_state& state, const std::string& channel, bump_marks& marks) {
  for (std::size_t i = 0; i < state.foreign_seen.size(); ++i) { // move() may append an entry
    if (state.foreign_seen[i].first == names::snapshot_bumps)
      continue;
    const auto* seen = find_named(state.foreign_seen[i].second, channel);
    if (!seen)
      continue;
    auto moved = *seen;
    marks.move(std::string{state.foreign_seen[i].first}, moved);
    set(state.foreign_seen[i].second, channel, moved);
  }
}

// The place of an entry's version of a channel in memory; null without one.
version* find_seen(thread_state& state, std::string_view entry, std::string_view channel) {
  auto c = state.plan->find_channel(channel);
  if (entry == names::interrupt)
    return state.interrupt_seen && c != no_index ? &(*state.interrupt_seen)[c] : nullptr;
  auto n = state.plan->find_node(entry);
  if (n == no_index || c == no_index)
    return nullptr;
  const auto& triggers = state.plan->nodes[n].triggers;
  auto at = std::ranges::find(triggers, c);
  auto place = static_cast<std::size_t>(at - triggers.begin());
  return place < state.seen[n].at.size() ? &state.seen[n].at[place] : nullptr;
}

void undo_foreign(thread_state& state, std::string_view entry, const std::string& channel,
                  version now, version before) {
  auto* seen = find_entry(state.foreign_seen, entry);
  const auto* at = seen ? find_named(*seen, channel) : nullptr;
  if (!at || *at != now)
    return;
  if (before.number != 0)
    set(*seen, channel, before);
  else
    std::erase_if(*seen, [&channel](const auto& e) { return e.first == channel; });
}

} // namespace

// ---- counting -------------------------------------------------------------------------------

void delta_book::begin(const graph_plan& plan, const value& metadata, store_history history) {
  plan_ = &plan;
  all_at_once_ = history == store_history::latest_only;
  entries_.clear();
  for (auto c : plan.stream_keys)
    if (plan.channels[c].spec.kind == channel_kind::delta) {
      const auto& stored = metadata[counters_key][plan.channels[c].name];
      auto number = [&stored](std::size_t i) {
        return stored[i].is_int() ? stored[i].as_int() : std::int64_t{0};
      };
      entries_.push_back({.channel = c, .updates = number(0), .supersteps = number(1)});
    }
  std::ranges::sort(entries_, {}, &entry::channel);
}

delta_book::entry* delta_book::find(channel_index channel) {
  auto at = std::ranges::find(entries_, channel, &entry::channel);
  return at == entries_.end() ? nullptr : &*at;
}

void delta_book::force(std::span<const pending_write> named) {
  if (!active())
    return;
  for (const auto& w : named)
    if (auto* e = find(plan_->find_channel(w.channel)))
      e->forced = true;
}

void delta_book::force(const task_write_list& written) {
  if (!active())
    return;
  for (const auto& w : written)
    if (auto* e = find(w.channel))
      e->forced = true;
}

void delta_book::force_overwritten(const task_write_list& writes) {
  if (!active())
    return;
  for (const auto& w : writes)
    if (auto* e = find(w.channel); e && is_overwrite(w.val))
      e->forced = true;
}

void delta_book::force_all(const thread_state& state) {
  for (auto& e : entries_)
    e.forced |= state.versions[e.channel].number != 0;
}

void delta_book::count(const std::vector<channel_index>* updated) {
  for (auto& e : entries_) {
    ++e.supersteps;
    e.updates += updated && std::ranges::find(*updated, e.channel) != updated->end();
  }
}

void delta_book::count(const task_write_list& written) {
  for (auto& e : entries_) {
    ++e.supersteps;
    e.updates += std::ranges::find(written, e.channel, &task_write::channel) != written.end();
  }
}

bool delta_book::due(const entry& e, const thread_state& state) const {
  if (e.forced)
    return true;
  return state.versions[e.channel].number != 0
         && (e.updates >= plan_->channels[e.channel].spec.snapshot_frequency
             || e.supersteps >= limits::delta_supersteps_max);
}

std::vector<channel_index> delta_book::due(const thread_state& state) const {
  std::vector<channel_index> out;
  for (const auto& e : entries_)
    if (due(e, state))
      out.push_back(e.channel);
  if (!all_at_once_ || out.empty())
    return out;
  out.clear();
  for (const auto& e : entries_)
    if (e.forced || state.versions[e.channel].number != 0)
      out.push_back(e.channel);
  return out;
}

std::vector<channel_index> delta_book::settle(thread_state& state) {
  auto out = due(state);
  for (auto channel : out) {
    if (std::ranges::find(state.moved, channel) == state.moved.end())
      bump_unwritten(state, channel);
    *find(channel) = {.channel = channel};
  }
  if (all_at_once_)
    skip_unwritten(state);
  return out;
}

// A channel that was never written has no past.
void delta_book::skip_unwritten(const thread_state& state) {
  for (auto& e : entries_)
    if (state.versions[e.channel].number == 0)
      e.supersteps = 0;
}

bool delta_book::needs_no_past() const noexcept {
  return std::ranges::all_of(entries_, [](const entry& e) {
    return e.updates == 0 && e.supersteps == 0 && !e.forced;
  });
}

value delta_book::counted(value metadata) const {
  if (!active())
    return metadata;
  std::vector<value::map_init> counters;
  for (const auto& e : entries_)
    if (e.updates != 0 || e.supersteps != 0)
      counters.emplace_back(plan_->channels[e.channel].name,
                            value::list({e.updates, e.supersteps}));
  return counters.empty() ? metadata.without(counters_key)
                          : metadata.with(counters_key, value::map(std::move(counters)));
}

void store_snapshots(const thread_state& state, const std::vector<channel_index>& channels,
                     checkpoint& out) {
  if (channels.empty())
    return;
  for (auto c : channels)
    out.channel_values.emplace_back(state.plan->channels[c].name,
                                    value::extension(value_kind::delta_snapshot,
                                                     state.cells[c].content));
  std::ranges::sort(out.channel_values, {}, &std::pair<std::string, value>::first);
}

// ---- versions that move without a write -------------------------------------------------------

void bump_unwritten(thread_state& state, channel_index channel) {
  auto from = state.versions[channel];
  const version to{from.number + 1, state.tag};
  bump_marks marks{state, channel, from, to};
  move_nodes(state, channel, from.number == 0, marks);
  if (state.interrupt_seen)
    marks.move(std::string{names::interrupt}, (*state.interrupt_seen)[channel]);
  move_foreign(state, state.plan->channels[channel].name, marks);
  state.versions[channel] = to;
  state.newest = std::max(state.newest, to);
  state.moved.push_back(channel);
}

bool has_bumps(const thread_state& state) {
  return std::ranges::any_of(state.foreign_seen,
                             [](const auto& e) { return e.first == names::snapshot_bumps; });
}

thread_state seen_without_bumps(thread_state state) {
  auto* found = find_entry(state.foreign_seen, names::snapshot_bumps);
  if (!found)
    return state;
  const auto marks = std::exchange(*found, {});
  std::erase_if(state.foreign_seen, [](const auto& e) { return e.first == names::snapshot_bumps; });
  for (const auto& [mark, now] : marks) {
    auto split = mark.find('|');
    if (split == std::string::npos)
      continue;
    auto entry = mark.substr(0, split);
    auto channel = mark.substr(split + 1);
    const auto* really = find_named(marks, entry + ":" + channel);
    auto before = really ? *really : version{};
    if (auto* seen = find_seen(state, entry, channel); seen && *seen == now)
      *seen = before;
    undo_foreign(state, entry, channel, now, before);
  }
  return state;
}

std::string branch_path(std::string_view task_path) {
  return std::string{branch_path_prefix}.append(task_path);
}

} // namespace troupe
