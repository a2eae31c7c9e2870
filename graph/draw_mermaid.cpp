// A drawn graph as a Mermaid flowchart.
#include "graph/draw_model.hpp"
#include "graph/draw_text.hpp"

#include <string_view>

namespace troupe {
namespace drawing {
namespace {

// ---- text -----------------------------------------------------------------------------------

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')
         || static_cast<unsigned char>(c) >= 0x80;
}

// Marks without a meaning at this place; elsewhere some begin a list or set text in italics.
bool is_harmless(char before, char mark, char after) {
  switch (mark) {
    case ',':
    case '=': return true;
    case ' ': return before != ' ' && after != ' ';
    case '_':
    case '-':
    case '.': return is_word(before) && is_word(after);
    default: return false;
  }
}

// The lexer looks for `direction TB` before it looks for quotes, anywhere in a line.
bool begins_direction(std::string_view text) {
  return text.starts_with("direction");
}

// Text for use within double quotes: everything but words becomes entity codes, which Mermaid turns
// back after parsing.
std::string mermaid_string(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char before = i == 0 ? ' ' : text[i - 1];
    char after = i + 1 == text.size() ? ' ' : text[i + 1];
    bool plain = is_word(text[i]) ? !begins_direction(text.substr(i))
                                  : is_harmless(before, text[i], after);
    if (plain)
      out += text[i];
    else
      out += "#" + std::to_string(static_cast<int>(text[i])) + ";";
  }
  return out;
}

std::string mermaid_label(const drawn_node& node) {
  auto out = "\"" + mermaid_string(node.name);
  for (const auto& line : node.details)
    out += "<br/>" + mermaid_string(line);
  return out + "\"";
}

// ---- the front ------------------------------------------------------------------------------

std::string yaml_string(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string frontmatter(const draw_options& options) {
  std::string out = options.mermaid_frontmatter;
  if (out.empty()) {
    if (!options.title.empty())
      out += "title: " + yaml_string(printable(options.title)) + "\n";
    if (options.curve == draw_curve::straight)
      out += "config:\n  flowchart:\n    curve: linear\n";
  }
  if (out.empty())
    return out;
  return "---\n" + out + (out.ends_with('\n') ? "" : "\n") + "---\n";
}

// ---- nodes and edges ------------------------------------------------------------------------

class mermaid_writer {
public:
  explicit mermaid_writer(const draw_options& options)
    : down_{options.direction == draw_direction::down},
      colors_{safe_colors(options.colors)} {
    out_ = frontmatter(options) + "flowchart " + (down_ ? "TD" : "LR") + "\n";
  }

  std::string write(const drawn_graph& graph) && {
    content(graph, "  ");
    style("default", "fill:" + colors_.node + ",stroke:#8a7fd0,color:#1f1b3a");
    style("first", "fill:" + colors_.start);
    style("last", "fill:" + colors_.end);
    if (has_marks_) {
      style("ran", "fill:" + colors_.ran);
      style("waits", "fill:" + colors_.waits);
      style("failed", "fill:" + colors_.failed);
    }
    if (!boxes_.empty()) {
      style("box", "fill:" + colors_.box + ",stroke:#b8b2dc");
      out_ += "  class " + boxes_ + " box\n";
    }
    return std::move(out_);
  }

private:
  void content(const drawn_graph& graph, const std::string& indent) {
    for (const auto& node : graph.nodes)
      if (node.inside)
        box(node, indent);
      else
        out_ += indent + node.id + shape_of(node) + mark_of(node) + "\n";
    for (const auto& e : graph.edges)
      edge(graph, e, indent);
  }

  // Sets the direction itself: without it, Mermaid turns a block that no edge leads into.
  void box(const drawn_node& node, const std::string& indent) {
    out_ += indent + "subgraph " + node.id + "[" + mermaid_label(node) + "]\n";
    out_ += indent + "  direction " + (down_ ? "TB" : "LR") + "\n";
    content(*node.inside, indent + "  ");
    out_ += indent + "end\n";
    boxes_ += (boxes_.empty() ? "" : ",") + node.id;
  }

  std::string mark_of(const drawn_node& node) {
    has_marks_ = has_marks_ || node.mark != node_mark::none;
    switch (node.mark) {
      case node_mark::none: return {};
      case node_mark::ran: return ":::ran";
      case node_mark::waits: return ":::waits";
      case node_mark::failed: return ":::failed";
    }
    return {};
  }

  static std::string shape_of(const drawn_node& node) {
    switch (node.shape) {
      case node_shape::start: return "([" + mermaid_label(node) + "]):::first";
      case node_shape::end: return "([" + mermaid_label(node) + "]):::last";
      case node_shape::plain: return "[" + mermaid_label(node) + "]";
      case node_shape::graph: return "[[" + mermaid_label(node) + "]]";
    }
    return {};
  }

  void edge(const drawn_graph& graph, const drawn_edge& e, const std::string& indent) {
    const auto* from = &graph.nodes[e.from];
    const auto* to = &graph.nodes[e.to];
    if (from == to && from->inside) { // a block can't have an edge to itself
      const auto& inside = *from->inside;
      to = inside.find(node_shape::start);
      from = inside.find(node_shape::end);
      from = from ? from : to;
    }
    out_ += indent + from->id + (e.dotted ? " -.->" : " -->");
    if (!e.label.empty())
      out_ += "|\"" + mermaid_string(e.label) + "\"|";
    out_ += " " + to->id + "\n";
  }

  void style(std::string_view name, const std::string& what) {
    out_ += "  classDef " + std::string{name} + " " + what + "\n";
  }

  bool down_;
  draw_colors colors_;
  std::string out_;
  bool has_marks_ = false;
  std::string boxes_; // their ids, with commas
};

} // namespace
} // namespace drawing

std::string compiled_graph::draw_mermaid(const draw_options& options) const {
  return drawing::mermaid_writer{options}.write(drawing::make_drawn_graph(*this, options));
}

} // namespace troupe
