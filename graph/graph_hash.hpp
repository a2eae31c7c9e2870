// The hash of a graph's structure as a short text: two processes with the same text have the same
// graph.
#pragma once

#include "graph/graph_plan.hpp"

#include <string>

namespace troupe {

/// The hash covers names, channels and their kinds, nodes, edges, routes and the graphs within. It
/// does not cover code, which cannot be compared: a graph whose code changed shows that by another
/// compile_options::version.
/// Shape:  32 hex digits, the same in every process and on every machine.
/// Cost:   proportional to the graph; too slow for each step.
/// Source: troupe.
std::string graph_hash(const graph_plan& plan);

} // namespace troupe
