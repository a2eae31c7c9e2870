// troupe resume: resumes the threads of a graph whose run was cut off.
#include "tools/troupe/commands.hpp"
#include "tools/troupe/exit_codes.hpp"
#include "tools/troupe/failure.hpp"
#include "tools/troupe/graph_catalog.hpp"
#include "tools/troupe/home_flags.hpp"
#include "tools/troupe/json_lines.hpp"
#include "tools/troupe/number_checks.hpp"
#include "tools/troupe/run_plan.hpp"
#include "tools/troupe/stop_signals.hpp"

#include <CLI/CLI.hpp>

#include <iostream>
#include <optional>

namespace troupe::cli {

namespace {

struct resume_flags {
  std::string graph, filter;
  std::shared_ptr<kept_place> place;
  std::string durability = "async";
  std::string store_history = "all";
  std::optional<std::uint32_t> recursion_limit = std::nullopt;
  bool alone = false, list = false;
  std::shared_ptr<home_flags> home;
};

unfinished_query query_of(const resume_flags& o) {
  unfinished_query out{.filter = {}, .alone = o.alone};
  if (o.filter.empty())
    return out;
  auto filter = from_json(o.filter);
  if (!filter || !filter->is_map())
    throw error{errc::invalid_value,
                "--filter: " + (filter ? "not a map" : filter.error().message())};
  out.filter = *filter;
  return out;
}

void say(const std::string& thread, const std::string& how, bool json) {
  if (json)
    print_line(json_line("thread", {{"thread", to_json(thread)}, {"state", to_json(how)}}));
  else
    std::cout << thread << "  " << how << std::endl;
}

// Reports the end of one thread. The command ends with the worst exit code.
int report(const std::string& thread, const result<run_result>& how, bool json) {
  if (how) {
    say(thread, how->paused() ? "paused" : "done", json);
    return exit_done;
  }
  if (how.error().code() == errc::conflict) { // another process resumed it
    say(thread, "taken over by another process", json);
    return exit_done;
  }
  bool drained = how.error().code() == errc::graph_drained;
  say(thread, drained ? "stopped" : "failed: " + text_of(how.error()), json);
  return exit_code_of_run(how.error());
}

int run(const resume_flags& o, bool json, stop_signals& signals) {
  auto graph = find_graph(o.graph);
  auto query = query_of(o); // before anything is opened
  o.place->read_environment();
  o.place->use_default();
  o.place->expect_there();
  auto options = o.place->options();
  options.workers = o.home->workers();
  runtime rt{std::move(options)};
  auto app = rt.load(graph);
  if (o.list) {
    for (const auto& thread : app.unfinished(query))
      say(thread, "unfinished", json);
    return exit_done;
  }
  run_control control;
  signals.watch(control);
  auto runs = app.resume_unfinished({.durability = parse_durability(o.durability).value(),
                                     .store_history = parse_store_history(o.store_history).value(),
                                     .recursion_limit = o.recursion_limit,
                                     .control = control},
                                    query);
  int out = exit_done;
  for (auto& [thread, run] : runs)
    if (auto code = report(thread, run.get(), json); out == exit_done || out == exit_drained)
      out = code == exit_done ? out : code;
  signals.watch(std::nullopt);
  if (runs.empty() && !json)
    std::cerr << "nothing to resume: no run of " << graph.name() << " was cut off\n";
  return out;
}

} // namespace

void add_resume(CLI::App& app, chosen_command& chosen) {
  auto* command =
    app.add_subcommand("resume", "Resume all threads of a graph whose run was cut off, by a kill "
                                 "or Ctrl-C, but not those that wait for an answer or failed");
  auto o = std::make_shared<resume_flags>();
  command->add_option("GRAPH", o->graph, "A built-in graph, or path/to/lib.so:name")->required();
  o->place = add_kept_place(*command);
  command->add_flag("--list", o->list, "Only list them");
  command->add_option("--filter", o->filter, "Metadata that their newest checkpoint must have")
    ->type_name("JSON");
  command->add_flag(
    "--alone", o->alone,
    "No other process works on the data: also take over the threads of other processes");
  command->add_option("--durability", o->durability, "When progress is stored: sync, async or exit")
    ->type_name("MODE")
    ->check(CLI::IsMember({"sync", "async", "exit"}))
    ->capture_default_str();
  command
    ->add_option("--store-history", o->store_history,
                 "The checkpoints that stay: all, or latest_only")
    ->type_name("WHICH")
    ->check(CLI::IsMember({"all", "latest_only"}))
    ->capture_default_str();
  command
    ->add_option("--recursion-limit", o->recursion_limit,
                 "Most super-steps of a run; default: the limit of the graph")
    ->type_name("N")
    ->check(positive_number);
  o->home = add_home_flags(*command);
  command->add_flag("--json", chosen.json, "Print one JSON object a line");
  command->footer(exit_codes_help);
  command->callback([o, &chosen] {
    chosen.run = [o, &chosen] {
      stop_signals signals; // before anything that starts threads
      return run(*o, chosen.json, signals);
    };
  });
}

} // namespace troupe::cli
