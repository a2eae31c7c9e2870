// A graph that can be run, and how it looks.
#pragma once

#include <troupe/value.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

class graph_plan; // graph/graph_plan.hpp

enum class draw_direction : std::uint8_t { down, right };
enum class draw_curve : std::uint8_t { smooth, straight };

/// Fill colours of a drawing: `#` and 3, 6 or 8 hexadecimal digits, or a name of letters
/// ("lightblue"). Anything else counts as the default.
struct draw_colors {
  std::string node = "#f2f0ff";
  std::string start = "#ffffff";
  std::string end = "#bfb6fc";
  std::string box = "#faf9ff"; ///< around a nested graph
};

/// draw_options::xray of every level there is.
inline constexpr std::uint32_t xray_all = 0xffff'ffff;

/// What a drawing shows, and how.
/// Units:  `xray` in levels of nesting: 0 draws a nested graph as one node, 1 opens those of this
///         graph, 2 those within them too, xray_all all. `nodes_max` in nodes, START and END
///         included: a nested graph that would make the picture larger stays closed; the nodes of
///         the graph itself are always drawn.
/// Source: langgraph/pregel/main.py, get_graph; langchain_core/runnables/graph.py, draw_mermaid.
struct draw_options {
  std::uint32_t xray = 0;
  draw_direction direction = draw_direction::down;
  draw_curve curve = draw_curve::smooth;
  bool details = true;     ///< metadata and breakpoints, a line each, under a node's name
  std::string title = {};  ///< above the picture; empty: none
  draw_colors colors = {}; ///< of nodes, ends and boxes
  std::string mermaid_frontmatter = {}; ///< YAML; replaces the one made of title and curve
  std::size_t nodes_max = 10'000;
};

/// A graph that can be run: immutable, cheap to copy, safe to share between threads.
class compiled_graph {
public:
  explicit compiled_graph(std::shared_ptr<const graph_plan> plan) : plan_{std::move(plan)} {}

  const std::string& name() const noexcept;
  /// The nodes in the order they were added, without START, END and error handlers.
  std::vector<std::string> nodes() const;
  /// The channels an input may write, in schema order. Like the reference, a run drops other keys
  /// of its input.
  std::vector<std::string> inputs() const;

  /// What an input may be, and what a result is: JSON Schema objects of the channels' values. Of a
  /// state that is one bare value, the schema of that. Any member may be missing.
  /// Shape:  a map of JSON Schema 2020-12 keywords. A channel of a typed state is of its member's
  ///         type; else its kind says what it knows (lists, messages), or nothing.
  /// Errors: none.
  /// Source: langgraph/pregel/main.py, get_input_jsonschema, get_output_jsonschema.
  value input_jsonschema() const;
  value output_jsonschema() const;
  /// That of graph_builder::context_schema; null without one.
  /// Source: langgraph/pregel/main.py, get_context_jsonschema.
  value context_jsonschema() const;

  /// Edges as they are drawn.
  struct edge {
    std::string from, to, label;
    bool conditional = false; ///< a route or a command decides whether it is taken
    friend auto operator<=>(const edge&, const edge&) = default;
  };
  /// The edges between this graph's nodes, START and END; a graph as a node is one node.
  /// Shape:  at most one from a node to another. Without a path map a route may go anywhere.
  /// Order:  by from, to, label.
  /// Errors: none.
  /// Source: langgraph/pregel/_draw.py, draw_graph.
  std::vector<edge> edges() const;

  /// The graphs that are nodes of this one, or that its nodes say they call.
  /// Shape:  (name of the node, graph); one entry for each graph of a node that calls several. With
  ///         `recurse`, those within them too, under the path of names, as "outer|inner".
  /// Order:  of the nodes; a graph comes right before those within it.
  /// Errors: none.
  /// Source: langgraph/pregel/main.py, get_subgraphs (which knows one graph a node).
  std::vector<std::pair<std::string, compiled_graph>> subgraphs(bool recurse = false) const;

  /// As a Mermaid flowchart: conditional edges dotted, nested graphs as `subgraph` blocks under
  /// x-ray, and graphs that a node calls beside it, behind a dotted edge.
  /// Shape:  lines, each with its end. Names, labels and details are escaped: none can end its
  ///         text or be taken for markup. Mermaid itself refuses more than 500 edges or 50,000
  ///         characters unless its own settings say otherwise.
  /// Errors: none.
  /// Source: langchain_core/runnables/graph_mermaid.py (the look, not the text).
  std::string draw_mermaid(const draw_options& options = {}) const;

  /// The same picture as a Graphviz digraph, nested graphs as clusters.
  /// Shape:  lines, each with its end; every name and label is a quoted string.
  /// Errors: none.
  /// Source: langchain_core/runnables/graph_png.py (the look).
  std::string draw_dot(const draw_options& options = {}) const;

  /// The same picture as an SVG document, laid out here: nodes in layers, edges downwards (or to
  /// the right) except those that close a circle, nested graphs in boxes.
  /// Shape:  well-formed XML in UTF-8, without scripts, links or style sheets. Long names are cut;
  ///         the whole one is the tooltip. The same graph gives the same bytes.
  /// Units:  of its size: pixels.
  /// Errors: none.
  /// Source: troupe.
  std::string draw_svg(const draw_options& options = {}) const;

  /// Advice about the graph that is no error, e.g. a node with both commands and static edges.
  const std::vector<std::string>& warnings() const noexcept;

  const std::shared_ptr<const graph_plan>& plan() const noexcept { return plan_; }

private:
  std::shared_ptr<const graph_plan> plan_;
};

/// A compiled graph whose output is an S.
template <class S> class typed_graph : public compiled_graph {
public:
  using compiled_graph::compiled_graph;
};

} // namespace troupe
