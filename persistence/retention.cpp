// Retention: marking the checkpoints that stay when a thread is pruned.
#include "persistence/retention.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace troupe {

namespace {

// of channels without a stored value
constexpr std::string_view counters_key = "counters_since_delta_snapshot";

checkpoint_summary* find(std::vector<checkpoint_summary>& all, std::string_view id) {
  auto at = std::ranges::lower_bound(all, id, {}, &checkpoint_summary::id);
  return at != all.end() && at->id == id ? &*at : nullptr;
}

// Whether the namespace is that of a call in a task, in which no other task continues:
// `node:task_id`. A namespace without task ids belongs to a graph that keeps its state from call to
// call.
bool is_of_a_task(std::string_view ns) {
  return ns.find(':') != ns.npos;
}

// Whether a checkpoint of a graph above, under which this one was made, is gone or will be removed.
bool lacks_one_above(thread_summary& thread, const namespace_summary& at,
                     const checkpoint_summary& cp) {
  return std::ranges::any_of(cp.metadata["parents"].entries(), [&](const auto& above) {
    auto ns = std::ranges::find(thread, above.key(), &namespace_summary::ns);
    if (ns == thread.end() || !above.val.is_string() || ns->ns == at.ns)
      return false;
    auto* parent = find(ns->checkpoints, above.val.as_string());
    return parent == nullptr || !parent->stays;
  });
}

bool is_orphan(thread_summary& thread, const namespace_summary& at, const checkpoint_summary& cp) {
  return is_of_a_task(at.ns) && lacks_one_above(thread, at, cp);
}

void mark_forks(std::vector<checkpoint_summary>& all) {
  std::map<std::string, std::size_t, std::less<>> children;
  for (const auto& cp : all)
    ++children[cp.parent_id];
  for (auto& cp : all) {
    auto of = children.find(cp.id);
    if (of == children.end() || of->second > 1)
      cp.stays = true;
  }
}

void mark_kept(std::vector<checkpoint_summary>& all, const retention& keep) {
  auto newest = all.size() - std::min(keep.keep_latest, all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto& step = all[i].metadata["step"];
    auto is_kept_step = keep.keep_every != 0 && step.is_int() && step.as_int() >= 0
                        && static_cast<std::uint64_t>(step.as_int()) % keep.keep_every == 0;
    all[i].stays = i >= newest || is_kept_step;
  }
  if (keep.keep_forks)
    mark_forks(all);
}

result<void> mark_needed(namespace_summary& at, const checkpoint_summary& from,
                         const stores_value& stores) {
  std::vector<std::string> open;
  for (const auto& e : from.metadata[counters_key].entries())
    open.emplace_back(e.key());
  std::set<std::string_view> seen{from.id};
  const auto* cp = &from;
  while (!open.empty()) {
    auto* parent = find(at.checkpoints, cp->parent_id);
    if (parent == nullptr || !seen.insert(parent->id).second)
      return {};
    parent->stays = true;
    for (auto channel = open.begin(); channel != open.end();) {
      auto ends = stores(at, *parent, *channel);
      if (!ends)
        return ends.error();
      channel = *ends ? open.erase(channel) : channel + 1;
    }
    cp = parent;
  }
  return {};
}

} // namespace

bool is_of_a_task_of(std::string_view ns, std::string_view graph_ns) noexcept {
  if (graph_ns.empty())
    return is_of_a_task(ns);
  return ns.starts_with(graph_ns) && ns.substr(graph_ns.size()).starts_with('|')
         && is_of_a_task(ns.substr(graph_ns.size()));
}

void mark_kept(thread_summary& thread, const retention& keep) {
  for (auto& at : thread) {
    mark_kept(at.checkpoints, keep);
    for (auto& cp : at.checkpoints) {
      if (cp.stays && is_orphan(thread, at, cp))
        cp.stays = false;
      if (keep.created_before && cp.ts >= *keep.created_before)
        cp.stays = true;
    }
  }
}

void mark_up_to(thread_summary& thread, std::string_view id) {
  for (auto& at : thread) {
    if (!at.ns.empty()) {
      for (auto& cp : at.checkpoints)
        cp.stays = !lacks_one_above(thread, at, cp);
      continue;
    }
    auto* cp = find(at.checkpoints, id);
    while (cp != nullptr && !std::exchange(cp->stays, true))
      cp = find(at.checkpoints, cp->parent_id);
  }
}

void mark_other_runs(thread_summary& thread, const std::vector<std::string>& run_ids) {
  for (auto& at : thread)
    for (auto& cp : at.checkpoints) {
      const auto& run = cp.metadata["run_id"];
      cp.stays = !run.is_string() || std::ranges::find(run_ids, run.as_string()) == run_ids.end();
    }
}

result<void> mark_needed(thread_summary& thread, const stores_value& stores) {
  for (auto& at : thread)
    for (auto cp = at.checkpoints.rbegin(); cp != at.checkpoints.rend(); ++cp)
      if (cp->stays)
        if (auto marked = mark_needed(at, *cp, stores); !marked)
          return marked;
  return {};
}

} // namespace troupe
