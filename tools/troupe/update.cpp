// troupe update: writes to the state of a thread as if a node had.
#include "tools/troupe/commands.hpp"
#include "tools/troupe/graph_catalog.hpp"
#include "tools/troupe/json_lines.hpp"
#include "tools/troupe/run_flags.hpp"
#include "tools/troupe/terminal.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <iostream>
#include <string>

namespace troupe::cli {

namespace {

struct update_flags {
  std::string graph, thread, values, as_node, checkpoint;
  std::shared_ptr<kept_place> place;
};

void check_writer(const compiled_graph& graph, const std::string& as_node) {
  auto nodes = graph.nodes();
  if (as_node.empty() || as_node.starts_with("__") // START and END write, too
      || std::ranges::find(nodes, as_node) != nodes.end())
    return;
  std::string list;
  for (const auto& n : nodes)
    list += (list.empty() ? "`" : ", `") + one_line(n) + "`";
  throw error{errc::invalid_config, "--as-node: graph " + graph.name() + " has no node `"
                                      + one_line(as_node) + "`; it has " + list};
}

int update(const update_flags& o, bool json) {
  auto graph = find_graph(o.graph);
  check_writer(graph, o.as_node);
  auto values = parse_text_flag("--values", o.values);
  check_update("--values", graph, values);
  o.place->read_environment();
  o.place->use_default();
  o.place->expect_there();
  runtime rt{o.place->options()};
  auto app = rt.load(graph);
  run_config at{.thread_id = o.thread, .checkpoint_id = o.checkpoint};
  if (app.get_state(at).created_at.empty())
    throw unknown_checkpoint(app, o.thread, o.checkpoint, *o.place);
  auto made = app.update_state(at, state_update{values}, o.as_node);
  if (json)
    print_line(json_line("updated", {{"thread", to_json(made.thread_id)},
                                     {"checkpoint_id", to_json(made.checkpoint_id)}}));
  else
    std::cout << made.checkpoint_id << "\n";
  return 0;
}

} // namespace

void add_update(CLI::App& app, chosen_command& chosen) {
  auto* command = app.add_subcommand(
    "update", "Write to the state of a thread as a node would, and print the new checkpoint's id");
  auto o = std::make_shared<update_flags>();
  command->add_option("GRAPH", o->graph, "The graph the thread belongs to")->required();
  command->add_option("--thread", o->thread, "The thread")->type_name("ID")->required();
  command->add_option("--values", o->values, "The values to write, by channel")
    ->type_name("JSON|@FILE")
    ->required();
  command
    ->add_option("--as-node", o->as_node,
                 "The node that counts as the writer; default: the last one")
    ->type_name("NODE");
  command
    ->add_option("--checkpoint", o->checkpoint,
                 "Write to this older checkpoint, as another branch; history lists them")
    ->type_name("ID");
  o->place = add_kept_place(*command);
  command->add_flag("--json", chosen.json, "Print one JSON object");
  command->callback(
    [&chosen, o] { chosen.run = [&chosen, o] { return update(*o, chosen.json); }; });
}

} // namespace troupe::cli
