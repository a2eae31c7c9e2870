// troupe graphs: what there is to run.
#include "tools/troupe/commands.hpp"
#include "tools/troupe/graph_catalog.hpp"
#include "tools/troupe/json_lines.hpp"
#include "tools/troupe/library_graphs.hpp"
#include "tools/troupe/terminal.hpp"

#include <CLI/CLI.hpp>

#include <iostream>

namespace troupe::cli {

namespace {

int list_graphs(bool json) {
  terminal out{STDOUT_FILENO};
  for (const auto& g : builtin_graphs()) {
    std::string what = g.what;
    if (*g.advice)
      what += std::string{"; "} + g.advice;
    if (json) {
      print_line(json_line("graph", {{"name", to_json(g.name)},
                                     {"what", to_json(what)},
                                     {"input", g.input},
                                     {"nodes", to_json(value::of(g.build().nodes()))}}));
      continue;
    }
    std::string name = g.name;
    name.resize(8, ' ');
    std::cout << out.paint(style::bold, name) << what << "\n        "
              << out.paint(style::faint, std::string{"--input '"} + g.input + "'") << "\n";
  }
  return 0;
}

int list_library(const std::string& library, bool json) {
  terminal out{STDOUT_FILENO};
  for (const auto& name : graphs_of_library(library)) {
    auto path = library + ":" + name;
    auto nodes = find_graph(path).nodes();
    if (json) {
      print_line(
        json_line("graph", {{"name", to_json(path)}, {"nodes", to_json(value::of(nodes))}}));
      continue;
    }
    std::string list;
    for (const auto& n : nodes)
      list += (list.empty() ? "" : ", ") + one_line(n);
    std::cout << out.paint(style::bold, one_line(path)) << "  " << list << "\n";
  }
  return 0;
}

} // namespace

void add_graphs(CLI::App& app, chosen_command& chosen) {
  auto* command = app.add_subcommand("graphs", "List the built-in graphs, or those of a library");
  auto library = std::make_shared<std::string>();
  command->add_option("LIBRARY", *library, "A shared library of graphs: path/to/lib.so");
  command->add_flag("--json", chosen.json, "Print one JSON object a line");
  command->callback([&chosen, library] {
    chosen.run = [&chosen, library] {
      return library->empty() ? list_graphs(chosen.json) : list_library(*library, chosen.json);
    };
  });
}

} // namespace troupe::cli
