// troupe graphs: what there is to run.
#include "tools/troupe/commands.hpp"
#include "tools/troupe/graph_catalog.hpp"
#include "tools/troupe/json_lines.hpp"
#include "tools/troupe/terminal.hpp"

#include <CLI/CLI.hpp>

#include <iostream>

namespace troupe::cli {

namespace {

int list_graphs(bool json) {
  terminal out{STDOUT_FILENO};
  for (const auto& g : builtin_graphs()) {
    if (json) {
      print_line(json_line("graph", {{"name", to_json(g.name)},
                                     {"what", to_json(g.what)},
                                     {"input", g.input},
                                     {"nodes", to_json(value::of(g.build().nodes()))}}));
      continue;
    }
    std::string name = g.name;
    name.resize(8, ' ');
    std::cout << out.paint(style::bold, name) << g.what << "\n        "
              << out.paint(style::faint, std::string{"--input '"} + g.input + "'") << "\n";
  }
  return 0;
}

} // namespace

void add_graphs(CLI::App& app, chosen_command& chosen) {
  auto* command = app.add_subcommand("graphs", "List the built-in graphs");
  command->add_flag("--json", chosen.json, "Print one JSON object a line");
  command->callback([&chosen] { chosen.run = [&chosen] { return list_graphs(chosen.json); }; });
}

} // namespace troupe::cli
