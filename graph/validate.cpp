// Checks of the whole graph. The first mistake counts, in the reference's order.
#include "graph/graph_spec.hpp"
#include "graph/names.hpp"
#include "graph/policy_rules.hpp"

#include <algorithm>

namespace troupe {
namespace {

using mistake = std::optional<error>;

mistake found(std::string text) {
  return error{errc::invalid_graph, std::move(text)};
}

// ---- policies of nodes ----------------------------------------------------------------------

mistake find_unusable_policy(const graph_spec& spec) {
  const auto& all = spec.defaults;
  if (auto unusable = find_unusable(all.retry_policy, all.timeout, all.cache_policy))
    return found("node_defaults: " + *unusable);
  for (const auto& n : spec.nodes) {
    const auto& o = n.options;
    if (auto unusable = find_unusable(o.retry_policy, o.timeout, o.cache_policy))
      return found("node `" + n.name + "`: " + *unusable);
    if (o.circuit_breaker.given() && o.circuit_breaker.open_for.count() <= 0)
      return found("node `" + n.name + "`: circuit_breaker.open_for must be positive");
    if (o.rate_limit.given() && o.rate_limit.per.count() < o.rate_limit.permits)
      return found("node `" + n.name + "`: rate_limit.per must be at least a nanosecond a permit");
  }
  return std::nullopt;
}

// ---- where edges start ----------------------------------------------------------------------

mistake unknown_source(const graph_spec& spec, const std::string& from) {
  if (from == names::start || spec.has_node(from))
    return std::nullopt;
  return found("Found edge starting at unknown node '" + from + "'");
}

mistake find_unknown_source(const graph_spec& spec) {
  for (const auto& e : spec.edges)
    if (auto wrong = unknown_source(spec, e.from))
      return wrong;
  for (const auto& r : spec.routes)
    if (auto wrong = unknown_source(spec, r.from))
      return wrong;
  return std::nullopt; // joins were checked when they were added
}

mistake find_no_entrypoint(const graph_spec& spec) {
  auto starts = [](const auto& e) { return e.from == names::start; };
  if (std::ranges::any_of(spec.edges, starts) || std::ranges::any_of(spec.routes, starts)
      || !spec.subscriptions.empty())
    return std::nullopt;
  return found("Graph must have an entrypoint: add at least one edge from START to another node");
}

// ---- where they end -------------------------------------------------------------------------

bool known_target(const graph_spec& spec, const std::string& to) {
  return to == names::end || spec.has_node(to);
}

mistake find_unknown_route_target(const graph_spec& spec) {
  for (const auto& r : spec.routes)
    for (const auto& [label, to] : r.map.entries())
      if (!known_target(spec, to))
        return found("At '" + r.from + "' node, '" + r.name + "' branch found unknown target '" + to
                     + "'");
  return std::nullopt;
}

mistake unknown_target(const graph_spec& spec, const std::string& to) {
  if (known_target(spec, to))
    return std::nullopt;
  return found("Found edge ending at unknown node `" + to + "`");
}

mistake find_unknown_edge_target(const graph_spec& spec) {
  for (const auto& e : spec.edges)
    if (auto wrong = unknown_target(spec, e.to))
      return wrong;
  for (const auto& n : spec.nodes)
    for (const auto& to : n.options.destinations)
      if (auto wrong = unknown_target(spec, to))
        return wrong;
  return std::nullopt;
}

// ---- breakpoints ----------------------------------------------------------------------------

mistake find_unknown_breakpoint(const graph_spec& spec, const std::vector<std::string>& nodes) {
  for (const auto& name : nodes)
    if (name != "*" && !spec.has_node(name))
      return found("Interrupt node `" + name + "` not found");
  return std::nullopt;
}

} // namespace

std::optional<error> find_mistake(const graph_spec& spec, const compile_options& options) {
  if (auto wrong = find_unknown_source(spec))
    return wrong;
  if (auto wrong = find_no_entrypoint(spec))
    return wrong;
  if (options.recursion_limit == 0)
    return error{errc::invalid_graph, "compile: recursion_limit must be at least 1"};
  if (auto wrong = find_unusable_policy(spec))
    return wrong;
  if (auto wrong = find_unknown_route_target(spec))
    return wrong;
  if (auto wrong = find_unknown_edge_target(spec))
    return wrong;
  if (auto wrong = find_unknown_breakpoint(spec, options.interrupt_before))
    return wrong;
  return find_unknown_breakpoint(spec, options.interrupt_after);
}

} // namespace troupe
