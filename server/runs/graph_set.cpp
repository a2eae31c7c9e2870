// graph_set: graphs by id.
#include "server/runs/graph_set.hpp"

namespace troupe::server {

graph_set::graph_set(troupe::runtime& machine,
                     std::vector<std::pair<std::string, compiled_graph>> graphs)
  : machine_{&machine} {
  for (const auto& [id, graph] : graphs) {
    auto [entry, is_new] = apps_.try_emplace(id);
    if (!is_new)
      throw error{errc::invalid_config, "two graphs are named `" + id + '`'};
    add(entry->second, graph);
    ids_.push_back(id);
  }
}

std::optional<app<>> graph_set::find(const std::string& graph_id) const {
  auto found = apps_.find(graph_id);
  if (found == apps_.end())
    return std::nullopt;
  return *found->second.newest.load(std::memory_order_acquire);
}

void graph_set::replace(const std::string& graph_id, const compiled_graph& graph) {
  auto found = apps_.find(graph_id);
  if (found == apps_.end())
    throw error{errc::unknown_graph, "replace a graph: the server has no graph `" + graph_id + '`'};
  add(found->second, graph);
}

void graph_set::add(versions& to, const compiled_graph& graph) {
  auto loaded = std::make_unique<const app<>>(machine_->load(graph));
  std::lock_guard lock{mutex_};
  to.all.push_back(std::move(loaded));
  to.newest.store(to.all.back().get(), std::memory_order_release);
}

} // namespace troupe::server
