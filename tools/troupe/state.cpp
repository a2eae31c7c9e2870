// troupe state, troupe history: what a thread holds now, and what it held before.
#include "tools/troupe/commands.hpp"
#include "tools/troupe/graph_catalog.hpp"
#include "tools/troupe/json_lines.hpp"
#include "tools/troupe/number_checks.hpp"
#include "tools/troupe/terminal.hpp"

#include <CLI/CLI.hpp>

#include <iostream>

namespace troupe::cli {

namespace {

struct state_flags {
  std::string graph, thread, checkpoint;
  std::shared_ptr<kept_place> place;
  std::size_t limit = 0;
};

value to_value(const std::vector<task_snapshot>& tasks) {
  std::vector<value> out;
  for (const auto& t : tasks)
    out.push_back(value::map({{"id", t.id},
                              {"name", t.name},
                              {"path", t.path},
                              {"error", t.error},
                              {"result", t.result.value_or(nullptr)}}));
  return value::list(std::move(out));
}

std::string next_of(const state_snapshot& s) {
  if (s.tasks.empty())
    return "(nothing: it is finished)";
  std::string out;
  for (const auto& n : s.next)
    out += (out.empty() ? "" : ", ") + n;
  return out.empty() ? "(the end of the step: its tasks have run)" : out;
}

std::string step_of(const state_snapshot& s) {
  const auto& source = s.metadata["source"];
  return "step " + to_json(s.metadata["step"]) + ", "
         + (source.is_string() ? source.as<std::string>() : "unknown source");
}

void print_snapshot(const state_snapshot& s) {
  terminal out{STDOUT_FILENO};
  auto line = [&out](const char* name, const std::string& text) {
    std::cout << out.paint(style::bold, name) << one_line(text) << "\n";
  };
  line("thread      ", s.config.thread_id);
  line("checkpoint  ", s.config.checkpoint_id);
  line("created     ", s.created_at + ", " + step_of(s));
  line("next        ", next_of(s));
  for (const auto& q : s.interrupts)
    line("asks        ", to_json(q.value) + " (" + q.id + ")");
  for (const auto& t : s.tasks)
    if (!t.error.is_null())
      line("failed      ", t.name + ": " + to_json(t.error));
  line("values", "");
  std::cout << to_json(s.values, 2) << "\n";
}

// Lends an app, which must not outlive its runtime.
template <class Read> int with_app(const state_flags& o, Read read) {
  auto graph = find_graph(o.graph);
  runtime rt{{.saver = o.place->saver_to_look()}};
  return read(rt.load(graph));
}

int show_state(const state_flags& o, bool json) {
  return with_app(o, [&](const app<>& app) {
    auto now = app.get_state({.thread_id = o.thread, .checkpoint_id = o.checkpoint});
    if (now.config.checkpoint_id.empty() || now.created_at.empty())
      throw unknown_checkpoint(app, o.thread, o.checkpoint, *o.place);
    if (json)
      print_line(json_line(now));
    else
      print_snapshot(now);
    return 0;
  });
}

int show_history(const state_flags& o, bool json) {
  return with_app(o, [&](const app<>& app) {
    history_options how;
    if (o.limit > 0)
      how.limit = o.limit;
    auto history = app.get_state_history({.thread_id = o.thread}, how);
    if (history.empty())
      throw o.place->unknown_thread(o.thread);
    for (const auto& s : history)
      if (json)
        print_line(json_line(s));
      else
        std::cout << s.config.checkpoint_id << "  " << s.created_at << "  " << step_of(s)
                  << "  next: " << next_of(s) << "\n";
    return 0;
  });
}

std::shared_ptr<state_flags> add_options(CLI::App& command, chosen_command& chosen) {
  auto o = std::make_shared<state_flags>();
  command.add_option("GRAPH", o->graph, "The graph the thread belongs to")->required();
  command.add_option("--thread", o->thread, "The thread")->type_name("ID")->required();
  o->place = add_kept_place(command);
  command.add_flag("--json", chosen.json, "Print one JSON object a line");
  return o;
}

} // namespace

std::string json_line(const state_snapshot& s) {
  return json_line("state", {{"thread", to_json(s.config.thread_id)},
                             {"checkpoint_id", to_json(s.config.checkpoint_id)},
                             {"parent_id", to_json(s.parent_id)},
                             {"created_at", to_json(s.created_at)},
                             {"metadata", to_json(s.metadata)},
                             {"next", to_json(value::of(s.next))},
                             {"interrupts", to_json(to_value(s.interrupts))},
                             {"tasks", to_json(to_value(s.tasks))},
                             {"values", to_json(s.values)}});
}

void add_state(CLI::App& app, chosen_command& chosen) {
  auto* command = app.add_subcommand("state",
                                     "Show the state of a thread, and the question it waits for");
  auto o = add_options(*command, chosen);
  command->add_option("--checkpoint", o->checkpoint, "An older checkpoint; history lists them")
    ->type_name("ID");
  command->callback(
    [&chosen, o] { chosen.run = [&chosen, o] { return show_state(*o, chosen.json); }; });
}

void add_history(CLI::App& app, chosen_command& chosen) {
  auto* command = app.add_subcommand("history", "List a thread's checkpoints, the newest first");
  auto o = add_options(*command, chosen);
  command->add_option("--limit", o->limit, "Most checkpoints to list")
    ->type_name("N")
    ->check(positive_number);
  command->callback(
    [&chosen, o] { chosen.run = [&chosen, o] { return show_history(*o, chosen.json); }; });
}

} // namespace troupe::cli
