// troupe draw: what a graph looks like.
#include "tools/troupe/commands.hpp"
#include "tools/troupe/graph_catalog.hpp"
#include "tools/troupe/graphviz.hpp"

#include <troupe/limits.hpp>

#include <CLI/CLI.hpp>

#include <chrono>
#include <iostream>
#include <map>
#include <set>
#include <string>

namespace troupe::cli {

namespace {

const std::set<std::string> formats{"mermaid", "dot", "svg", "png"};
const std::map<std::string, draw_direction> directions{{"down", draw_direction::down},
                                                       {"right", draw_direction::right}};

struct draw_flags {
  std::string graph;
  std::string format = "mermaid";
  std::string direction = "down";
  double timeout = 30; // seconds
  draw_options options;
};

std::string drawing(const draw_flags& flags) {
  auto graph = find_graph(flags.graph);
  auto options = flags.options;
  options.direction = directions.at(flags.direction);
  if (flags.format == "mermaid")
    return graph.draw_mermaid(options);
  auto text = graph.draw_dot(options);
  if (flags.format == "dot")
    return text;
  std::chrono::duration<double> patience{flags.timeout};
  return graphviz_picture(text, flags.format,
                          std::chrono::ceil<std::chrono::milliseconds>(patience));
}

} // namespace

void add_draw(CLI::App& app, chosen_command& chosen) {
  auto* command = app.add_subcommand("draw", "Print a graph as a picture");
  auto flags = std::make_shared<draw_flags>();
  command->add_option("GRAPH", flags->graph, "A built-in graph, or path/to/lib.so:name")
    ->required();
  command
    ->add_option("--format", flags->format, "mermaid, dot, svg or png; Graphviz makes the last two")
    ->check(CLI::IsMember(formats))
    ->capture_default_str();
  command->add_option("--direction", flags->direction, "The direction of edges: down or right")
    ->check(CLI::IsMember(directions))
    ->capture_default_str();
  constexpr int levels_max = limits::graph_depth_max;
  command
    ->add_flag("--xray{" + std::to_string(levels_max) + "}", flags->options.xray,
               "Show the insides of nested graphs; --xray=N only of N levels")
    ->check(CLI::Range(0, levels_max));
  command->add_option("--title", flags->options.title, "The text above the picture");
  command->add_option("--timeout", flags->timeout, "How long Graphviz may take for svg or png")
    ->type_name("SECONDS")
    ->check(CLI::Range(0.001, 3600.0))
    ->capture_default_str();
  command->callback([&chosen, flags] {
    chosen.run = [flags] {
      std::cout << drawing(*flags);
      return 0;
    };
  });
}

} // namespace troupe::cli
