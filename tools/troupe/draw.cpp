// troupe draw: a graph as a picture, with the runs of a thread on it.
#include "tools/troupe/commands.hpp"
#include "tools/troupe/graph_catalog.hpp"
#include "tools/troupe/graphviz.hpp"
#include "tools/troupe/kept_place.hpp"

#include <troupe/limits.hpp>
#include <troupe/run_trace.hpp>
#include <troupe/runtime.hpp>

#include <CLI/CLI.hpp>

#include <chrono>
#include <iostream>
#include <map>
#include <set>
#include <string>

namespace troupe::cli {

namespace {

const std::set<std::string> formats{"mermaid", "dot", "svg", "png", "ascii"};
const std::map<std::string, draw_direction> directions{{"down", draw_direction::down},
                                                       {"right", draw_direction::right}};

struct draw_flags {
  std::string graph;
  std::string format = "mermaid";
  std::string direction = "down";
  double timeout = 30; // seconds
  std::string thread;  // empty: no runs are drawn
  std::shared_ptr<kept_place> place;
  draw_options options;
};

// The runs of the thread, also what waits in nested graphs.
run_trace trace_of_thread(const draw_flags& flags, const compiled_graph& graph) {
  runtime rt{{.saver = flags.place->saver_to_look()}};
  auto app = rt.load(graph);
  auto history = app.get_state_history({.thread_id = flags.thread});
  if (history.empty())
    throw flags.place->unknown_thread(flags.thread);
  history.front() = app.get_state({.thread_id = flags.thread}, true);
  return trace_of(history);
}

std::string drawing(const draw_flags& flags) {
  auto graph = find_graph(flags.graph);
  auto options = flags.options;
  options.direction = directions.at(flags.direction);
  if (!flags.thread.empty())
    options.trace = trace_of_thread(flags, graph);
  if (flags.format == "mermaid")
    return graph.draw_mermaid(options);
  auto text = graph.draw_dot(options);
  if (flags.format == "dot")
    return text;
  auto patience =
    std::chrono::ceil<std::chrono::milliseconds>(std::chrono::duration<double>{flags.timeout});
  if (flags.format != "ascii")
    return graphviz_picture(text, flags.format, patience);
  auto boxes = graph_easy_text(text, patience);
  return boxes ? *boxes : graph.draw_ascii(options);
}

} // namespace

void add_draw(CLI::App& app, chosen_command& chosen) {
  auto* command = app.add_subcommand("draw", "Print a graph as a picture");
  auto flags = std::make_shared<draw_flags>();
  command->add_option("GRAPH", flags->graph, "A built-in graph, or path/to/lib.so:name")
    ->required();
  command
    ->add_option("--format", flags->format,
                 "mermaid, dot, svg, png or ascii; svg and png need Graphviz, and graph-easy draws "
                 "ascii where it is installed")
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
  command->add_option("--timeout", flags->timeout, "How long the other program may take")
    ->type_name("SECONDS")
    ->check(CLI::Range(0.001, 3600.0))
    ->capture_default_str();
  command
    ->add_option("--thread", flags->thread,
                 "Draw the runs of this thread: what ran, how often and long, and where it waits")
    ->type_name("ID");
  flags->place = add_kept_place(*command);
  command->callback([&chosen, flags] {
    chosen.run = [flags] {
      std::cout << drawing(*flags);
      return 0;
    };
  });
}

} // namespace troupe::cli
