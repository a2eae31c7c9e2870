// What a graph looks like, as one short text: two processes that give the same have the same graph.
#pragma once

#include "graph/graph_plan.hpp"

#include <string>

namespace troupe {

/// Of names, channels and their kinds, nodes, edges, routes and the graphs within it; not of code,
/// which nothing can compare: a graph whose code changed says so with another
/// compile_options::version.
/// Shape:  32 hex digits, the same in every process and on every machine.
/// Cost:   as large as the graph; not for a step.
/// Source: troupe.
std::string graph_hash(const graph_plan& plan);

} // namespace troupe
