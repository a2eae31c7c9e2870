// The features of a plan, from its text.
#include "tests/fuzz/plan.hpp"

#include <algorithm>

namespace troupe::fuzz {
namespace {

void add(coverage& out, std::optional<feature> f) {
  if (f)
    out.saw(*f);
}

std::optional<feature> feature_of(channel_rule rule) {
  switch (rule) {
    case channel_rule::last:
    case channel_rule::any: return std::nullopt;
    case channel_rule::ephemeral:
    case channel_rule::ephemeral_unguarded: return feature::ephemeral_channels;
    case channel_rule::untracked:
    case channel_rule::untracked_unguarded: return feature::untracked_channels;
    case channel_rule::topic:
    case channel_rule::topic_accumulating: return feature::topics;
    case channel_rule::delta_append: return feature::delta_channels;
    default: return feature::reducers;
  }
}

std::optional<feature> feature_of(const call& c) {
  switch (c.kind) {
    case call_kind::go_on: return feature::go_on;
    case call_kind::command: return feature::commands_as_input;
    case call_kind::update: return feature::updates;
    case call_kind::clear: return feature::clears;
    case call_kind::input_update: return feature::input_updates;
    case call_kind::copy: return feature::copies;
    case call_kind::look: return feature::looks_back;
    case call_kind::invoke:
    case call_kind::answer: return std::nullopt;
    case call_kind::answer_by_id: break;
  }
  return c.strict ? std::nullopt : std::optional{feature::lenient_answers};
}

feature feature_of(durability d) {
  return d == durability::sync    ? feature::durability_sync
         : d == durability::async ? feature::durability_async
                                  : feature::durability_exit;
}

feature feature_of(pace p) {
  switch (p) {
    case pace::plain: return feature::plain_bodies;
    case pace::blocking: return feature::blocking_bodies;
    case pace::coroutine: return feature::coroutine_bodies;
    case pace::delayed: break;
  }
  return feature::delayed_bodies;
}

void add_channels(coverage& out, const graph_design& g) {
  for (const auto& c : g.channels)
    add(out, feature_of(c.rule));
  for (const auto& n : g.nodes)
    for (const auto& variant : n.body.variants)
      for (const auto& p : variant)
        if (std::any_of(p.writes.begin(), p.writes.end(), [](auto& w) { return w.overwrite; }))
          out.saw(feature::overwrites);
}

void add_graph(coverage& out, const graph_design& g) {
  add_channels(out, g);
  if (std::any_of(g.routes.begin(), g.routes.end(), [](const auto& r) { return r.fails != 0; }))
    out.saw(feature::failing_routes);
  if (!g.inputs.empty())
    out.saw(feature::input_schemas);
  if (!g.outputs.empty())
    out.saw(feature::output_schemas);
  for (const auto& n : g.nodes)
    if (n.inner)
      add_graph(out, *n.inner);
}

} // namespace

coverage coverage_of(const plan& p) {
  coverage out;
  add_graph(out, *p.graph);
  for (const auto& c : p.calls) {
    add(out, feature_of(c));
    out.saw(feature_of(c.durability));
  }
  out.saw(p.kept == keeper::lmdb ? feature::lmdb_saver : feature::memory_saver);
  out.saw(feature_of(p.pace));
  return out;
}

} // namespace troupe::fuzz
