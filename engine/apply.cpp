// Applying the writes of a step.
#include "engine/apply.hpp"

#include <algorithm>

namespace troupe {

namespace {

bool ignored_target(std::string_view name) {
  return name == names::no_writes || name == names::push || name == names::resume
         || name == names::interrupt || name == names::error || name == names::returned
         || name == names::error_source;
}

std::string writer_name(const graph_plan& plan, const applied_task& task) {
  if (task.node == no_index)
    return "the input";
  auto node = "node `" + plan.nodes[task.node].name + "`";
  if (task.what == applied_task::kind::outside)
    return "update_state as " + node;
  return plan.nodes[task.node].name == START ? "the input" : node;
}

} // namespace

error refused_writes(const graph_plan& plan, std::span<const applied_task> tasks,
                     channel_index channel, const error& why) {
  auto wrote = [channel](const applied_task& t) {
    return t.writes && std::ranges::any_of(*t.writes, [channel](const auto& w) {
             return w.channel == channel;
           });
  };
  std::vector<std::string> names; // several tasks of a node are one writer
  for (const auto& t : tasks)
    if (auto name = wrote(t) ? writer_name(plan, t) : ""; !name.empty())
      if (std::ranges::find(names, name) == names.end())
        names.push_back(std::move(name));
  if (names.empty())
    return why;
  std::string list;
  for (const auto& name : names)
    list += (list.empty() ? "" : " and ") + name;
  return error{why.code(), why.message() + " (written by " + list + ")", why.type(), why.text()}
    .with_base(why.base())
    .with_details(why.details());
}

void step_apply::mark_seen(const applied_task& task) {
  if (task.what == applied_task::kind::input) {
    state_.input_seen = true;
    return;
  }
  auto& seen = state_.seen[task.node];
  seen.present = true;
  if (task.what != applied_task::kind::pull)
    return;
  const auto& triggers = state_.plan->nodes[task.node].triggers;
  seen.at.resize(triggers.size());
  for (std::size_t i = 0; i < triggers.size(); ++i)
    if (auto v = state_.versions[triggers[i]]; v.number != 0)
      seen.at[i] = v;
}

void step_apply::moved(channel_index channel) {
  if (bump_) {
    state_.versions[channel] = next_;
    state_.newest = next_;
    state_.moved.push_back(channel);
  }
}

result<void> step_apply::consume(const applied_task& task) {
  if (task.what != applied_task::kind::pull)
    return {};
  for (auto c : state_.plan->nodes[task.node].triggers) {
    const auto& channel = state_.plan->channels[c];
    auto changed = consume_channel(channel.spec, channel.name, state_.cells[c]);
    if (!changed)
      return changed.error();
    if (!*changed)
      continue;
    moved(c);
    touched_.push_back(c);
  }
  return {};
}

void step_apply::add_group(channel_index channel) {
  if (used_ == groups_.size())
    groups_.emplace_back();
  groups_[used_++].channel = channel;
}

// The values of the writes are let go; the memory of a few is kept for the next step.
void step_apply::empty_groups() {
  constexpr std::size_t writes_kept_max = 256; // of a channel
  for (auto& g : std::span{groups_.data(), used_}) {
    g.writes.clear();
    if (g.writes.capacity() > writes_kept_max)
      g.writes.shrink_to_fit();
  }
  used_ = 0;
}

void step_apply::group(const applied_task& task) {
  if (!task.writes)
    return;
  for (const auto& w : *task.writes) {
    if (w.channel == no_index) {
      if (!ignored_target(w.name))
        unknown_.push_back(w.name);
      continue;
    }
    auto& slot = state_.slot[w.channel];
    if (slot == 0) {
      add_group(w.channel);
      slot = static_cast<std::uint32_t>(used_);
    }
    groups_[slot - 1].writes.push_back(w.val);
  }
}

result<void> step_apply::apply_here(const channel_change& change) {
  const auto& channel = state_.plan->channels[change.channel];
  auto cell = state_.cells[change.channel];
  auto changed = update_channel(channel.spec, channel.name, cell, change.writes);
  if (!changed)
    return changed.error();
  settle(change.channel, std::move(cell), *changed);
  return {};
}

result<std::span<channel_change>> step_apply::begin(std::span<const applied_task> tasks) {
  bump_step_ = false;
  empty_groups();
  touched_.clear();
  updated_.clear();
  unknown_.clear();
  next_ = next_version(state_);
  for (const auto& t : tasks) {
    bump_step_ |= t.what != applied_task::kind::input;
    mark_seen(t);
  }
  for (const auto& t : tasks)
    if (auto consumed = consume(t); !consumed)
      return consumed.error();
  for (const auto& t : tasks)
    group(t);
  if (bump_step_)
    for (auto c : state_.live)
      if (state_.slot[c] == 0)
        add_group(c);
  auto groups = std::span{groups_.data(), used_};
  for (auto& g : groups) {
    state_.slot[g.channel] = 0;
    touched_.push_back(g.channel);
  }
  std::size_t elsewhere = 0; // number of groups of state channels, at the front
  updated_.reserve(used_);
  for (auto& g : groups) {
    if (state_.plan->channels[g.channel].control) {
      if (auto done = apply_here(g); !done)
        return done.error();
    } else if (auto& front = groups[elsewhere++]; &front != &g) {
      std::swap(front, g);
    }
  }
  return groups.first(elsewhere);
}

void step_apply::settle(channel_index channel, channel_cell cell, bool changed) {
  state_.cells[channel] = std::move(cell);
  if (!changed)
    return;
  moved(channel);
  if (bump_ && available(state_, channel)) // in a preview no channel counts as updated, as in the
                                           // reference
    updated_.push_back(channel);
}

// In a preview no channel counts as updated, so the channels that forget do so at once, as in the
// reference.
void step_apply::forget() {
  if (bump_step_)
    for (auto c : state_.plan->reacting)
      if (available(state_, c))
        (void)update_channel(state_.plan->channels[c].spec, {}, state_.cells[c], {});
}

// Whether the channel changed because nothing else is left to run.
result<bool> step_apply::finish_one(channel_index c) {
  const auto& channel = state_.plan->channels[c];
  auto changed = finish_channel(channel.spec, channel.name, state_.cells[c]);
  if (changed && *changed) {
    moved(c);
    touched_.push_back(c);
  }
  return changed;
}

result<std::span<const channel_index>> step_apply::finish(std::span<const channel_index> hurried) {
  const auto& plan = *state_.plan;
  empty_groups();
  for (auto c : hurried) {
    auto changed = finish_one(c);
    if (!changed)
      return changed.error();
    if (*changed)
      updated_.push_back(c);
  }
  auto triggers_something = [&plan](channel_index c) { return !plan.channels[c].triggers.empty(); };
  if (bump_step_ && std::none_of(updated_.begin(), updated_.end(), triggers_something))
    for (auto c : plan.finishing) {
      auto changed = finish_one(c);
      if (!changed)
        return changed.error();
      if (*changed && available(state_, c))
        updated_.push_back(c);
    }
  for (auto c : touched_)
    if (reacts_to_silence(plan.channels[c].spec) && !state_.is_live[c] && available(state_, c)) {
      state_.is_live[c] = 1;
      state_.live.push_back(c);
    }
  std::erase_if(state_.live, [this](channel_index c) {
    bool gone = !available(state_, c);
    if (gone)
      state_.is_live[c] = 0;
    return gone;
  });
  return std::span<const channel_index>{updated_};
}

result<std::span<const channel_index>> step_apply::all(std::span<const applied_task> tasks) {
  auto changes = begin(tasks);
  if (!changes)
    return changes.error();
  for (const auto& change : *changes)
    if (auto done = apply_here(change); !done)
      return refused_writes(*state_.plan, tasks, change.channel, done.error());
  if (!bump_)
    forget();
  return finish();
}

result<std::vector<channel_index>> apply_here(thread_state& state,
                                              std::span<const applied_task> tasks, bool bump,
                                              std::vector<std::string>* unknown) {
  step_apply step{state, bump};
  auto updated = step.all(tasks);
  if (!updated)
    return updated.error();
  if (unknown)
    *unknown = step.unknown();
  return std::vector<channel_index>{updated->begin(), updated->end()};
}

} // namespace troupe
