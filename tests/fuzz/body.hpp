// What the nodes and routes of a plan do: the user's code, which troupe and the interpreter both
// call. It is a function of its input, of the answers it was given, and of how often it ran with
// this input, so the order in which parallel tasks run never matters.
#pragma once

#include "tests/fuzz/plan.hpp"

#include <troupe/control.hpp>

#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace troupe::fuzz {

/// How often bodies ran. Thread: its members may be called from any thread.
class run_counts {
public:
  /// Counts an execution of `node` with `input`; how many there were with this input before.
  /// `matters`: what the body does depends on this number.
  std::uint32_t count(const std::string& node, const std::string& input, bool matters);
  /// Executions of each body since the last call.
  std::map<std::string, std::uint32_t> take();
  /// Whether, since the last call, a body whose number matters ran twice with one input: side by
  /// side, who is first would be chance.
  bool ran_twice();
  run_counts() = default;
  run_counts(const run_counts& other);
  run_counts& operator=(const run_counts& other);

private:
  mutable std::mutex mutex_;
  std::map<std::string, std::uint32_t> by_input_;
  std::map<std::string, std::uint32_t> by_node_;
  std::set<std::string> lately_;
  bool twice_ = false;
};

using part = std::variant<state_update, command>;

/// What a body returns. `ask` gives the answer to a question or leaves by an exception.
/// Errors: throws node_error when the plan says that this execution fails.
std::vector<part> run_body(const graph_design& g, const node_design& n, const value& input,
                           run_counts& counts, const std::function<value(const value&)>& ask);

/// Where a route goes on `state`: nodes, labels when it has a path map, and sends.
/// Errors: as run_body.
std::vector<destination> run_route(const graph_design& g, const route_design& r, const value& state,
                                   run_counts& counts);

/// The label of a node in a path map.
std::string label_of(const std::string& node);

} // namespace troupe::fuzz
