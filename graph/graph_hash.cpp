// The hash of a graph's structure: writes a description of the graph and hashes it.
#include "graph/graph_hash.hpp"

#include "graph/task_id.hpp"

namespace troupe {

namespace {

// Every part is preceded by its length, so no two graphs have the same description.
class description {
public:
  description& add(std::string_view text) {
    text_ += std::to_string(text.size());
    text_ += ':';
    text_ += text;
    return *this;
  }
  description& add(std::uint64_t number) {
    text_ += std::to_string(number);
    text_ += ';';
    return *this;
  }
  template <class C, class F> description& each(const C& items, F&& describe) {
    add(std::uint64_t{items.size()});
    for (const auto& item : items)
      describe(item);
    return *this;
  }
  std::string hash() const { return xxh3_128_hex(text_); }

private:
  std::string text_;
};

void describe(description& to, const plan_channel& channel) {
  const auto& spec = channel.spec;
  to.add(channel.name).add(static_cast<std::uint64_t>(spec.kind)).add(spec.guard);
  to.add(spec.accumulate).add(spec.unique).add(spec.need);
  to.add(static_cast<std::uint64_t>(spec.patience.count()));
  to.add(static_cast<std::uint64_t>(spec.snapshot_frequency)).add(spec.keep_last);
  to.each(spec.names, [&](const std::string& name) { to.add(name); });
  if (spec.definition)
    to.add(spec.definition->name).add(spec.definition->each_step);
}

void describe(description& to, const plan_node& node) {
  auto channel = [&](channel_index c) { to.add(std::uint64_t{c}); };
  to.add(node.name).add(node.defer).add(node.handler).add(node.handles).add(node.branch);
  to.each(node.triggers, channel).each(node.reads, channel);
  to.each(node.writes, [&](const plan_write& w) { to.add(w.channel).add(to_json(w.val)); });
  to.each(node.routes, [&](const plan_route& route) {
    to.add(route.name).add(route.reads.has_value());
    to.each(route.reads.value_or(index_list{}), channel);
    to.each(route.map.entries(), [&](const auto& e) { to.add(e.first).add(e.second); });
  });
  to.add(node.body.graph() ? graph_hash(*node.body.graph()) : std::string{});
  to.each(node.settings->calls,
          [&](const compiled_graph& graph) { to.add(graph_hash(*graph.plan())); });
}

} // namespace

std::string graph_hash(const graph_plan& plan) {
  description out;
  auto channel = [&](channel_index c) { out.add(std::uint64_t{c}); };
  out.add(plan.options.name).add(plan.options.version);
  out.add(static_cast<std::uint64_t>(plan.options.checkpointer.mode()));
  out.each(plan.channels, [&](const plan_channel& c) { describe(out, c); });
  out.each(plan.nodes, [&](const plan_node& n) { describe(out, n); });
  out.each(plan.input_keys, channel).each(plan.output_keys, channel);
  out.add(plan.single).add(plan.functional);
  return out.hash();
}

} // namespace troupe
