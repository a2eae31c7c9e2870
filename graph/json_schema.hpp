// The state of a graph as JSON Schema; those of inputs and outputs are compiled_graph's.
#pragma once

#include "graph/graph_plan.hpp"

namespace troupe {

/// The schema of all channels of the state, whatever the input and the output show.
/// Shape:  as compiled_graph::output_jsonschema().
/// Source: langgraph/graph/state.py, StateGraph.state_schema.
value state_jsonschema(const graph_plan& plan);

} // namespace troupe
