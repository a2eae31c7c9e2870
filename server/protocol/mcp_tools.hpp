// mcp_tools: assistants as tools of MCP: their definitions, inputs and results. Pure.
#pragma once

#include "server/rules/records.hpp"
#include "server/runs/event_log.hpp"

#include <troupe/compiled_graph.hpp>

#include <string>
#include <vector>

namespace troupe::server {

struct assistant_and_graph {
  assistant_record assistant;
  compiled_graph graph;
};

/// An assistant as a tool.
struct assistant_tool {
  assistant_record assistant;
  value definition;     ///< as tools/list shows it
  bool talks = false;   ///< its argument `messages` is one text of the user
  bool is_whole = true; ///< the arguments are the input; else only their member `input`
};

/// A tool for each assistant. Its name is the assistant's, with `_` for characters that MCP
/// refuses. An assistant whose tool has the name of an earlier one gets a part of its id, too.
/// Order:  as given.
/// Source: langgraph-api, /mcp, tools/list.
std::vector<assistant_tool> tools_of(const std::vector<assistant_and_graph>& assistants);

/// The input of a call's run.
value input_of_call(const assistant_tool& tool, const value& arguments);

/// The output of a run, of its events in mode values.
/// Shape:  as run_outcome's: with `__interrupt__` for a paused run, {"__error__": …} for a failed
///         one; null without any event of a state.
/// Source: langgraph-api, /runs/wait.
class output_of_events {
public:
  void take(const run_event& event);
  value output() const;

private:
  void take_values(const std::string& json);

  std::string values_; // JSON, without questions
  std::vector<value> questions_;
  std::string error_; // JSON
};

/// The result of a call whose run has ended: the output as Python's text, or the name of its error.
/// Source: langgraph-api, /mcp, tools/call.
value result_of_call(const value& output);

} // namespace troupe::server
