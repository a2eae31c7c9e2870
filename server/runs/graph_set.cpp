// graph_set: graphs by id.
#include "server/runs/graph_set.hpp"

namespace troupe::server {

graph_set::graph_set(troupe::runtime& machine,
                     std::vector<std::pair<std::string, compiled_graph>> graphs)
  : machine_{&machine} {
  for (const auto& [id, graph] : graphs) {
    if (!apps_.emplace(id, machine.load(graph)).second)
      throw error{errc::invalid_config, "two graphs are named `" + id + '`'};
    ids_.push_back(id);
  }
}

std::optional<app<>> graph_set::find(const std::string& graph_id) const {
  std::lock_guard lock{mutex_};
  auto found = apps_.find(graph_id);
  return found == apps_.end() ? std::nullopt : std::optional{found->second};
}

std::vector<std::string> graph_set::ids() const {
  std::lock_guard lock{mutex_};
  return ids_;
}

void graph_set::replace(const std::string& graph_id, const compiled_graph& graph) {
  auto loaded = machine_->load(graph);
  std::lock_guard lock{mutex_};
  apps_.insert_or_assign(graph_id, std::move(loaded));
}

} // namespace troupe::server
