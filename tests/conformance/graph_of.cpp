#include "tests/conformance/graph_of.hpp"

#include "tests/conformance/agent_of.hpp"
#include "tests/conformance/channel_of.hpp"
#include "tests/conformance/expr.hpp"
#include "tests/conformance/node_of.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace troupe::conformance {
namespace {

class construction {
public:
  construction(const std::string& name, const script_json& declared, world& w)
    : name_{name},
      declared_{declared},
      world_{w},
      graph_{all_channels()} {}

  compiled_graph build() {
    add_schemas();
    add_nodes();
    add_edges();
    add_branches();
    return graph_.compile(compile_options_of(name_, declared_, world_));
  }

private:
  using node_list = std::vector<std::pair<std::string, const script_json*>>;

  const script_json& member(const char* name) const {
    static const script_json nothing;
    auto found = declared_.find(name);
    return found == declared_.end() ? nothing : *found;
  }

  // ---- schemas --------------------------------------------------------------------------------

  schema all_channels() {
    schema out;
    for (const auto& [key, channel] : member("state").items())
      out.channels.emplace_back(key, channel_of(channel, world_));
    return out;
  }

  channel_spec channel_named(const std::string& key) {
    for (const auto* part : {"state", "private"})
      if (auto found = member(part).find(key); found != member(part).end())
        return channel_of(*found, world_);
    return last_value;
  }

  schema channels_named(const script_json& keys) {
    schema out;
    for (const auto& key : keys)
      out.channels.emplace_back(key, channel_named(key.get<std::string>()));
    return out;
  }

  void add_schemas() {
    if (const auto& keys = member("input"); !keys.is_null())
      graph_.input_schema(channels_named(keys));
    if (const auto& keys = member("output"); !keys.is_null())
      graph_.output_schema(channels_named(keys));
  }

  // ---- nodes ----------------------------------------------------------------------------------

  node_list declared_nodes() const {
    node_list out;
    const auto& nodes = member("nodes");
    if (nodes.is_array())
      for (const auto& pair : nodes)
        out.emplace_back(pair.at(0).get<std::string>(), &pair.at(1));
    else
      for (const auto& [node, spec] : nodes.items())
        out.emplace_back(node, &spec);
    return out;
  }

  // Nodes of sequences come after the others.
  node_list ordered_nodes() const {
    auto nodes = declared_nodes();
    node_list sequences;
    for (const auto& sequence : member("sequences"))
      for (const auto& node : sequence)
        for (const auto& known : nodes)
          if (known.first == node.get_ref<const std::string&>())
            sequences.push_back(known);
    std::erase_if(nodes, [&](const auto& node) {
      return std::find(sequences.begin(), sequences.end(), node) != sequences.end();
    });
    nodes.insert(nodes.end(), sequences.begin(), sequences.end());
    return nodes;
  }

  void add_nodes() {
    for (const auto& [node, spec] : ordered_nodes()) {
      auto keys = spec->find("input");
      auto input = keys == spec->end() ? std::nullopt : std::optional{channels_named(*keys)};
      add_node(graph_, node, *spec, std::move(input), world_);
    }
    if (const auto& defaults = member("defaults"); !defaults.is_null())
      graph_.set_node_defaults(defaults_of(defaults, world_));
  }

  // ---- edges ----------------------------------------------------------------------------------

  void add_edges() {
    for (const auto& edge : member("edges")) {
      auto to = edge.at(1).get<std::string>();
      if (const auto& from = edge.at(0); from.is_array())
        graph_.add_edge(from.get<std::vector<std::string>>(), to);
      else
        graph_.add_edge(from.get<std::string>(), to);
    }
    for (const auto& sequence : member("sequences")) {
      if (sequence.empty()) // in C++ no program that has one compiles
        throw error{errc::invalid_graph, "Sequence requires at least one node."};
      for (std::size_t i = 1; i < sequence.size(); ++i)
        graph_.add_edge(sequence[i - 1].get<std::string>(), sequence[i].get<std::string>());
    }
  }

  path_map map_of(const script_json& branch) {
    auto to = branch.find("to");
    if (to == branch.end() || to->is_null())
      return {};
    if (to->is_array())
      return to->get<std::vector<std::string>>();
    std::vector<std::pair<std::string, std::string>> entries;
    for (const auto& [label, node] : to->items())
      entries.emplace_back(label, node.get<std::string>());
    return entries;
  }

  void add_branches() {
    std::size_t count = 0;
    for (const auto& branch : member("branches"))
      graph_.add_conditional_edges(
        branch.at("from").get<std::string>(),
        [&w = world_, &route = branch.at("route")](const state_view& state, context& task) {
          scope s{w, &state, &task};
          return destinations_of(evaluate(route, s));
        },
        map_of(branch), "route" + std::to_string(++count));
  }

  const std::string& name_;
  const script_json& declared_;
  world& world_;
  state_graph<> graph_;
};

const script_json& compile_of(const script_json& declared) {
  static const script_json nothing = script_json::object();
  auto found = declared.find("compile");
  return found == declared.end() || found->is_null() ? nothing : *found;
}

// For "main" it chooses the saver of threads, for other graphs their checkpointing within another
// one.
checkpointing checkpointing_of(const std::string& name, const script_json& compile) {
  auto found = compile.find("checkpointer");
  if (found == compile.end() || !found->is_boolean())
    return checkpointing::inherit;
  if (!found->get<bool>())
    return checkpointing::none;
  return name == "main" ? checkpointing::inherit : checkpointing::per_thread;
}

} // namespace

compile_options compile_options_of(const std::string& name, const script_json& declared,
                                   const world& w) {
  const auto& compile = compile_of(declared);
  compile_options out;
  out.name = compile.value("name", name);
  out.interrupt_before = node_names(compile.value("interrupt_before", script_json{}));
  out.interrupt_after = node_names(compile.value("interrupt_after", script_json{}));
  out.checkpointer = checkpointing_of(name, compile);
  if (compile.value("cache", script_json{}) == true)
    out.cache = w.cache;
  out.strict_targets = false; // the reference drops what leads nowhere
  out.finish_steps = true;    // FORMAT.md, Order: a failed task keeps no other from running
  return out;
}

services services_of(const std::string& name, const script_json& declared) {
  const auto& compile = compile_of(declared);
  auto checkpointer = compile.value("checkpointer", script_json{});
  return {.saver = name == "main" ? checkpointer == true : checkpointer == "case",
          .store = compile.value("store", script_json{}) == true};
}

compiled_graph graph_of(const std::string& name, const script_json& declared, world& w) {
  return declared.contains("agent") ? agent_of(name, declared, w)
                                    : construction{name, declared, w}.build();
}

std::vector<std::string> handler_nodes(const script_json& declared) {
  std::vector<std::string> out;
  auto nodes = declared.value("nodes", script_json::object());
  for (const auto& [key, spec] : nodes.items()) {
    bool pair = nodes.is_array();
    if ((pair ? spec.at(1) : spec).contains("on_error"))
      out.push_back("__error_handler__" + (pair ? spec.at(0).get<std::string>() : key));
  }
  if (declared.value("defaults", script_json::object()).contains("on_error"))
    out.emplace_back("__default_error_handler__");
  return out;
}

std::vector<std::string> node_names(const script_json& declared) {
  if (declared.is_string())
    return {declared.get<std::string>()};
  return declared.is_null() ? std::vector<std::string>{} : declared.get<std::vector<std::string>>();
}

} // namespace troupe::conformance
