// graph_set: the graphs of a server, loaded into its runtime.
#pragma once

#include <troupe/runtime.hpp>

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe::server {

/// Thread: any. A run keeps the graph that it began with.
class graph_set {
public:
  graph_set(troupe::runtime& machine, std::vector<std::pair<std::string, compiled_graph>> graphs);

  std::optional<app<>> find(const std::string& graph_id) const;
  /// In the order in which they were given.
  std::vector<std::string> ids() const;
  /// New runs get this graph.
  void replace(const std::string& graph_id, const compiled_graph& graph);

  troupe::runtime& machine() const noexcept { return *machine_; }

private:
  troupe::runtime* machine_;
  mutable std::mutex mutex_;
  std::vector<std::string> ids_;
  std::map<std::string, app<>> apps_;
};

} // namespace troupe::server
