// From a compiled graph to the drawn one.
#include "graph/draw_model.hpp"

#include "graph/draw_text.hpp"
#include "graph/graph_plan.hpp"
#include "graph/names.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

namespace troupe::drawing {
namespace {

constexpr std::size_t id_bytes_max = 80;
constexpr std::size_t detail_characters_max = 60;
constexpr std::size_t detail_bytes_max = 4 * (detail_characters_max + 1); // longer texts are cut

// ---- ids ------------------------------------------------------------------------------------

// Words that Mermaid's flowcharts or Graphviz reserve, in any case.
constexpr std::array<std::string_view, 18> grammar_words{
  "call",      "class",       "classdef",  "click",     "default", "digraph",
  "direction", "edge",        "end",       "flowchart", "graph",   "href",
  "node",      "interpolate", "linkstyle", "strict",    "style",   "subgraph"};

bool is_plain_word(std::string_view name) {
  auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  auto inside = [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '_'; };
  if (name.empty() || name.size() > id_bytes_max || !letter(name[0])
      || !std::ranges::all_of(name, inside))
    return false;
  std::string lower{name};
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z')
      c = static_cast<char>(c - 'A' + 'a');
  return std::ranges::find(grammar_words, lower) == grammar_words.end();
}

// Ids of one picture: the name where it is a plain word of limited length, else `_` and a number.
class id_maker {
public:
  std::string make(const std::string& prefix, std::string_view name) {
    auto number = count_++;
    std::string id = prefix + std::string{name};
    bool is_end = prefix.empty() && (name == names::start || name == names::end);
    if ((is_end || is_plain_word(id)) && taken_.insert(id).second)
      return id;
    return "_" + std::to_string(number); // no plain word begins so
  }

private:
  std::size_t count_ = 0;
  std::unordered_set<std::string> taken_;
};

// ---- details --------------------------------------------------------------------------------

std::string scalar_text(const value& v) {
  if (v.is_string())
    return std::string{v.as_string()};
  if (v.is_null() || v.is_bool() || v.is_number())
    return to_json(v);
  return "…";
}

// A list of scalars with commas, as a tool node has in its `__tools`.
std::string metadata_text(const value& v) {
  if (!v.is_list())
    return scalar_text(v);
  std::string out;
  for (const auto& item : v.items()) {
    if (out.size() > detail_bytes_max)
      break;
    out += (out.empty() ? "" : ", ") + scalar_text(item);
  }
  return out;
}

bool names_node(const std::vector<std::string>& list, const std::string& name) {
  return std::ranges::any_of(list, [&](const auto& n) { return n == name || n == "*"; });
}

// Source: langgraph/pregel/_draw.py, the metadata `__interrupt`.
std::string breakpoints(const graph_plan& plan, const std::string& name) {
  bool before = names_node(plan.options.interrupt_before, name);
  bool after = names_node(plan.options.interrupt_after, name);
  return before && after ? "before,after" : before ? "before" : after ? "after" : "";
}

std::vector<std::string> details_of(const graph_plan& plan, const plan_node& node) {
  std::vector<std::string> out;
  auto add = [&out](std::string_view key, const std::string& text) {
    auto line = std::string{key} + " = " + text;
    line.resize(std::min(line.size(), detail_bytes_max));
    out.push_back(shortened(printable(line), detail_characters_max));
  };
  for (const auto& entry : node.settings->metadata.entries())
    add(entry.key(), metadata_text(entry.val));
  if (auto where = breakpoints(plan, node.name); !where.empty())
    add("__interrupt", where);
  return out;
}

// ---- traces ---------------------------------------------------------------------------------

std::string duration_text(std::chrono::microseconds time) {
  auto us = time.count();
  if (us < 10'000)
    return std::to_string(us) + " µs";
  if (us < 10'000'000)
    return std::to_string(us / 1000) + " ms";
  return std::to_string(us / 1'000'000) + " s";
}

std::string trace_text(const node_trace& of) {
  std::string out;
  auto add = [&out](const std::string& text) { out += (out.empty() ? "" : ", ") + text; };
  if (of.ran > 0)
    add("ran " + std::to_string(of.ran) + (of.ran == 1 ? " time" : " times")
        + (of.time.count() > 0 ? " in " + duration_text(of.time) : ""));
  if (of.failed > 0)
    add("failed " + std::to_string(of.failed) + (of.failed == 1 ? " time" : " times"));
  if (of.asks > 0)
    add(of.asks == 1 ? "asks" : std::to_string(of.asks) + " ask");
  if (of.waits > 0)
    add(of.waits == 1 ? "waits" : std::to_string(of.waits) + " wait");
  return out;
}

node_mark mark_of(const node_trace& of) {
  return of.failed > 0                 ? node_mark::failed
         : of.asks > 0 || of.waits > 0 ? node_mark::waits
         : of.ran > 0                  ? node_mark::ran
                                       : node_mark::none;
}

// ---- the graph ------------------------------------------------------------------------------

class builder {
public:
  explicit builder(const draw_options& options) : options_{options} {}

  /// `prefix` begins the ids of its nodes, `path` their names in a trace.
  drawn_graph draw(const compiled_graph& graph, const std::string& prefix, const std::string& path,
                   std::uint32_t xray) {
    level at{*graph.plan(), prefix, path, xray, {}, {}, {}};
    auto edges = graph.edges();
    add_nodes(at, std::ranges::any_of(edges, [](const auto& e) { return e.to == names::end; }));
    add_edges(at, edges);
    drawn_ += at.out.nodes.size();
    for (const auto& [place, of, nested] : at.nested)
      open(at, at.out.nodes[place], path + of + "|", nested);
    return std::move(at.out);
  }

private:
  // One graph while it is drawn.
  struct level {
    const graph_plan& plan;
    const std::string& prefix;
    const std::string& path;
    std::uint32_t xray;
    drawn_graph out;
    std::unordered_map<std::string_view, std::uint32_t> place_of; // by name
    // Nested graphs that may be opened: the place, the name of the node, the graph.
    std::vector<std::tuple<std::uint32_t, std::string, compiled_graph>> nested;
  };

  void add_nodes(level& at, bool has_end) {
    add_named(at, names::start, node_shape::start);
    for (node_index n = 1; n < at.plan.nodes.size(); ++n)
      if (const auto& node = at.plan.nodes[n]; !node.handles)
        add_plan_node(at, node);
    if (has_end)
      add_named(at, names::end, node_shape::end);
  }

  void add_plan_node(level& at, const plan_node& node) {
    auto shape = node.body.graph() ? node_shape::graph : node_shape::plain;
    auto place = add_named(at, node.name, shape);
    if (options_.details)
      at.out.nodes[place].details = details_of(at.plan, node);
    add_trace(at.out.nodes[place], at.path + node.name);
    if (at.xray == 0)
      return;
    if (node.body.graph())
      at.nested.emplace_back(place, node.name, compiled_graph{node.body.graph()});
    for (const auto& called : node.settings->calls)
      add_called(at, place, node.name, called);
  }

  void add_trace(drawn_node& node, const std::string& path) const {
    auto of = options_.trace.nodes.find(path);
    if (of == options_.trace.nodes.end())
      return;
    if (auto text = trace_text(of->second); !text.empty())
      node.details.push_back(std::move(text));
    node.mark = mark_of(of->second);
  }

  // A called graph is drawn beside the node that calls it.
  void add_called(level& at, std::uint32_t caller, const std::string& name,
                  const compiled_graph& called) {
    const auto& by = at.out.nodes[caller];
    auto place = add_node(at, {.id = ids_.make(by.id + "_", called.name()),
                               .name = printable(called.name()),
                               .shape = node_shape::graph});
    at.out.edges.push_back({caller, place, {}, true});
    at.nested.emplace_back(place, name, called);
  }

  std::uint32_t add_named(level& at, std::string_view name, node_shape shape) {
    bool is_start = shape == node_shape::start;
    bool is_end = shape == node_shape::end;
    auto place = add_node(at, {.id = ids_.make(at.prefix, name),
                               .name = is_start ? "start"
                                       : is_end ? "end"
                                                : printable(name),
                               .shape = shape});
    at.place_of.emplace(name, place);
    return place;
  }

  static std::uint32_t add_node(level& at, drawn_node node) {
    at.out.nodes.push_back(std::move(node));
    return static_cast<std::uint32_t>(at.out.nodes.size() - 1);
  }

  void add_edges(level& at, const std::vector<compiled_graph::edge>& edges) {
    for (const auto& e : edges)
      at.out.edges.push_back(
        {at.place_of.at(e.from), at.place_of.at(e.to), printable(e.label), e.conditional});
    std::ranges::sort(at.out.edges, {}, [](const drawn_edge& e) {
      return std::tuple{e.from, e.to, e.dotted};
    });
  }

  void open(const level& at, drawn_node& node, const std::string& path,
            const compiled_graph& nested) {
    auto size = nested.plan()->nodes.size() + 1; // START is one of them, END is not
    if (drawn_ + size <= options_.nodes_max)
      node.inside =
        std::make_shared<const drawn_graph>(draw(nested, node.id + "_", path, at.xray - 1));
  }

  const draw_options& options_;
  id_maker ids_;
  std::size_t drawn_ = 0; // nodes so far
};

// ---- colours --------------------------------------------------------------------------------

bool is_color(std::string_view text) {
  auto all_of = [](std::string_view part, std::string_view allowed) {
    return part.find_first_not_of(allowed) == part.npos;
  };
  if (!text.starts_with('#'))
    return !text.empty() && text.size() <= 32
           && all_of(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
  auto digits = text.substr(1);
  return (digits.size() == 3 || digits.size() == 6 || digits.size() == 8)
         && all_of(digits, "0123456789abcdefABCDEF");
}

} // namespace

const drawn_node* drawn_graph::find(node_shape shape) const noexcept {
  auto at = std::ranges::find(nodes, shape, &drawn_node::shape);
  return at == nodes.end() ? nullptr : &*at;
}

drawn_graph make_drawn_graph(const compiled_graph& graph, const draw_options& options) {
  return builder{options}.draw(graph, {}, {}, options.xray);
}

draw_colors safe_colors(draw_colors colors) {
  const draw_colors defaults;
  for (auto color : {&draw_colors::node, &draw_colors::start, &draw_colors::end, &draw_colors::box,
                     &draw_colors::ran, &draw_colors::waits, &draw_colors::failed})
    if (!is_color(colors.*color))
      colors.*color = defaults.*color;
  return colors;
}

} // namespace troupe::drawing
