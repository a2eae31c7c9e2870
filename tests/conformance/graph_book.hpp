// The graphs and tasks of a case, made when they are first needed.
#pragma once

#include "tests/conformance/documents.hpp"
#include "tests/conformance/world.hpp"

#include <troupe/functional.hpp>

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <variant>

namespace troupe::conformance {

using task_node = std::shared_ptr<const plan_node>;

/// Thread: its members may be called from any thread; bodies look up what they call.
class graph_book {
public:
  /// Owns:   refers to both, which must outlive it.
  graph_book(const script_json& declared, world& w) : declared_{declared}, world_{w} {}

  /// A graph by its name. Errors: throws the error it could not be built for, each time.
  compiled_graph graph(const std::string& name);
  /// A task of any workflow: names of tasks are unique in a case.
  /// Errors: throws error{missing_key}.
  task_node task(const std::string& name);

private:
  using built = std::variant<compiled_graph, error>;
  built build(const std::string& name);

  const script_json& declared_;
  world& world_;
  std::recursive_mutex mutex_; // graphs hold graphs
  std::set<std::string> open_; // being built
  std::map<std::string, built> graphs_;
  std::map<std::string, task_node> tasks_;
};

} // namespace troupe::conformance
