// A drawn graph as an SVG document: sizes from inside out, then everything at its place.
//
// Invariants:
//  - Every text from the graph passes xml_escaped(); it is printable before (draw_model.hpp).
//  - No ids, style sheets or markers: several documents can stand in one page.
#include "graph/draw_layout.hpp"
#include "graph/draw_model.hpp"
#include "graph/draw_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <span>
#include <string_view>

namespace troupe {
namespace drawing {
namespace {

// Pixels.
constexpr double margin = 16;
constexpr double name_size = 13; // of the font
constexpr double small_size = 11;
constexpr double title_size = 16;
constexpr double line_height = 15; // of details
constexpr double node_height = 36;
constexpr double node_width_min = 64;
constexpr double node_padding = 14; // beside a name
constexpr double box_padding = 18;
constexpr double box_head = 30; // above the content of a box; details come on top of it
constexpr double arrow_length = 8;
constexpr double arrow_half = 3.5;

constexpr std::size_t name_characters_max = 40;

constexpr std::string_view ink = "#1f1b3a";
constexpr std::string_view border = "#8a7fd0";
constexpr std::string_view box_border = "#b8b2dc";
constexpr std::string_view line = "#6b6785";

// ---- text -----------------------------------------------------------------------------------

std::string xml_escaped(std::string_view text) {
  std::string out;
  for (char c : text)
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += c;
    }
  return out;
}

std::string cut(std::string_view text) {
  return shortened(text, name_characters_max);
}

// Rounded to a tenth.
std::string number(double x) {
  std::array<char, 32> digits{};
  auto [end, failure] = std::to_chars(digits.data(), digits.data() + digits.size(), x,
                                      std::chars_format::fixed, 1);
  std::string out{digits.data(), end};
  if (out.ends_with(".0"))
    out.resize(out.size() - 2);
  return out == "-0" ? "0" : out;
}

// ` name="value"`, for a value that needs no escapes.
std::string attribute(std::string_view name, std::string_view text) {
  return " " + std::string{name} + "=\"" + std::string{text} + "\"";
}
std::string attribute(std::string_view name, double x) {
  return attribute(name, number(x));
}

// ---- sizes ----------------------------------------------------------------------------------

// A drawn graph with the places of everything in it.
struct placed_graph {
  placed_items places;
  std::vector<extent> sizes;        // of nodes
  std::vector<placed_graph> inside; // of nodes, in their order; empty for nodes that are not boxes
};

double details_width(const drawn_node& node) {
  double width = 0;
  for (const auto& text : node.details)
    width = std::max(width, text_width(text) * small_size);
  return width;
}

double details_height(const drawn_node& node) {
  return static_cast<double>(node.details.size()) * line_height;
}

extent size_of(const drawn_node& node, const placed_graph& inside) {
  double name = text_width(cut(node.name)) * name_size;
  double text = std::max(name, details_width(node));
  if (!node.inside)
    return {std::ceil(std::max(node_width_min, text + 2 * node_padding)),
            node_height + details_height(node)};
  const auto& content = inside.places.whole;
  return {std::ceil(std::max(content.width, text) + 2 * box_padding),
          std::ceil(box_head + details_height(node) + content.height + box_padding)};
}

extent label_size(const std::string& label) {
  if (label.empty())
    return {};
  return {std::ceil(text_width(cut(label)) * small_size + 8), 18};
}

placed_graph measure(const drawn_graph& graph, bool rightwards) {
  placed_graph out;
  for (const auto& node : graph.nodes) {
    out.inside.push_back(node.inside ? measure(*node.inside, rightwards) : placed_graph{});
    out.sizes.push_back(size_of(node, out.inside.back()));
  }
  std::vector<layout_edge> edges;
  for (const auto& e : graph.edges)
    edges.push_back({e.from, e.to, label_size(e.label)});
  out.places = place(out.sizes, edges, rightwards);
  return out;
}

// ---- drawing --------------------------------------------------------------------------------

class painter {
public:
  explicit painter(const draw_options& options)
    : rightwards_{options.direction == draw_direction::right},
      smooth_{options.curve == draw_curve::smooth},
      title_{printable(options.title)},
      colors_{safe_colors(options.colors)} {}

