// fitted_config: what a client may ask of any graph, and this one lacks.
#include "server/runs/fitted_config.hpp"

#include "actors/log.hpp"
#include "graph/graph_plan.hpp"
#include "server/rules/run_request.hpp"

#include <algorithm>

namespace troupe::server {

namespace {

void drop_unknown_breakpoints(const compiled_graph& graph, run_config& config) {
  const auto& plan = *graph.plan();
  for (auto* list : {&config.interrupt_before, &config.interrupt_after})
    std::erase_if(*list, [&](const std::string& name) {
      if (auto n = plan.find_node(name); name == "*" || (n != no_index && !plan.nodes[n].handles))
        return false;
      log_warning("run " + config.run_id + ": its breakpoint is ignored, since graph `"
                  + graph.name() + "` has no node " + to_json(name));
      return true;
    });
}

void drop_unknown_context(const compiled_graph& graph, run_config& config) {
  const auto& schema = graph.plan()->context.json;
  const auto& known = schema["properties"];
  const auto& others = schema["additionalProperties"];
  if (!known.is_map() || !config.context.is_map() || !(others.is_null() || others == value(false)))
    return;
  auto given = config.context;
  for (const auto& e : given.entries())
    if (!known.contains(e.key()))
      config.context = config.context.without(e.key());
}

} // namespace

std::vector<std::string> output_names(const run_record& run, const compiled_graph& graph) {
  const auto& plan = *graph.plan();
  std::vector<std::string> out;
  if (plan.single || std::ranges::equal(plan.output_keys, plan.stream_keys))
    return out;
  for (auto c : run.flag("whole_state") ? plan.stream_keys : plan.output_keys)
    out.push_back(plan.channels[c].name);
  return out;
}

run_config fitted_config(const run_record& run, const compiled_graph& graph) {
  auto out = config_of(run);
  out.output_keys = output_names(run, graph);
  drop_unknown_breakpoints(graph, out);
  drop_unknown_context(graph, out);
  return out;
}

} // namespace troupe::server
