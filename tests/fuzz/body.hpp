// The bodies of a plan's nodes and routes: the user's code, which troupe and the interpreter both
// call. It is a function of its input, of the answers it was given, and of how often its task ran
// before, so the order in which parallel tasks run never matters.
#pragma once

#include "tests/fuzz/plan.hpp"

#include <troupe/control.hpp>

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <variant>
#include <vector>

namespace troupe::fuzz {

/// How often bodies ran. Thread: its members may be called from any thread.
class run_counts {
public:
  /// Counts an execution of `name`, a body or route, in a task; how many there were in it before.
  std::uint32_t count(const std::string& name, const std::string& task);
  /// Executions of each body since the last call.
  std::map<std::string, std::uint32_t> take();
  run_counts() = default;
  run_counts(const run_counts& other);
  run_counts& operator=(const run_counts& other);

private:
  mutable std::mutex mutex_;
  std::map<std::string, std::uint32_t> by_task_;
  std::map<std::string, std::uint32_t> by_node_;
};

using part = std::variant<state_update, command>;

/// The output of a body in the task of this id. `ask` gives the answer to a question or leaves by
/// an exception.
/// Errors: throws node_error when the plan makes this execution fail.
std::vector<part> run_body(const graph_design& g, const node_design& n, const value& input,
                           run_counts& counts, const std::string& task,
                           const std::function<value(const value&)>& ask);

/// The targets of a route for `state`: nodes, labels when it has a path map, and sends.
/// Errors: as run_body.
std::vector<destination> run_route(const graph_design& g, const route_design& r, const value& state,
                                   run_counts& counts, const std::string& task);

/// The label of a node in a path map.
std::string label_of(const std::string& node);

} // namespace troupe::fuzz
