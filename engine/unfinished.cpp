// Finding the threads that were cut off in the middle of a run.
#include "engine/unfinished.hpp"

#include "engine/plan.hpp"
#include "engine/stored_writes.hpp"
#include "graph/names.hpp"
#include "persistence/record/saver_rules.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace troupe {

namespace {

// Whether a node or control channel is of another graph. State channels do not show that: they may
// be left from an older form of this graph. Neither do started tasks, which have seen nothing.
bool is_of_another_graph(const thread_state& state) {
  auto is_control = [](const auto& channel) {
    std::string_view name = channel.first;
    return name.starts_with(names::branch_prefix) || name.starts_with(names::join_prefix);
  };
  auto saw_something = [](const auto& node) { return !node.second.empty(); };
  return std::ranges::any_of(state.foreign_versions, is_control)
         || std::ranges::any_of(state.foreign_seen, saw_something);
}

// Asks once for each runtime whether it lives.
class living_runtimes {
public:
  explicit living_runtimes(saver& store) : store_{store} {}

  result<bool> have(std::uint64_t owner) {
    auto mark = static_cast<std::uint32_t>(owner >> 32);
    if (auto known = known_.find(mark); known != known_.end())
      return known->second;
    auto there = store_.is_there(mark);
    if (!there)
      return there.error();
    if (!*there)
      return error{errc::invalid_config,
                   "look for unfinished runs: this saver does not know whether other runtimes "
                   "still work on them: set unfinished_query::alone if none does"};
    return known_[mark] = **there;
  }

private:
  saver& store_;
  std::map<std::uint32_t, bool> known_;
};

} // namespace

std::vector<std::string> trigger_channels(const graph_plan& plan) {
  std::set<channel_index> channels;
  for (const auto& node : plan.nodes)
    channels.insert(node.triggers.begin(), node.triggers.end());
  channels.insert(plan.tasks);
  channels.erase(no_index);
  std::vector<std::string> out;
  for (auto c : channels)
    out.push_back(plan.channels[c].name);
  std::ranges::sort(out);
  return out;
}

result<bool> is_cut_off(const std::shared_ptr<const graph_plan>& plan,
                        const checkpoint_tuple& newest) {
  thread_state state;
  if (auto loaded = load_state(state, plan, 0, newest.checkpoint); !loaded)
    return loaded.error();
  if (is_of_another_graph(state))
    return false;
  const auto& step = newest.metadata["step"];
  auto tasks = plan_next_tasks(state,
                               {.checkpoint_id = newest.ref.checkpoint_id,
                                .checkpoint_ns = newest.ref.checkpoint_ns,
                                .step = step.is_int() ? step.as_int() + 1 : 0},
                               nullptr);
  auto stored = read_stored(*plan, newest.pending_writes);
  if (stored.answer || !stored.outside.empty()) // an answer or command that no run has used
    return true;
  if (tasks.empty() || stops_at(state, plan->options.interrupt_before, tasks))
    return false;
  bool waits = false, goes_on = false, all_finished = true;
  for (const auto& task : tasks) {
    const auto* record = stored.find(task.id);
    if (record && !record->error.is_null() && !record->handed_over && !record->finished())
      return false; // the task failed
    all_finished &= record && record->finished();
    bool asks = record && !record->waiting().empty();
    waits |= asks;
    goes_on |= !asks && !(record && record->finished());
  }
  return goes_on || (all_finished && !waits);
}

result<std::vector<owned_thread>>
find_unfinished(const std::shared_ptr<const graph_plan>& plan, saver& store, thread_owners& owners,
                const unfinished_query& which,
                const std::function<void(const std::string&, const error&)>& skipped) {
  auto all = store.owners();
  if (!all)
    return all.error();
  living_runtimes living{store};
  auto channels = trigger_channels(*plan);
  std::vector<owned_thread> out;
  for (auto& [thread_id, owner] : *all) {
    if (!owners.may_have_left(owner))
      continue;
    if (!which.alone && !owners.is_mine(owner)) {
      auto lives = living.have(owner);
      if (!lives)
        return lives.error();
      if (*lives)
        continue;
    }
    auto newest = store.get_tuple_of({thread_id, "", ""}, channels);
    auto cut_off = newest && *newest && matches_filter(which.filter, (**newest).metadata)
                     ? is_cut_off(plan, **newest)
                     : result<bool>{false};
    if (!newest || !cut_off)
      skipped(thread_id, !newest ? newest.error() : cut_off.error());
    else if (*cut_off)
      out.push_back({std::move(thread_id), owner});
  }
  return out;
}

} // namespace troupe
