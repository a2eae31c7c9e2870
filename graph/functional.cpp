// Workflows: a task as a node without edges, an entrypoint as a plan of one node.
#include <troupe/functional.hpp>

#include "graph/code_build.hpp"
#include "graph/graph_plan.hpp"
#include "graph/names.hpp"
#include "graph/policy_rules.hpp"

#include <troupe/limits.hpp>

namespace troupe::detail {

namespace {

error refuse(const char* what, const std::string& name, const std::string& why) {
  return {errc::invalid_graph, std::string{what} + " `" + name.substr(0, 80) + "`: " + why};
}

std::optional<error> find_bad_name(const char* what, const std::string& name) {
  if (name.empty())
    return refuse(what, name, "its name is empty");
  if (name.size() > limits::node_name_bytes_max)
    return refuse(what, name, "its name has more than node_name_bytes_max bytes");
  if (name.find_first_of("|:") != std::string::npos || names::reserved(name) || name == names::start
      || name == names::end)
    return refuse(what, name, "its name is reserved, or has a `|` or `:`");
  return std::nullopt;
}

channel_spec described(channel_spec spec, const value& json) {
  if (!json.empty())
    spec.json = std::make_shared<const value>(json);
  return spec;
}

channel_index add_channel(graph_plan& plan, std::string_view name, const channel_spec& spec,
                          bool state) {
  plan.channels.push_back(
    {.name = std::string{name}, .spec = spec, .state = state, .control = !state, .triggers = {}});
  return static_cast<channel_index>(plan.channels.size() - 1);
}

} // namespace

std::shared_ptr<const plan_node> make_task(std::string name, node_body body, task_options options) {
  if (auto bad = find_bad_name("task", name))
    throw *bad;
  if (auto bad = find_unusable(options.retry_policy, options.timeout, options.cache_policy))
    throw error{errc::invalid_graph, "task `" + name + "`: " + *bad};
  auto node = std::make_shared<plan_node>();
  node->name = std::move(name);
  node->body = std::move(body);
  node->lane = options.lane;
  node->settings = node_settings{.retry = std::move(options.retry_policy),
                                 .timeout = options.timeout,
                                 .cache = std::move(options.cache_policy),
                                 .metadata = std::move(options.metadata)}
                     .shared();
  return node;
}

result<compiled_graph> make_entrypoint(std::string name, node_body body, entrypoint_options options,
                                       workflow_schemas schemas) {
  if (auto bad = find_bad_name("entrypoint", name))
    return *bad;
  if (auto bad = find_unusable(options.retry_policy, options.timeout, options.cache_policy))
    return error{errc::invalid_graph, "entrypoint `" + name + "`: " + *bad};
  auto plan = std::make_shared<graph_plan>();
  plan->functional = plan->single = true;
  plan->exporter = exporting_object::current();
  plan->options.name = name;
  plan->options.checkpointer = std::move(options.checkpointer);
  plan->options.metadata = std::move(options.metadata);
  plan->options.recursion_limit = options.recursion_limit;
  plan->options.store = std::move(options.store);
  plan->options.cache = std::move(options.cache);
  plan->context = {std::move(options.context_schema.json), std::move(options.context_schema.check)};
  plan->start = add_channel(*plan, names::start, plan->own(described(ephemeral, schemas.input)),
                            false);
  auto end = add_channel(*plan, names::end, plan->own(described(last_value, schemas.output)), true);
  add_channel(*plan, names::previous, last_value, false);
  plan->tasks = add_channel(*plan, names::tasks, topic, false);
  plan->input_keys = {plan->start};
  plan->output_keys = plan->stream_keys = {end};
  plan->reacting = {plan->start, plan->tasks};
  plan->nodes.emplace_back().name = names::start; // stands in place 0, and never runs
  auto& node = plan->nodes.emplace_back();
  node.name = std::move(name);
  node.body = std::move(body);
  node.lane = options.lane;
  node.settings = node_settings{.retry = std::move(options.retry_policy),
                                .timeout = options.timeout,
                                .cache = std::move(options.cache_policy)}
                    .shared();
  node.branch = plan->start;
  node.triggers = {plan->start};
  node.reads = {plan->start};
  plan->channels[plan->start].triggers = {1};
  plan->index();
  return compiled_graph{std::shared_ptr<const graph_plan>{std::move(plan)}};
}

} // namespace troupe::detail
