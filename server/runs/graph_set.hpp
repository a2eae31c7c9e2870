// graph_set: the graphs of a server, loaded into its runtime.
#pragma once

#include <troupe/runtime.hpp>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe::server {

/// Thread: any. A run keeps the graph that it began with.
/// Invariants: the names stay; a graph that was replaced stays loaded, as in its runtime. So a look
/// for a graph takes no lock.
class graph_set {
public:
  graph_set(troupe::runtime& machine, std::vector<std::pair<std::string, compiled_graph>> graphs);

  std::optional<app<>> find(const std::string& graph_id) const;
  /// In the order in which they were given.
  const std::vector<std::string>& ids() const noexcept { return ids_; }
  /// New runs get this graph.
  /// Errors: throws error{unknown_graph} when the set has no graph of this name.
  void replace(const std::string& graph_id, const compiled_graph& graph);

  troupe::runtime& machine() const noexcept { return *machine_; }

private:
  struct versions {
    std::atomic<const app<>*> newest = nullptr;
    std::vector<std::unique_ptr<const app<>>> all; // under the mutex
  };

  void add(versions& to, const compiled_graph& graph);

  troupe::runtime* machine_;
  std::mutex mutex_;
  std::vector<std::string> ids_;
  std::map<std::string, versions> apps_;
};

} // namespace troupe::server
