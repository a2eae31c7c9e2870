// Graphs for the tests of drawing: small ones, nested ones, and ones with names that mean harm.
#pragma once

#include <troupe/state_graph.hpp>

#include <array>
#include <initializer_list>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe::drawing_samples {

using labels = std::vector<std::pair<std::string, std::string>>;

inline value nothing(const state_view&) {
  return {};
}
inline const char* to_end(const state_view&) {
  return END;
}

inline bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// Nodes without edges.
inline state_graph<> graph_of(std::initializer_list<const char*> nodes) {
  state_graph<> g{{{"x", last_value}}};
  for (auto* n : nodes)
    g.add_node(n, nothing);
  return g;
}

/// START, the nodes one after another, END.
inline compiled_graph chain(const std::vector<std::string>& nodes, std::string name = "chain") {
  state_graph<> g{{{"x", last_value}}};
  std::string before = START;
  for (const auto& n : nodes) {
    g.add_node(n, nothing);
    g.add_edge(before, n);
    before = n;
  }
  g.add_edge(before, END);
  return g.compile({.name = std::move(name)});
}

/// n0, n1, …
inline std::vector<std::string> numbered(int count) {
  std::vector<std::string> out;
  for (int i = 0; i < count; ++i)
    out.push_back("n" + std::to_string(i));
  return out;
}

/// A writer that is sent back until its plan is done.
inline compiled_graph loop() {
  auto g = graph_of({"plan", "write"});
  g.add_edge(START, "plan");
  g.add_edge("write", "plan");
  g.add_conditional_edges("plan", to_end, labels{{"more", "write"}, {"done", END}});
  return g.compile();
}

inline compiled_graph fan_out() {
  auto g = graph_of({"split", "left", "right", "join"});
  g.add_edge(START, "split");
  g.add_edge("split", "left");
  g.add_edge("split", "right");
  g.add_edge({"left", "right"}, "join");
  g.add_edge("join", END);
  return g.compile();
}

/// first → middle (a graph with a graph `inner`), and `caller`, which calls a graph.
inline compiled_graph nested() {
  state_graph<> middle{{{"x", last_value}}};
  middle.add_node("inner", chain({"deep"}));
  middle.add_edge(START, "inner");
  auto g = graph_of({"first"});
  g.add_node("middle", middle.compile());
  g.add_node("caller", nothing, {.calls = {chain({"called"}, "helper")}});
  g.add_edge(START, "first");
  g.add_conditional_edges("first", to_end, {"middle", "caller"});
  g.add_edge("middle", "caller");
  return g.compile();
}

/// Pieces of text that mean something to one of the formats.
inline constexpr std::array hostile_pieces{
  "\"",     "'",      "]",         "[",      ")",           "-->",   "-.->",      "<script>",
  "</svg>", "&",      "&amp;",     "]]>",    "<!--",        "\n",    "\r\n",      "\t",
  "\\",     "\\\"",   "\\N",       "end",    "subgraph",    ";",     "%%",        "%%{init: {}}%%",
  "#",      "#quot;", "direction", " TB",    "click",       "`",     "**",        "_",
  "- ",     "1. ",    "{",         "}",      "x",           "\x01",  "\x7f",      "\xff",
  "\xc3",   "é",      "\u202e",    "\u2028", "日本",        "style", "classDef ", "---",
  "/*",     "//",     "\0x",       "$$x$$",  "\xed\xa0\x80"};

inline std::string hostile_text(std::mt19937& random) {
  std::string out;
  for (auto n = 1 + random() % 5; n > 0; --n)
    out += hostile_pieces[random() % hostile_pieces.size()];
  return out + " ";
}

/// A nested graph whose names, labels, metadata and title are hostile; the same for a seed.
struct hostile {
  compiled_graph graph;
  draw_options options;
};
inline hostile hostile_graph(unsigned seed) {
  std::mt19937 random{seed};
  auto node_name = [&random](int i) {
    auto name = hostile_text(random);
    for (auto c : {'|', ':'})
      std::erase(name, c);
    return name + std::to_string(i);
  };
  state_graph<> inner{{{"x", last_value}}};
  auto in = node_name(0);
  inner.add_node(in, nothing);
  inner.add_edge(START, in);
  state_graph<> g{{{"x", last_value}}};
  std::vector<std::string> names;
  for (int i = 0; i < 4; ++i) {
    names.push_back(node_name(i));
    auto metadata = value::map({{hostile_text(random), value{hostile_text(random)}}});
    if (i % 2 == 0)
      g.add_node(names.back(), nothing, {.metadata = metadata});
    else
      g.add_node(names.back(), inner.compile(), {.metadata = metadata});
  }
  g.add_edge(START, names[0]);
  labels map;
  for (const auto& n : names)
    map.emplace_back(hostile_text(random) + n, n);
  g.add_conditional_edges(names[0], to_end, map);
  g.add_conditional_edges(names[1], to_end, map);
  return {g.compile({.name = hostile_text(random)}),
          {.xray = seed % 3,
           .title = hostile_text(random),
           .colors = {.node = hostile_text(random), .start = "#fff\"", .box = "red;"}}};
}

} // namespace troupe::drawing_samples
