// Finding the node an update from outside acts as.
#include "engine/update_nodes.hpp"

#include "engine/delta_book.hpp"

#include <algorithm>

namespace troupe {

namespace {

bool any_set(const std::vector<version>& versions) {
  return std::any_of(versions.begin(), versions.end(),
                     [](const version& v) { return v.number != 0; });
}

// Whether anything has seen a version. Entries of versions_seen that are not nodes count too, as in
// the reference.
bool anything_seen(const thread_state& state) {
  return std::any_of(state.seen.begin(), state.seen.end(),
                     [](const node_seen& s) { return any_set(s.at); })
         || (state.interrupt_seen && any_set(*state.interrupt_seen))
         || std::any_of(state.foreign_seen.begin(), state.foreign_seen.end(),
                        [](const auto& e) { return !e.second.empty(); });
}

result<node_index> last_node(const thread_state& state) {
  if (state.plan->functional) // its one node; START of a workflow never runs
    return node_index{1};
  if (state.plan->nodes.size() == 1 || !anything_seen(state))
    return node_index{0};
  std::vector<std::pair<version, node_index>> seen;
  for (node_index n = 0; n < state.seen.size(); ++n)
    for (const auto& v : state.seen[n].at)
      if (v.number != 0)
        seen.emplace_back(v, n);
  std::sort(seen.begin(), seen.end());
  if (seen.empty() || (seen.size() > 1 && seen.end()[-1].first == seen.end()[-2].first))
    return error{errc::invalid_update, "Ambiguous update, specify as_node"};
  return seen.back().second;
}

} // namespace

result<std::vector<node_index>> update_nodes(const thread_state& state,
                                             const std::vector<outside_update>& updates) {
  if (has_bumps(state))
    return update_nodes(seen_without_bumps(state), updates);
  std::vector<node_index> out;
  for (const auto& update : updates) {
    if (!update.as_node.empty()) {
      auto n = state.plan->find_node(update.as_node);
      if (n == no_index || (n == 0 && state.plan->functional))
        return error{errc::invalid_update, "Node " + update.as_node + " does not exist"};
      out.push_back(n);
    } else if (updates.size() > 1) {
      return error{errc::invalid_update, "as_node is required when applying multiple updates"};
    } else {
      auto n = last_node(state);
      if (!n)
        return n.error();
      out.push_back(*n);
    }
  }
  return out;
}

} // namespace troupe
