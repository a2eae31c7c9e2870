// The input and output of a graph as JSON Schema.
#include "graph/json_schema.hpp"

#include <troupe/json_schema.hpp>

namespace troupe {

namespace {

value message_schema() {
  return {{"title", "message"},
          {"type", "object"},
          {"properties", value::map({{"role", value{{"type", "string"}}},
                                     {"content", value::map()},
                                     {"id", value::map()}})},
          {"required", value::list({"role", "content"})}};
}

value list_of(value items) {
  return {{"type", "array"}, {"items", std::move(items)}};
}

// The schema that follows from the kind of a channel.
value schema_of_kind(const channel_spec& spec) {
  if (spec.json)
    return *spec.json;
  auto is = [&spec](const channel_spec& other) {
    return spec.op && other.op && spec.op->name == other.op->name;
  };
  if (is(add_messages) || (spec.batch && spec.batch->messages))
    return list_of(message_schema());
  if (is(append) || spec.kind == channel_kind::topic)
    return {{"type", "array"}};
  if (is(merge))
    return {{"type", "object"}};
  if (is(multiply))
    return {{"type", "number"}};
  return value::map();
}

value object_of(const graph_plan& plan, const index_list& keys, const char* what) {
  if (plan.single && keys.size() == 1)
    return schema_of_kind(plan.channels[keys[0]].spec);
  std::vector<value::map_init> members;
  for (auto c : keys)
    members.emplace_back(plan.channels[c].name, schema_of_kind(plan.channels[c].spec));
  return {{"title", plan.options.name + "_" + what},
          {"type", "object"},
          {"properties", value::map(std::move(members))}};
}

} // namespace

value compiled_graph::input_jsonschema() const {
  return object_of(*plan_, plan_->input_keys, "input");
}

value compiled_graph::output_jsonschema() const {
  return object_of(*plan_, plan_->output_keys, "output");
}

value state_jsonschema(const graph_plan& plan) {
  return object_of(plan, plan.stream_keys, "state");
}

value compiled_graph::context_jsonschema() const {
  return plan_->context.json;
}

} // namespace troupe
