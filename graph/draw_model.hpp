// The drawn graph: nodes, edges and what is nested in them, the same for every format. This file
// decides the contents; draw_mermaid and draw_dot decide the appearance.
//
// Invariants:
//  - An edge joins two nodes of one drawn_graph: none leads into a nested one.
//  - Every text is printable (draw_text.hpp), so it has no line ends and is valid UTF-8.
//  - The same graph and options give the same drawn_graph.
#pragma once

#include <troupe/compiled_graph.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace troupe::drawing {

enum class node_shape : std::uint8_t {
  start,
  end,
  plain,
  graph, ///< a nested graph: a closed one, or a box when something is inside
};

enum class node_mark : std::uint8_t { none, ran, waits, failed }; ///< of draw_options::trace

struct drawn_graph;

struct drawn_node {
  std::string id;   ///< a plain word without a meaning in any format; unique in the picture
  std::string name; ///< "start" and "end" for START and END
  std::vector<std::string> details = {};
  node_shape shape = node_shape::plain;
  node_mark mark = node_mark::none;
  std::shared_ptr<const drawn_graph> inside = nullptr; ///< the nested graph of an open box
};

struct drawn_edge {
  std::uint32_t from, to; ///< places in drawn_graph::nodes
  std::string label;
  bool dotted = false;
};

/// Order:  START, the nodes as they were added (each followed by the graphs it calls), and END when
///         something leads there. Edges are sorted by the places of their ends.
struct drawn_graph {
  std::vector<drawn_node> nodes;
  std::vector<drawn_edge> edges;

  /// The node of that shape; null without one.
  const drawn_node* find(node_shape shape) const noexcept;
};

/// The part of `graph` that `options` shows.
drawn_graph make_drawn_graph(const compiled_graph& graph, const draw_options& options);

/// `colors`, with the default in place of each text that is not a colour.
draw_colors safe_colors(draw_colors colors);

} // namespace troupe::drawing
