// The compiled graph: an immutable graph that can be run, its schemas and its drawings.
#pragma once

#include <troupe/run_trace.hpp>
#include <troupe/value.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe {

class graph_plan; // graph/graph_plan.hpp

/// The direction in which the steps of a drawing follow each other.
/// Errors: none.
/// Source: troupe.
enum class draw_direction : std::uint8_t { down, right };
/// The form of the edges of a drawing.
/// Errors: none.
/// Source: langchain_core/runnables/graph.py, CurveStyle.
enum class draw_curve : std::uint8_t { smooth, straight };

/// Fill colours of a drawing: `#` and 3, 6 or 8 hexadecimal digits, or a name of letters
/// ("lightblue"). Anything else counts as the default.
/// Errors: none.
/// Source: langchain_core/runnables/graph.py, NodeStyles.
struct draw_colors {
  std::string node = "#f2f0ff";
  std::string start = "#ffffff";
  std::string end = "#bfb6fc";
  std::string box = "#faf9ff";    ///< around a nested graph
  std::string ran = "#d5f2dc";    ///< with a trace: its tasks ran
  std::string waits = "#fff0c0";  ///< with a trace: a task asks or waits
  std::string failed = "#fad4d4"; ///< with a trace: a task failed
};

/// draw_options::xray that opens all levels.
/// Errors: none.
/// Source: langgraph/pregel/main.py, Pregel.get_graph(xray=True).
inline constexpr std::uint32_t xray_all = 0xffff'ffff;

/// The contents and the look of a drawing.
/// Units:  `xray` in levels of nesting: 0 draws a nested graph as one node, 1 opens the graphs in
///         this graph, 2 also those within them; xray_all opens all. `nodes_max` in nodes, START
///         and END included. A nested graph that would exceed it stays closed; the graph's own
///         nodes are always drawn.
/// Errors: none.
/// Source: langgraph/pregel/main.py, Pregel.get_graph; langchain_core/runnables/graph.py,
///         Graph.draw_mermaid.
struct draw_options {
  std::uint32_t xray = 0;
  draw_direction direction = draw_direction::down;
  draw_curve curve = draw_curve::smooth;
  bool details = true;     ///< metadata and breakpoints, a line each, under a node's name
  std::string title = {};  ///< above the picture; empty: none
  draw_colors colors = {}; ///< of nodes, ends and boxes
  std::string mermaid_frontmatter = {}; ///< YAML; replaces the one made of title and curve
  std::size_t nodes_max = 10'000;
  /// Runs to draw: a node's line of counts and time, and its colour.
  run_trace trace = {};
};

/// A graph that can be run: immutable, cheap to copy, safe to share between threads.
/// Errors: none.
/// Source: langgraph/graph/state.py, CompiledStateGraph.
class compiled_graph {
public:
  explicit compiled_graph(std::shared_ptr<const graph_plan> plan) : plan_{std::move(plan)} {}

  /// compile_options::name.
  const std::string& name() const noexcept;
  /// The nodes in the order they were added, without START, END and error handlers.
  std::vector<std::string> nodes() const;
  /// The channels an input may write, in schema order. Like the reference, a run drops other keys
  /// of its input.
  std::vector<std::string> inputs() const;

  /// The schema of an input and of a result: JSON Schema objects of the channels' values, in which
  /// no member is required. A state that is one bare value has the schema of that value.
  /// Shape:  a map of JSON Schema 2020-12 keywords. A channel of a typed state has the schema of
  ///         its member's type. Another channel has the schema of its kind (lists, messages), or an
  ///         empty one.
  /// Errors: none.
  /// Source: langgraph/pregel/main.py, Pregel.get_input_jsonschema, get_output_jsonschema.
  value input_jsonschema() const;
  value output_jsonschema() const;
  /// The schema of graph_builder::context_schema; null without one.
  /// Source: langgraph/pregel/main.py, Pregel.get_context_jsonschema.
  value context_jsonschema() const;

  /// An edge of a drawing.
  struct edge {
    std::string from, to, label;
    bool conditional = false; ///< a route or a command decides whether it is taken
    friend bool operator==(const edge& a, const edge& b) noexcept;
    friend std::strong_ordering operator<=>(const edge& a, const edge& b) noexcept;
  };
  /// The edges between this graph's nodes, START and END; a graph as a node is one node.
  /// Shape:  at most one edge from a node to another. Without a path map a route may go to any
  ///         node.
  /// Order:  by from, to, label.
  /// Errors: none.
  /// Source: langgraph/pregel/_draw.py, draw_graph.
  std::vector<edge> edges() const;

  /// The graphs that are nodes of this one, and those of node_options::calls.
  /// Shape:  (name of the node, graph); one entry for each graph of a node that calls several. With
  ///         `recurse`, also the graphs within them, under the path of names, as "outer|inner".
  ///         Unless `ns` is empty, only the graphs of that path.
  /// Order:  of the nodes; a graph comes right before the graphs within it.
  /// Errors: none.
  /// Source: langgraph/pregel/main.py, Pregel.get_subgraphs (which knows one graph a node).
  std::vector<std::pair<std::string, compiled_graph>> subgraphs(bool recurse = false,
                                                                std::string_view ns = {}) const;

  /// A Mermaid flowchart. Conditional edges are dotted, and nested graphs opened by `xray` are
  /// `subgraph` blocks. A graph that a node calls stands beside the node, linked by a dotted edge.
  /// Shape:  lines, each with its end. Names, labels and details are escaped, so they can't end
  ///         their text or act as markup. Mermaid itself refuses more than 500 edges or 50,000
  ///         characters by default.
  /// Errors: none.
  /// Source: langchain_core/runnables/graph_mermaid.py (the look, not the text).
  std::string draw_mermaid(const draw_options& options = {}) const;

  /// The same picture as a Graphviz digraph, nested graphs as clusters. Graphviz's `dot` makes SVG
  /// or PNG of it, as `troupe draw --format svg` does.
  /// Shape:  lines, each with its end; every name and label is a quoted string.
  /// Errors: none.
  /// Source: langchain_core/runnables/graph_png.py (the look).
  std::string draw_dot(const draw_options& options = {}) const;

  /// The same graph as text for a terminal: a list of the nodes, and under each its edges.
  /// Shape:  lines, each with its end. `->` leads to the next node, `..>` does if a route or a
  ///         command decides so. A label follows in brackets. A nested graph is indented under its
  ///         node. Names are printable, but may have characters beyond ASCII.
  /// Errors: none.
  /// Source: langchain_core/runnables/graph_ascii.py, draw_ascii; a list instead of boxes. Boxes:
  ///         `troupe draw --format ascii`, by the program graph-easy.
  std::string draw_ascii(const draw_options& options = {}) const;

  /// Advice about the graph that is not an error, e.g. a node with both commands and static edges.
  const std::vector<std::string>& warnings() const noexcept;

  /// The graph by index, as the engine runs it.
  const std::shared_ptr<const graph_plan>& plan() const noexcept { return plan_; }

private:
  std::shared_ptr<const graph_plan> plan_;
};

/// A compiled graph whose output is an S.
/// Errors: none.
/// Source: langgraph/graph/state.py, StateGraph(output_schema).
template <class S> class typed_graph : public compiled_graph {
public:
  using compiled_graph::compiled_graph;
};

} // namespace troupe
