// The compiler: from a checked collection of names to a plan of indices.
//
// Invariants:
//  - Every step is linear in what was added, look-ups by name aside.
//  - Channels of the plan stand in the order of spec/engine.md section 4.1; node 0 is START, the
//    node at place i of the builder is node i + 1.
#include "graph/graph_plan.hpp"
#include "graph/graph_spec.hpp"
#include "graph/names.hpp"

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace troupe {
namespace {

using indices = std::vector<channel_index>;

constexpr node_index end_node = no_index - 1; // END is no node of the plan

// In one allocation of the size that is needed: plans are kept in large numbers.
std::string concat(std::initializer_list<std::string_view> parts) {
  std::size_t size = 0;
  for (auto p : parts)
    size += p.size();
  std::string out;
  out.reserve(size);
  for (auto p : parts)
    out += p;
  return out;
}

std::string join_name(const join_spec& join) {
  std::string from;
  for (const auto& name : join.from)
    from += (from.empty() ? "" : "+") + name;
  return concat({names::join_prefix, from, ":", join.to});
}

class compiler {
public:
  compiler(const graph_spec& spec, compile_options options)
    : spec_{spec},
      plan_{std::make_shared<graph_plan>()} {
    plan_->options = std::move(options);
  }

  result<std::shared_ptr<const graph_plan>> run() {
    add_channels();
    add_nodes();
    add_edges();
    if (auto collision = add_joins())
      return *std::move(collision);
    add_routes();
    finish_nodes();
    list_channels();
    add_warnings();
    shrink();
    plan_->index();
    return std::shared_ptr<const graph_plan>{std::move(plan_)};
  }

private:
  // ---- channels -----------------------------------------------------------------------------

  channel_index add_channel(std::string name, channel_spec spec, bool state = false) {
    auto i = static_cast<channel_index>(plan_->channels.size());
    plan_->channels.push_back({.name = std::move(name),
                               .spec = std::move(spec),
                               .state = state,
                               .control = !state,
                               .triggers = {}});
    return i;
  }

  void add_channels() {
    plan_->channels.reserve(spec_.channels.size() + 2 + spec_.nodes.size() + spec_.joins.size());
    channel_at_.resize(spec_.channels.size());
    add_state_channels(false);
    add_state_channels(true); // managed ones behind the others, as in the reference
    plan_->start = add_channel(std::string{names::start}, ephemeral);
    plan_->tasks = add_channel(std::string{names::tasks}, topic);
    state_keys_ = places(spec_.state);
  }

  void add_state_channels(bool managed) {
    for (std::size_t i = 0; i < spec_.channels.size(); ++i)
      if (const auto& [name, channel] = spec_.channels[i]; channel.managed() == managed)
        channel_at_[i] = add_channel(name, channel, true);
  }

  indices places(const schema& keys) const {
    indices out;
    out.reserve(keys.channels.size());
    for (const auto& [key, channel] : keys.channels)
      out.push_back(channel_at_[spec_.channel_at.find(key)->second]);
    return out;
  }

  indices unmanaged(indices keys) const {
    std::erase_if(keys, [this](channel_index c) { return plan_->channels[c].spec.managed(); });
    return keys;
  }

  // ---- nodes --------------------------------------------------------------------------------

  void add_nodes() {
    plan_->nodes.reserve(spec_.nodes.size() + 1);
    auto& start = plan_->nodes.emplace_back();
    start.name = names::start;
    start.branch = plan_->start;
    start.triggers = {plan_->start};
    plan_->channels[plan_->start].triggers = {0};
    for (const auto& n : spec_.nodes)
      add_node(n);
  }

  void add_node(const node_spec& n) {
    auto i = static_cast<node_index>(plan_->nodes.size());
    channel_spec kind{.kind = n.options.defer ? channel_kind::last_value_after_finish
                                              : channel_kind::ephemeral,
                      .guard = false};
    auto branch = add_channel(concat({names::branch_prefix, n.name}), std::move(kind));
    plan_->channels[branch].triggers = {i};
    auto& node = plan_->nodes.emplace_back();
    node.name = n.name;
    node.body = n.body;
    node.lane = n.options.lane;
    node.defer = n.options.defer;
    node.metadata = n.options.metadata;
    node.destinations = n.options.destinations;
    node.branch = branch;
    node.triggers = {branch};
    node.reads = n.options.input ? places(*n.options.input) : state_keys_;
  }

  // The place in the plan of a name that was checked.
  node_index place(std::string_view name) const {
    if (name == names::start)
      return 0;
    if (name == names::end)
      return end_node;
    return spec_.node_at.find(name)->second + 1;
  }

  // ---- edges --------------------------------------------------------------------------------

  void add_edges() {
    std::unordered_set<std::uint64_t> known;
    known.reserve(spec_.edges.size());
    for (const auto& e : spec_.edges) {
      auto from = place(e.from);
      auto to = place(e.to);
      if (to != end_node && known.insert(std::uint64_t{from} << 32 | to).second)
        plan_->nodes[from].writes.push_back({plan_->nodes[to].branch, {}});
    }
  }

  std::optional<error> add_joins() {
    std::unordered_map<std::string, const join_spec*> known;
    for (const auto& j : spec_.joins) {
      if (j.to == names::end)
        continue;
      auto name = join_name(j);
      auto [at, is_new] = known.try_emplace(name, &j);
      if (is_new)
        add_join(std::move(name), j);
      else if (at->second->from != j.from || at->second->to != j.to)
        return error{errc::invalid_graph,
                     "compile a graph: two edges would share a channel: `" + name + "`"};
    }
    return std::nullopt;
  }

  void add_join(std::string name, const join_spec& j) {
    auto to = place(j.to);
    auto waited_for = j.from;
    std::ranges::sort(waited_for);
    waited_for.erase(std::unique(waited_for.begin(), waited_for.end()), waited_for.end());
    auto kind = plan_->nodes[to].defer ? channel_kind::named_barrier_after_finish
                                       : channel_kind::named_barrier;
    auto channel = add_channel(std::move(name), {.kind = kind, .names = std::move(waited_for)});
    plan_->channels[channel].triggers = {to};
    plan_->nodes[to].triggers.push_back(channel);
    for (const auto& from : j.from)
      plan_->nodes[place(from)].writes.push_back({channel, from});
  }

  void add_routes() {
    for (const auto& r : spec_.routes) {
      std::optional<indices> reads;
      if (r.reads)
        reads = places(*r.reads);
      else if (r.from == names::start) // START itself reads nothing
        reads = state_keys_;
      plan_->nodes[place(r.from)].routes.push_back({r.name, r.body, std::move(reads), r.map});
    }
  }

  // ---- what follows from it -----------------------------------------------------------------

  void finish_nodes() {
    for (auto& n : plan_->nodes) {
      std::ranges::sort(n.triggers, {}, [this](channel_index c) -> std::string_view {
        return plan_->channels[c].name;
      });
      n.pull_suffix = pull_suffix(n);
    }
  }

  std::string pull_suffix(const plan_node& n) const {
    std::size_t size = n.name.size() + names::pull.size();
    for (auto c : n.triggers)
      size += plan_->channels[c].name.size();
    std::string out;
    out.reserve(size);
    out.append(n.name).append(names::pull);
    for (auto c : n.triggers)
      out += plan_->channels[c].name;
    return out;
  }

  void list_channels() {
    plan_->input_keys = unmanaged(places(spec_.input_schema()));
    plan_->output_keys = unmanaged(places(spec_.output_schema()));
    plan_->single = spec_.state.channels.size() == 1
                    && spec_.state.channels[0].first == names::root;
    for (channel_index c = 0; c < plan_->channels.size(); ++c) {
      const auto& channel = plan_->channels[c];
      if (channel.state && !channel.spec.managed())
        plan_->stream_keys.push_back(c);
      if (reacts_to_silence(channel.spec))
        plan_->reacting.push_back(c);
      if (waits_for_finish(channel.spec.kind))
        plan_->finishing.push_back(c);
    }
  }

  void add_warnings() {
    for (const auto& n : plan_->nodes)
      if (!n.destinations.empty() && !n.writes.empty())
        plan_->warnings.push_back(
          concat({"Node `", n.name,
                  "` has both destinations and edges: the edges are taken besides what its "
                  "commands say. Remove the edges if its commands decide alone."}));
  }

  void shrink() {
    plan_->channels.shrink_to_fit();
    plan_->stream_keys.shrink_to_fit();
    plan_->input_keys.shrink_to_fit();
    plan_->output_keys.shrink_to_fit();
    plan_->reacting.shrink_to_fit();
    plan_->finishing.shrink_to_fit();
    for (auto& n : plan_->nodes) {
      n.triggers.shrink_to_fit();
      n.writes.shrink_to_fit();
      n.routes.shrink_to_fit();
    }
  }

  const graph_spec& spec_;
  std::shared_ptr<graph_plan> plan_;
  indices channel_at_; // the plan's channel for each of spec_.channels
  indices state_keys_;
};

} // namespace

result<std::shared_ptr<const graph_plan>> compile_graph(const graph_spec& spec,
                                                        compile_options options) {
  if (auto wrong = find_mistake(spec, options))
    return *std::move(wrong);
  return compiler{spec, std::move(options)}.run();
}

} // namespace troupe
