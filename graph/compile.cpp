// The compiler: from a checked collection of names to a plan of indices.
//
// Invariants:
//  - Every step is linear in the size of the graph, apart from look-ups by name.
//  - Channels of the plan stand in the reference's order of declaration. Node 0 is START; the node
//    at place i of the builder is node i + 1.
#include "graph/code_build.hpp"
#include "graph/graph_plan.hpp"
#include "graph/graph_spec.hpp"
#include "graph/names.hpp"
#include "graph/node_guard.hpp"

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace troupe {
namespace {

constexpr node_index end_node = no_index - 1; // END is not a node of the plan

// The channel of the edges into a node that is deferred.
const channel_spec& late_branch() {
  static const channel_spec spec{.kind = channel_kind::last_value_after_finish, .guard = false};
  return spec;
}

// Joins the parts in one allocation of exactly the needed size: plans are kept in large numbers.
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

std::shared_ptr<node_guard> make_guard(const node_options& options) {
  if (!options.circuit_breaker.given() && !options.rate_limit.given())
    return nullptr;
  return std::make_shared<node_guard>(options.circuit_breaker, options.rate_limit);
}

class compiler {
public:
  compiler(const graph_spec& spec, compile_options options)
    : spec_{spec},
      plan_{std::make_shared<graph_plan>()} {
    plan_->options = std::move(options);
    plan_->exporter = exporting_object::current();
  }

  result<std::shared_ptr<const graph_plan>> run() {
    add_channels();
    add_nodes();
    add_edges();
    if (auto collision = add_joins())
      return *std::move(collision);
    add_subscriptions();
    add_routes();
    sort_triggers();
    list_channels();
    add_warnings();
    find_graphs_per_thread();
    warn_of_unshared_graphs();
    if (auto unreached = find_unreached())
      return *std::move(unreached);
    shrink();
    plan_->index();
    return std::shared_ptr<const graph_plan>{std::move(plan_)};
  }

private:
  // ---- channels -----------------------------------------------------------------------------

  channel_index add_channel(std::string name, const channel_spec& spec, bool state = false) {
    auto i = static_cast<channel_index>(plan_->channels.size());
    plan_->channels.push_back(
      {.name = std::move(name), .spec = spec, .state = state, .control = !state, .triggers = {}});
    return i;
  }

  void add_channels() {
    plan_->channels.reserve(spec_.channels.size() + 2 + spec_.nodes.size() + spec_.joins.size());
    channel_at_.resize(spec_.channels.size());
    add_state_channels(false);
    add_state_channels(true); // managed ones after the others, as in the reference
    plan_->start = add_channel(std::string{names::start}, ephemeral);
    plan_->tasks = add_channel(std::string{names::tasks}, topic);
    state_keys_ = places(spec_.state);
  }

  void add_state_channels(bool managed) {
    for (std::size_t i = 0; i < spec_.channels.size(); ++i)
      if (const auto& [name, channel] = spec_.channels[i]; channel.managed() == managed)
        channel_at_[i] = add_channel(name, plan_->own(channel), true);
  }

  index_list places(const schema& keys) const {
    index_list out;
    for (const auto& [key, channel] : keys.channels)
      out.push_back(channel_at_[spec_.channel_at.find(key)->second]);
    return out;
  }

  index_list unmanaged(const index_list& keys) const {
    index_list out;
    for (auto c : keys)
      if (!plan_->channels[c].spec.managed())
        out.push_back(c);
    return out;
  }

  // ---- nodes --------------------------------------------------------------------------------

  void add_nodes() {
    auto handlers = std::count_if(spec_.nodes.begin(), spec_.nodes.end(),
                                  [](const node_spec& n) { return bool{n.options.error_handler}; });
    plan_->nodes.reserve(1 + spec_.nodes.size() + static_cast<std::size_t>(handlers)
                         + (spec_.defaults.error_handler ? 1 : 0));
    place_.reserve(spec_.nodes.size());
    auto& start = plan_->nodes.emplace_back();
    start.name = names::start;
    start.branch = plan_->start;
    start.triggers = {plan_->start};
    plan_->channels[plan_->start].triggers = {0};
    for (const auto& n : spec_.nodes) {
      node_index handler = no_index;
      if (n.options.error_handler)
        handler = add_handler(concat({names::error_handler_prefix, n.name}),
                              n.options.error_handler, n.options.lane);
      place_.push_back(add_node(n, handler));
    }
    if (spec_.defaults.error_handler) {
      auto handler = add_handler(std::string{names::default_error_handler},
                                 spec_.defaults.error_handler);
      for (auto i : place_)
        if (plan_->nodes[i].handler == no_index)
          plan_->nodes[i].handler = handler;
    }
  }

  plan_node& add_plan_node(std::string name, bool defer) {
    auto i = static_cast<node_index>(plan_->nodes.size());
    auto branch = add_channel(concat({names::branch_prefix, name}),
                              defer ? late_branch() : ephemeral_unguarded);
    plan_->channels[branch].triggers = {i};
    auto& node = plan_->nodes.emplace_back();
    node.name = std::move(name);
    node.defer = defer;
    node.branch = branch;
    node.triggers = {branch};
    return node;
  }

  node_index add_node(const node_spec& n, node_index handler) {
    auto& node = add_plan_node(n.name, n.options.defer);
    node.body = n.body;
    node.lane = n.options.lane;
    const auto& defaults = spec_.defaults;
    node.settings =
      node_settings{
        .retry = n.options.retry_policy.given() ? n.options.retry_policy : defaults.retry_policy,
        .timeout = n.options.timeout.given() ? n.options.timeout : defaults.timeout,
        .cache = n.options.cache_policy.given ? n.options.cache_policy : defaults.cache_policy,
        .metadata = n.options.metadata,
        .placement = n.options.placement,
        .destinations = n.options.destinations,
        .calls = n.options.calls,
        .guard = make_guard(n.options)}
        .shared();
    node.handler = handler;
    node.graph_state = n.options.graph_state;
    node.reads = n.options.input_schema ? places(*n.options.input_schema) : state_keys_;
    return static_cast<node_index>(plan_->nodes.size() - 1);
  }

  // An error handler reads no channels: its task gets the input of the failed node.
  node_index add_handler(std::string name, const any_body& body, lane runs_on = lane::standard) {
    auto& node = add_plan_node(std::move(name), false);
    node.body = body.get();
    node.settings = node_settings{.retry = spec_.defaults.retry_policy,
                                  .timeout = spec_.defaults.timeout}
                      .shared();
    node.handles = true;
    node.lane = runs_on;
    return static_cast<node_index>(plan_->nodes.size() - 1);
  }

  // The place in the plan of a name that was checked before.
  node_index place(std::string_view name) const {
    if (name == names::start)
      return 0;
    if (name == names::end)
      return end_node;
    return place_[spec_.node_at.find(name)->second];
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
      else if (at->second->from != j.from || at->second->to != j.to || at->second->how != j.how)
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
    auto kind = !j.waits_for_all()       ? channel_kind::named_quorum
                : plan_->nodes[to].defer ? channel_kind::named_barrier_after_finish
                                         : channel_kind::named_barrier;
    auto need = j.how.need == 0 ? waited_for.size() : j.how.need;
    auto channel = add_channel(
      std::move(name),
      plan_->own(
        {.kind = kind, .names = std::move(waited_for), .need = need, .patience = j.how.timeout}));
    plan_->channels[channel].triggers = {to};
    plan_->nodes[to].triggers.push_back(channel);
    for (const auto& from : j.from)
      plan_->nodes[place(from)].writes.push_back({channel, from});
  }

  void add_subscriptions() {
    for (const auto& s : spec_.subscriptions) {
      auto node = place(s.node);
      auto channel = channel_at_[spec_.channel_at.find(s.channel)->second];
      plan_->channels[channel].triggers.push_back(node);
      plan_->nodes[node].triggers.push_back(channel);
    }
  }

  void add_routes() {
    for (const auto& r : spec_.routes) {
      std::optional<index_list> reads;
      if (r.reads)
        reads = places(*r.reads);
      else if (r.from == names::start) // START itself reads nothing
        reads = state_keys_;
      plan_->nodes[place(r.from)].routes.push_back({r.name, r.body, std::move(reads), r.map});
    }
  }

  // ---- what follows from it -----------------------------------------------------------------

  void sort_triggers() {
    for (auto& n : plan_->nodes)
      std::ranges::sort(n.triggers, {}, [this](channel_index c) -> std::string_view {
        return plan_->channels[c].name;
      });
  }

  void list_channels() {
    plan_->context = spec_.context;
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
      if (waits_for_finish(channel.spec))
        plan_->finishing.push_back(c);
      if (channel.spec.kind == channel_kind::named_quorum && channel.spec.patience.count() > 0)
        plan_->patient.push_back(c);
    }
  }

  void add_warnings() {
    for (const auto& n : plan_->nodes)
      if (!n.settings->destinations.empty() && !n.writes.empty())
        plan_->warnings.push_back(
          concat({"Node `", n.name,
                  "` has both destinations and edges: its edges are followed in addition to its "
                  "commands. Remove the edges if its commands alone decide."}));
  }

  void find_graphs_per_thread() {
    plan_->per_thread = std::ranges::any_of(plan_->nodes, [](const plan_node& n) {
      return n.body.graph()
             && n.body.graph()->options.checkpointer.mode() == checkpointing::per_thread;
    });
  }

  // Warns of graphs as nodes that get nothing of the state and give nothing to it.
  void warn_of_unshared_graphs() {
    for (const auto& n : plan_->nodes)
      if (n.body.graph() && !plan_->single && !n.body.graph()->single
          && !shares_keys(n, *n.body.graph()))
        plan_->warnings.push_back(
          concat({"Node `", n.name, "` is graph `", n.body.graph()->options.name,
                  "`, which has no key of this graph's state: it gets no input, and its output is ",
                  "dropped. Give both states a key of one name, or call the graph in a body."}));
  }

  bool shares_keys(const plan_node& node, const graph_plan& inner) const {
    auto named = [&inner](const index_list& keys, const std::string& name) {
      return std::ranges::any_of(keys,
                                 [&](channel_index c) { return inner.channels[c].name == name; });
    };
    return std::ranges::any_of(node.reads,
                               [&](channel_index c) {
                                 return named(inner.input_keys, plan_->channels[c].name);
                               })
           || std::ranges::any_of(plan_->stream_keys, [&](channel_index c) {
                return named(inner.output_keys, plan_->channels[c].name);
              });
  }

  // The nodes that edges, routes, subscriptions and destinations lead to. A route without a path
  // map leads anywhere: then nullopt.
  std::optional<std::vector<bool>> reached_nodes() const {
    std::vector<bool> reached(plan_->nodes.size());
    std::vector<node_index> open{0};
    for (const auto& s : spec_.subscriptions)
      open.push_back(place(s.node));
    for (auto n : open)
      reached[n] = true;
    while (!open.empty()) {
      auto n = open.back();
      open.pop_back();
      auto reach = [&](node_index to) {
        if (to != end_node && to != no_index && !reached[to]) {
          reached[to] = true;
          open.push_back(to);
        }
      };
      const auto& node = plan_->nodes[n];
      for (const auto& w : node.writes)
        for (auto to : plan_->channels[w.channel].triggers)
          reach(to);
      if (leads_anywhere(node))
        return std::nullopt;
      for (const auto& r : node.routes)
        for (const auto& [label, to] : r.map.entries())
          reach(place(to));
      for (const auto& to : node.settings->destinations)
        if (spec_.has_node(to))
          reach(place(to));
    }
    return reached;
  }

  // Warns of nodes that nothing leads to; of those that a join waits for, with the join.
  std::optional<error> find_unreached() {
    auto reached = reached_nodes();
    if (!reached)
      return std::nullopt;
    std::set<std::string_view> named;
    for (const auto& j : spec_.joins)
      for (const auto& from : j.from)
        if (j.to != names::end && !(*reached)[place(from)]) {
          named.insert(from);
          plan_->warnings.push_back(
            concat({"The join into `", j.to, "` waits for `", from, "`, which no edge leads to."}));
        }
    if (has_handlers())
      return std::nullopt;
    for (const auto& n : spec_.nodes) {
      if ((*reached)[place(n.name)])
        continue;
      auto text = concat({"Node `", n.name,
                          "` is not reachable: add an edge or a route to it, or name it in the "
                          "node_options::destinations of a node whose commands lead to it."});
      if (plan_->options.strict_reachability)
        return error{errc::invalid_graph, std::move(text), "UnreachableNodeError"};
      if (!named.contains(n.name))
        plan_->warnings.push_back(std::move(text));
    }
    return std::nullopt;
  }

  bool has_handlers() const {
    return spec_.defaults.error_handler
           || std::ranges::any_of(spec_.nodes, [](const node_spec& n) -> bool {
                return bool{n.options.error_handler};
              });
  }

  static bool leads_anywhere(const plan_node& node) {
    return std::ranges::any_of(node.routes, [](const auto& r) { return !r.map.given(); });
  }

  void shrink() {
    plan_->channels.shrink_to_fit();
    for (auto& n : plan_->nodes) {
      n.writes.shrink_to_fit();
      n.routes.shrink_to_fit();
    }
  }

  const graph_spec& spec_;
  std::shared_ptr<graph_plan> plan_;
  std::vector<channel_index> channel_at_; // the plan's channel for each of spec_.channels
  std::vector<node_index> place_;         // the plan's node for each of spec_.nodes
  index_list state_keys_;
};

} // namespace

result<std::shared_ptr<const graph_plan>> compile_graph(const graph_spec& spec,
                                                        compile_options options) {
  if (auto wrong = find_mistake(spec, options))
    return *std::move(wrong);
  return compiler{spec, std::move(options)}.run();
}

} // namespace troupe
