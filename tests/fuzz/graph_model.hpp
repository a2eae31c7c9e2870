// A graph as the interpreter sees it: channels, nodes with triggers and writers.
#pragma once

#include "tests/fuzz/cell.hpp"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace troupe::fuzz {

inline const std::string tasks_channel = "__pregel_tasks";
inline const std::string input_task = "__input__";
inline const std::string interrupt_key = "__interrupt__";
inline const std::string push_trigger = "__pregel_push";
inline const std::string no_writes = "__no_writes__";

std::string branch_to(const std::string& node);

struct graph_model;

/// A node, START among them.
struct node_model {
  std::string name;
  const node_design* design = nullptr; // null for START
  std::shared_ptr<const graph_model> inner = nullptr;
  std::vector<std::string> triggers = {}; // sorted
  std::vector<std::string> reads = {};    // keys of its input
  std::vector<std::string> writes = {};   // keys its updates may write
  std::vector<std::string> edges = {};    // nodes
  std::vector<std::string> joins = {};    // channels
  std::vector<const route_design*> routes = {};
};

struct graph_model {
  explicit graph_model(std::shared_ptr<const graph_design> g);
  graph_model(const graph_model&) = delete;
  graph_model& operator=(const graph_model&) = delete;

  const node_model* node(const std::string& name) const;
  std::size_t place(const std::string& channel) const; // channels.size() when it is missing

  std::shared_ptr<const graph_design> design;
  std::vector<std::pair<std::string, cell_rule>> channels; // in the order of declaration
  std::vector<node_model> nodes;                           // START first
  std::map<std::string, std::set<std::string>> triggered;  // channel -> nodes
  std::vector<std::string> keys;                           // of the state
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  bool has_delta = false;
};

} // namespace troupe::fuzz
