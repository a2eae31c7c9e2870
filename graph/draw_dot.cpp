// A drawn graph as a Graphviz digraph.
#include "graph/draw_model.hpp"
#include "graph/draw_text.hpp"

#include <string_view>

namespace troupe {
namespace drawing {
namespace {

// Text for use within double quotes: Graphviz knows backslash escapes and, in labels, HTML's
// entities.
std::string dot_escaped(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '&') {
      out += "&amp;";
      continue;
    }
    if (c == '"' || c == '\\')
      out += '\\';
    out += c;
  }
  return out;
}

std::string dot_string(std::string_view text) {
  return "\"" + dot_escaped(text) + "\"";
}

std::string dot_label(const drawn_node& node) {
  auto out = "\"" + dot_escaped(node.name);
  for (const auto& line : node.details)
    out += "\\n" + dot_escaped(line);
  return out + "\"";
}

std::string cluster_of(const drawn_node& node) {
  return dot_string("cluster_" + node.id);
}

class dot_writer {
public:
  explicit dot_writer(const draw_options& options)
    : options_{options},
      colors_{safe_colors(options.colors)} {}

  std::string write(const compiled_graph& graph) && {
    out_ = "digraph " + dot_string(printable(graph.name())) + " {\n";
    head();
    content(make_drawn_graph(graph, options_), "  ");
    out_ += "}\n";
    return std::move(out_);
  }

private:
  void head() {
    bool down = options_.direction == draw_direction::down;
    out_ += std::string{"  graph [rankdir="} + (down ? "TB" : "LR") + ", compound=true"
            + (options_.curve == draw_curve::straight ? ", splines=polyline" : "")
            + ", fontname=\"Helvetica\"];\n";
    if (!options_.title.empty())
      out_ += "  graph [labelloc=t, label=" + dot_string(printable(options_.title)) + "];\n";
    out_ += "  node [shape=box, style=\"rounded,filled\", fillcolor=" + dot_string(colors_.node)
            + ", color=\"#8a7fd0\", fontcolor=\"#1f1b3a\", fontname=\"Helvetica\"];\n"
            + "  edge [color=\"#6b6785\", fontname=\"Helvetica\", fontsize=11];\n";
  }

  void content(const drawn_graph& graph, const std::string& indent) {
    for (const auto& node : graph.nodes)
      if (node.inside)
        box(node, indent);
      else
        out_ += indent + dot_string(node.id) + " [label=" + dot_label(node) + look_of(node)
                + "];\n";
    for (const auto& e : graph.edges)
      edge(graph, e, indent);
  }

  // A title over the whole picture would be inherited, so each cluster sets its own label.
  void box(const drawn_node& node, const std::string& indent) {
    out_ += indent + "subgraph " + cluster_of(node) + " {\n";
    out_ += indent + "  graph [label=" + dot_label(node) + ", labelloc=t, style=\"rounded,filled\""
            + ", fillcolor=" + dot_string(colors_.box) + ", color=\"#b8b2dc\"];\n";
    content(*node.inside, indent + "  ");
    out_ += indent + "}\n";
  }

  std::string look_of(const drawn_node& node) const {
    switch (node.shape) {
      case node_shape::start: return ", shape=ellipse, fillcolor=" + dot_string(colors_.start);
      case node_shape::end: return ", shape=ellipse, fillcolor=" + dot_string(colors_.end);
      case node_shape::plain: return fill_of(node.mark);
      case node_shape::graph: return ", peripheries=2" + fill_of(node.mark);
    }
    return {};
  }

  std::string fill_of(node_mark mark) const {
    auto fill = [](const std::string& color) { return ", fillcolor=" + dot_string(color); };
    switch (mark) {
      case node_mark::none: return {};
      case node_mark::ran: return fill(colors_.ran);
      case node_mark::waits: return fill(colors_.waits);
      case node_mark::failed: return fill(colors_.failed);
    }
    return {};
  }

  // Graphviz edges join nodes only: an edge of a box is cut at the border of its cluster.
  void edge(const drawn_graph& graph, const drawn_edge& e, const std::string& indent) {
    const auto& from = graph.nodes[e.from];
    const auto& to = graph.nodes[e.to];
    bool loop = e.from == e.to;
    std::string look = e.dotted ? ", style=dotted" : "";
    if (!e.label.empty())
      look += ", label=" + dot_string(e.label);
    if (from.inside && !loop)
      look += ", ltail=" + cluster_of(from);
    if (to.inside && !loop)
      look += ", lhead=" + cluster_of(to);
    out_ += indent + dot_string(way_out(from)) + " -> " + dot_string(way_in(to));
    if (!look.empty())
      out_ += " [" + look.substr(2) + "]";
    out_ += ";\n";
  }

  static std::string way_in(const drawn_node& node) {
    return node.inside ? node.inside->find(node_shape::start)->id : node.id;
  }
  static std::string way_out(const drawn_node& node) {
    const auto* end = node.inside ? node.inside->find(node_shape::end) : nullptr;
    return end ? end->id : way_in(node);
  }

  const draw_options& options_;
  draw_colors colors_;
  std::string out_;
};

} // namespace
} // namespace drawing

std::string compiled_graph::draw_dot(const draw_options& options) const {
  return drawing::dot_writer{options}.write(*this);
}

} // namespace troupe