  std::string paint(const compiled_graph& graph, const drawn_graph& drawn) && {
    auto placed = measure(drawn, rightwards_);
    double head = title_.empty() ? 0 : title_size + margin;
    double title_width = text_width(title_) * title_size;
    double content = placed.places.whole.width;
    double width = std::ceil(std::max(content, title_width) + 2 * margin);
    double height = std::ceil(placed.places.whole.height + head + 2 * margin);
    open(graph, width, height);
    if (!title_.empty())
      text({width / 2, margin + title_size}, title_, title_size, " text-anchor=\"middle\"");
    content_of(drawn, placed, {std::round((width - content) / 2), margin + head});
    return std::move(out_) + "</svg>\n";
  }

private:
  void open(const compiled_graph& graph, double width, double height) {
    auto size = number(width) + " " + number(height);
    out_ = "<svg xmlns=\"http://www.w3.org/2000/svg\"" + attribute("width", width)
           + attribute("height", height) + attribute("viewBox", "0 0 " + size)
           + " role=\"img\" font-family=\"Helvetica, Arial, sans-serif\">\n<title>"
           + xml_escaped(title_.empty() ? printable(graph.name()) : title_) + "</title>\n"
           + "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n";
  }

  // Edges are drawn below nodes: where an edge goes straight, nodes stay readable.
  void content_of(const drawn_graph& graph, const placed_graph& placed, point origin) {
    for (std::size_t e = 0; e < graph.edges.size(); ++e)
      edge(graph.edges[e], placed.places.edges[e], origin);
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      auto at = moved(placed.places.items[n], origin);
      if (graph.nodes[n].inside)
        box(graph.nodes[n], placed.inside[n], at, placed.sizes[n]);
      else
        node(graph.nodes[n], at, placed.sizes[n]);
    }
    for (std::size_t e = 0; e < graph.edges.size(); ++e)
      label(graph.edges[e].label, moved(placed.places.edges[e].label, origin));
  }

  static point moved(point p, point by) { return {p.x + by.x, p.y + by.y}; }

  // ---- nodes --------------------------------------------------------------------------------

  void node(const drawn_node& node, point at, extent size) {
    out_ += "<g class=\"node\"" + attribute("data-node", xml_escaped(node.path)) + ">";
    tooltip(node.name);
    bool is_end = node.shape == node_shape::start || node.shape == node_shape::end;
    double radius = is_end ? size.height / 2 : 6;
    rectangle(at, size, radius, fill_of(node.shape), border);
    if (node.shape == node_shape::graph) // a second border
      rectangle({at.x + 3, at.y + 3}, {size.width - 6, size.height - 6}, 4, "none", border);
    point middle{at.x + size.width / 2, at.y + node_height / 2 + name_size * 0.35};
    text(middle, cut(node.name), name_size, " text-anchor=\"middle\"");
    for (const auto& detail : node.details)
      text({middle.x, middle.y += line_height}, detail, small_size, " text-anchor=\"middle\"");
    out_ += "</g>\n";
  }

  void box(const drawn_node& node, const placed_graph& inside, point at, extent size) {
    out_ += "<g class=\"box\"" + attribute("data-node", xml_escaped(node.path)) + ">";
    tooltip(node.name);
    rectangle(at, size, 8, colors_.box, box_border);
    point head{at.x + box_padding, at.y + 20};
    text(head, cut(node.name), name_size, " font-weight=\"bold\"");
    for (const auto& detail : node.details)
      text({head.x, head.y += line_height}, detail, small_size, "");
    out_ += "\n";
    double side = (size.width - inside.places.whole.width) / 2;
    content_of(*node.inside, inside, {at.x + side, at.y + box_head + details_height(node)});
    out_ += "</g>\n";
  }

  const std::string& fill_of(node_shape shape) const {
    return shape == node_shape::start ? colors_.start
           : shape == node_shape::end ? colors_.end
                                      : colors_.node;
  }

  // ---- edges --------------------------------------------------------------------------------

