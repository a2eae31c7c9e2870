// A drawn graph as lines for a terminal.
#include "graph/draw_model.hpp"
#include "graph/draw_text.hpp"

namespace troupe {
namespace drawing {
namespace {

void add_lines(const drawn_graph& graph, const std::string& indent, std::string& out) {
  auto e = graph.edges.begin(); // they are sorted by their first ends
  for (std::uint32_t n = 0; n < graph.nodes.size(); ++n) {
    const auto& node = graph.nodes[n];
    out += indent + node.name;
    for (const auto& detail : node.details)
      out += "  (" + detail + ")";
    out += "\n";
    for (; e != graph.edges.end() && e->from == n; ++e)
      out += indent + (e->dotted ? "  ..> " : "  -> ") + graph.nodes[e->to].name
             + (e->label.empty() ? "" : "  [" + e->label + "]") + "\n";
    if (node.inside)
      add_lines(*node.inside, indent + "  | ", out);
  }
}

} // namespace
} // namespace drawing

std::string compiled_graph::draw_ascii(const draw_options& options) const {
  std::string out;
  if (!options.title.empty())
    out += drawing::printable(options.title) + "\n\n";
  drawing::add_lines(drawing::make_drawn_graph(*this, options), {}, out);
  return out;
}

} // namespace troupe
