#include "tests/conformance/graph_book.hpp"

#include "tests/conformance/graph_of.hpp"
#include "tests/conformance/workflow_of.hpp"

namespace troupe::conformance {

compiled_graph graph_book::graph(const std::string& name) {
  std::lock_guard guard{mutex_};
  auto found = graphs_.find(name);
  if (found == graphs_.end())
    found = graphs_.emplace(name, build(name)).first;
  if (auto* e = std::get_if<error>(&found->second))
    throw *e;
  return std::get<compiled_graph>(found->second);
}

graph_book::built graph_book::build(const std::string& name) {
  if (!open_.insert(name).second)
    return error{errc::invalid_graph, "build a case's graph: it holds itself: " + name};
  const auto& declared = declared_.at(name);
  auto make = declared.contains("entrypoint") ? workflow_of : graph_of;
  try {
    auto graph = make(name, declared, world_);
    open_.erase(name);
    return graph;
  } catch (const error& e) {
    open_.erase(name);
    return e;
  }
}

task_node graph_book::task(const std::string& name) {
  std::lock_guard guard{mutex_};
  if (auto found = tasks_.find(name); found != tasks_.end())
    return found->second;
  for (const auto& [workflow, declared] : declared_.items())
    if (auto tasks = declared.find("tasks"); tasks != declared.end())
      if (auto task = tasks->find(name); task != tasks->end())
        return tasks_.emplace(name, task_of(name, *task, world_)).first->second;
  throw error{errc::missing_key, "start a task: there is none of this name: " + name};
}

} // namespace troupe::conformance
