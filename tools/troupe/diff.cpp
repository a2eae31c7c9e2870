// troupe diff: what changed between two checkpoints of a thread.
#include "tools/troupe/commands.hpp"
#include "tools/troupe/failure.hpp"
#include "tools/troupe/graph_catalog.hpp"
#include "tools/troupe/json_lines.hpp"
#include "tools/troupe/terminal.hpp"

#include <troupe/diff.hpp>

#include <CLI/CLI.hpp>

#include <iostream>

namespace troupe::cli {

namespace {

struct diff_flags {
  std::string graph, thread, from, to;
  std::shared_ptr<kept_place> place;
};

state_snapshot read(const app<>& app, const diff_flags& o, const std::string& checkpoint) {
  auto found = app.get_state({.thread_id = o.thread, .checkpoint_id = checkpoint});
  if (!found.created_at.empty())
    return found;
  throw unknown_checkpoint(app, o.thread, checkpoint, *o.place);
}

// The parent, which may have been pruned, where --from names none.
state_snapshot read_earlier(const app<>& app, const diff_flags& o, const state_snapshot& later,
                            const std::string& checkpoint) {
  auto found = app.get_state({.thread_id = o.thread, .checkpoint_id = checkpoint});
  if (o.from.empty() && found.created_at.empty())
    throw error{errc::checkpoint_missing,
                "diff: the checkpoint before " + later.config.checkpoint_id
                  + " was removed: name another one with --from; history lists them"};
  return read(app, o, checkpoint);
}

value to_value(const value_change& c) {
  auto out = value::map({{"path", c.path}});
  if (c.before)
    out = out.with("before", *c.before);
  if (c.after)
    out = out.with("after", *c.after);
  return out;
}

void print_json(const state_snapshot& a, const state_snapshot& b, const state_diff& diff) {
  std::vector<value> changes;
  for (const auto& c : diff.values)
    changes.push_back(to_value(c));
  print_line(json_line("diff", {{"from", to_json(a.config.checkpoint_id)},
                                {"to", to_json(b.config.checkpoint_id)},
                                {"steps", std::to_string(diff.steps)},
                                {"values", to_json(value::list(std::move(changes)))},
                                {"next_gone", to_json(value::of(diff.next_gone))},
                                {"next_new", to_json(value::of(diff.next_new))}}));
}

void print_text(const state_snapshot& a, const state_snapshot& b, const state_diff& diff) {
  terminal out{STDOUT_FILENO};
  std::cout << out.paint(style::bold, a.config.checkpoint_id + " -> " + b.config.checkpoint_id)
            << ", " << diff.steps << (diff.steps == 1 ? " step\n" : " steps\n");
  for (const auto& c : diff.values) {
    if (c.before)
      std::cout << "- " << one_line(c.path + " " + to_json(*c.before)) << "\n";
    if (c.after)
      std::cout << "+ " << one_line(c.path + " " + to_json(*c.after)) << "\n";
  }
  for (const auto& n : diff.next_gone)
    std::cout << "- next: " << one_line(n) << "\n";
  for (const auto& n : diff.next_new)
    std::cout << "+ next: " << one_line(n) << "\n";
  if (diff.values.empty() && diff.next_gone.empty() && diff.next_new.empty())
    std::cout << "(nothing differs)\n";
}

int show_diff(const diff_flags& o, bool json) {
  auto graph = find_graph(o.graph);
  runtime rt{{.saver = o.place->saver_to_look()}};
  auto app = rt.load(graph);
  auto b = read(app, o, o.to);
  auto from = o.from.empty() ? b.parent_id : o.from;
  auto a = from.empty() ? state_snapshot{} : read_earlier(app, o, b, from);
  if (from.empty())
    a.values = value::map();
  auto diff = diff_states(a, b);
  json ? print_json(a, b, diff) : print_text(a, b, diff);
  return 0;
}

} // namespace

void add_diff(CLI::App& app, chosen_command& chosen) {
  auto* command = app.add_subcommand("diff", "Show what changed between two checkpoints");
  auto o = std::make_shared<diff_flags>();
  command->add_option("GRAPH", o->graph, "The graph the thread belongs to")->required();
  command->add_option("--thread", o->thread, "The thread")->type_name("ID")->required();
  command->add_option("--from", o->from, "The earlier checkpoint; the parent of --to when left out")
    ->type_name("ID");
  command->add_option("--to", o->to, "The later checkpoint; the newest when left out")
    ->type_name("ID");
  o->place = add_kept_place(*command);
  command->add_flag("--json", chosen.json, "Print one JSON object");
  command->callback(
    [&chosen, o] { chosen.run = [&chosen, o] { return show_diff(*o, chosen.json); }; });
}

} // namespace troupe::cli
