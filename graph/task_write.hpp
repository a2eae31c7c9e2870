// A task_write: one write of a task to a channel of the graph, by index, or to a special or unknown
// name.
#pragma once

#include "graph/graph_plan.hpp"
#include "graph/names.hpp"

#include <string>
#include <utility>
#include <vector>

namespace troupe {

struct task_write {
  channel_index channel = no_index; // no_index: `name` names the target
  value val;
  std::string name = {};

  std::string_view target(const graph_plan& plan) const {
    return channel == no_index ? std::string_view{name} : plan.channels[channel].name;
  }
};
using task_write_list = std::vector<task_write>;

inline task_write write_to(std::string_view special, value v) {
  return {no_index, std::move(v), std::string{special}};
}

} // namespace troupe
