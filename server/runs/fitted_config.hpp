// fitted_config: the config of a run, as its graph takes it.
#pragma once

#include "server/rules/records.hpp"

#include <troupe/runtime.hpp>

#include <string>
#include <vector>

namespace troupe::server {

/// The channels that clients see of a run: those of the graph's output schema, or the whole state
/// for a run of the thread protocol; empty where the schema is the whole state.
/// Source: langgraph-api 0.16.7, as recorded.
std::vector<std::string> output_names(const run_record& run, const compiled_graph& graph);

/// config_of() the run with these channels, without the breakpoints at nodes that the graph lacks,
/// which are logged, and without the members that its context lacks: a client's `configurable` is a
/// context, too.
/// Errors: throws those of config_of().
/// Source: langgraph-api 0.16.7, as recorded.
run_config fitted_config(const run_record& run, const compiled_graph& graph);

} // namespace troupe::server