  void edge(const drawn_edge& e, const placed_edge& placed, point origin) {
    std::vector<point> path;
    for (auto p : placed.path)
      path.push_back(moved(p, origin));
    out_ +=
      "<path" + attribute("d", placed.leads == placed_edge::way::loop ? loop(path) : curve(path))
      + " fill=\"none\"" + attribute("stroke", line) + " stroke-width=\"1.3\""
      + (e.dotted ? " stroke-dasharray=\"1 4\" stroke-linecap=\"round\"" : "") + "/>" + "<path"
      + attribute("d", head(path.back(), placed.leads)) + attribute("fill", line) + "/>\n";
  }

  static std::string pair(point p) { return number(p.x) + " " + number(p.y); }

  static std::string loop(std::span<const point> p) {
    return "M" + pair(p[0]) + " C" + pair(p[1]) + " " + pair(p[2]) + " " + pair(p[3]);
  }

  // Along the layers' direction at every point.
  std::string curve(std::span<const point> path) const {
    auto out = "M" + pair(path[0]);
    for (std::size_t i = 1; i < path.size(); ++i) {
      auto a = path[i - 1];
      auto b = path[i];
      if (!smooth_ || a.x == b.x || a.y == b.y) {
        out += " L" + pair(b);
        continue;
      }
      point middle{(a.x + b.x) / 2, (a.y + b.y) / 2};
      auto first = rightwards_ ? point{middle.x, a.y} : point{a.x, middle.y};
      auto second = rightwards_ ? point{middle.x, b.y} : point{b.x, middle.y};
      out += " C" + pair(first) + " " + pair(second) + " " + pair(b);
    }
    return out;
  }

  // Onward edges end at the side where layers begin, back edges at the other side, loops beside the
  // item.
  std::string head(point tip, placed_edge::way leads) const {
    double length = leads == placed_edge::way::onward ? -arrow_length : arrow_length;
    bool along_x = rightwards_ != (leads == placed_edge::way::loop);
    auto at = [&](double along, double across) {
      return along_x ? point{tip.x + along, tip.y + across} : point{tip.x + across, tip.y + along};
    };
    return "M" + pair(tip) + " L" + pair(at(length, -arrow_half)) + " L"
           + pair(at(length, arrow_half)) + " Z";
  }

  void label(const std::string& words, point middle) {
    if (words.empty())
      return;
    auto size = label_size(words);
    out_ += "<g class=\"label\">";
    tooltip(words);
    out_ += "<rect" + place_of({middle.x - size.width / 2, middle.y - size.height / 2}, size)
            + " rx=\"3\" fill=\"#ffffff\" fill-opacity=\"0.9\"/>";
    text({middle.x, middle.y + small_size * 0.35}, cut(words), small_size,
         " text-anchor=\"middle\"");
    out_ += "</g>\n";
  }

  // ---- elements -----------------------------------------------------------------------------

  // The whole name, where only its beginning is drawn.
  void tooltip(const std::string& name) {
    if (cut(name) != name)
      out_ += "<title>" + xml_escaped(name) + "</title>";
  }

  static std::string place_of(point at, extent size) {
    return attribute("x", at.x) + attribute("y", at.y) + attribute("width", size.width)
           + attribute("height", size.height);
  }

  void rectangle(point at, extent size, double radius, std::string_view fill,
                 std::string_view stroke) {
    out_ += "<rect" + place_of(at, size) + attribute("rx", radius) + attribute("fill", fill)
            + attribute("stroke", stroke) + "/>";
  }

  void text(point at, std::string_view words, double size, std::string_view more) {
    out_ += "<text" + attribute("x", at.x) + attribute("y", at.y) + attribute("font-size", size)
            + attribute("fill", ink) + std::string{more} + ">" + xml_escaped(words) + "</text>";
  }

  bool rightwards_;
  bool smooth_;
  std::string title_;
  draw_colors colors_;
  std::string out_;
};

} // namespace
} // namespace drawing

std::string compiled_graph::draw_svg(const draw_options& options) const {
  return drawing::painter{options}.paint(*this, drawing::make_drawn_graph(*this, options));
}

} // namespace troupe
