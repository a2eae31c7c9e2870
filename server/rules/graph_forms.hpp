// graph_forms: graphs and their schemas as clients read them. Pure.
#pragma once

#include <troupe/compiled_graph.hpp>

#include <cstddef>

namespace troupe::server {

/// {nodes, edges}. A graph within the graph is a node, or, up to `levels` deep, its nodes stand in
/// its place, as "NODE:INNER".
/// Order:  nodes as they were added, opened ones at the end; edges by their sources.
/// Source: langchain_core/runnables/graph.py, Graph.to_json, as langgraph-api sends it.
value graph_form(const compiled_graph& graph, std::size_t levels);

/// {input_schema, output_schema, state_schema, config_schema, context_schema}.
value schemas_form(const compiled_graph& graph);

} // namespace troupe::server
