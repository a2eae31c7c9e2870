// A graph from its design, with troupe's builder.
#include "tests/fuzz/subject.hpp"

#include <chrono>
#include <exception>

namespace troupe::fuzz {
namespace {

channel_spec spec_of(channel_rule rule) {
  switch (rule) {
    case channel_rule::last: return last_value;
    case channel_rule::any: return any_value;
    case channel_rule::ephemeral: return ephemeral;
    case channel_rule::ephemeral_unguarded: return ephemeral_unguarded;
    case channel_rule::untracked: return untracked;
    case channel_rule::untracked_unguarded: return untracked_unguarded;
    case channel_rule::topic: return topic;
    case channel_rule::topic_accumulating: return topic_accumulating;
    case channel_rule::append: return append;
    case channel_rule::sum: return sum;
    case channel_rule::merge: return merge;
    case channel_rule::maximum: return maximum;
    case channel_rule::delta_append: return delta(append, 3);
  }
  return last_value;
}

schema schema_of_keys(const graph_design& g, const std::vector<std::string>& keys) {
  schema out;
  for (const auto& key : keys)
    out.channels.emplace_back(key, spec_of(g.channel(key)->rule));
  return out;
}

node_output run_node(stage& on, const graph_design& g, const node_design& n, const value& input,
                     context& ctx) {
  node_output out;
  for (auto& p : run_body(g, n, input, on.counts, ctx.task_id(),
                          [&ctx](const value& q) { return ctx.interrupt(q); }))
    if (auto* update = std::get_if<state_update>(&p))
      out.parts.emplace_back(std::move(*update));
    else
      out.parts.emplace_back(std::move(std::get<command>(p)));
  return out;
}

// Waits first, so that tasks neither start nor end in their order.
coro<node_output> run_node_later(stage& on, const graph_design& g, const node_design& n,
                                 value input, context& ctx) {
  if (on.pace == pace::delayed) {
    auto wait = hash_of(ctx.task_id() + n.name) ^ on.seed;
    auto pause = ctx.sleep_for(std::chrono::microseconds{wait % 7 * 150});
    co_await pause;
  }
  co_return run_node(on, g, n, input, ctx);
}

node_body body_of(const graph_design& g, const node_design& n, stage& on) {
  node_body out;
  if (on.pace == pace::coroutine || on.pace == pace::delayed)
    out.coroutine = [&g, &n, &on](const state_view& in, context& ctx) {
      return run_node_later(on, g, n, in.to_value(), ctx);
    };
  else
    out.plain = [&g, &n, &on](const state_view& in, context& ctx) {
      return run_node(on, g, n, in.to_value(), ctx);
    };
  return out;
}

void add_node(state_graph<>& out, const graph_design& g, const node_design& n,
              const std::shared_ptr<const graph_design>& root, stage& on) {
  node_options options;
  options.defer = n.defer;
  if (n.attempts_max > 1)
    options.retry_policy = {.initial_interval = std::chrono::microseconds{1},
                            .max_attempts = n.attempts_max,
                            .jitter = false,
                            .retry_on = {"ValueError"}};
  if (n.inner) {
    out.add_node(n.name, build(*n.inner, root, on), std::move(options));
    return;
  }
  if (!n.reads.empty())
    options.input_schema = schema_of_keys(g, n.reads);
  if (on.pace == pace::blocking)
    options.lane = lane::blocking;
  out.add_node_body(n.name, body_of(g, n, on), std::move(options));
}

void add_route(state_graph<>& out, const graph_design& g, const route_design& r, stage& on) {
  std::vector<std::pair<std::string, std::string>> labels;
  if (r.labelled) {
    for (const auto& n : g.nodes)
      labels.emplace_back(label_of(n.name), n.name);
    labels.emplace_back(label_of(END), END);
  }
  out.add_route(
    r.from,
    [&g, &r, &on](const state_view& in, context& ctx) {
      return run_route(g, r, in.to_value(), on.counts, ctx.task_id());
    },
    std::nullopt, r.labelled ? path_map{labels} : path_map{}, r.name);
}

} // namespace

compiled_graph build(const graph_design& g, const std::shared_ptr<const graph_design>& root,
                     stage& on) {
  schema channels;
  for (const auto& c : g.channels)
    channels.channels.emplace_back(c.name, spec_of(c.rule));
  state_graph<> out{channels};
  if (!g.inputs.empty())
    out.input_schema(schema_of_keys(g, g.inputs));
  if (!g.outputs.empty())
    out.output_schema(schema_of_keys(g, g.outputs));
  for (const auto& n : g.nodes)
    add_node(out, g, n, root, on);
  for (const auto& e : g.edges)
    if (e.from.size() == 1)
      out.add_edge(e.from.front(), e.to);
    else
      out.add_edge(e.from, e.to);
  for (const auto& r : g.routes)
    add_route(out, g, r, on);
  return out.compile({.name = g.name,
                      .interrupt_before = g.before,
                      .interrupt_after = g.after,
                      .checkpointer = g.keeps});
}

} // namespace troupe::fuzz
