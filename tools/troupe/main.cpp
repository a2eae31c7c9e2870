// troupe: runs graphs and shows what was kept of their runs.
#include "graph/nearest_name.hpp"
#include "tools/troupe/commands.hpp"
#include "tools/troupe/exit_codes.hpp"
#include "tools/troupe/failure.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace cli = troupe::cli;

bool is_command(const CLI::App& app, const std::string& word) {
  auto known = app.get_subcommands([](const CLI::App*) { return true; });
  return std::ranges::any_of(known, [&word](const CLI::App* c) { return c->get_name() == word; });
}

troupe::error unknown_command(const CLI::App& app, const std::string& word) {
  std::string list;
  std::vector<std::string_view> names;
  auto all = app.get_subcommands([](const CLI::App*) { return true; });
  for (const auto* known : all) {
    list += (list.empty() ? "" : ", ") + known->get_name();
    names.push_back(known->get_name());
  }
  std::string nearest{troupe::nearest_name(word, names)};
  auto known = nearest.empty() ? "commands are " + list : "did you mean " + nearest + "?";
  return {troupe::errc::invalid_config, "unknown command: " + cli::one_line(word) + ": " + known
                                          + "; --help lists commands and flags"};
}

int troupe_main(int argc, char** argv, cli::chosen_command& chosen) {
  CLI::App app{"Runs agent graphs durably, and shows their stored runs."};
  app.set_version_flag("--version", "troupe " TROUPE_VERSION);
  app.require_subcommand(1);
  app.footer(std::string{"troupe COMMAND --help lists the flags of a command.\n"}
             + cli::exit_codes_help);
  cli::add_run(app, chosen);
  cli::add_resume(app, chosen);
  cli::add_chat(app, chosen);
  cli::add_threads(app, chosen);
  cli::add_state(app, chosen);
  cli::add_history(app, chosen);
  cli::add_update(app, chosen);
  cli::add_diff(app, chosen);
  cli::add_graphs(app, chosen);
  cli::add_draw(app, chosen);
  cli::add_store(app, chosen);
  cli::add_mcp(app, chosen);
  cli::add_serve(app, chosen);
  cli::add_dev(app, chosen);
  cli::add_new(app, chosen);
  cli::add_worker(app, chosen);
  cli::add_cluster(app, chosen);
  app.name("troupe");
  if (argc < 2) {
    std::cerr << app.help();
    return cli::exit_usage;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& why) {
    if (why.get_exit_code() == 0)
      return app.exit(why);
    std::string first = argv[1];
    if (!first.starts_with('-') && !is_command(app, first))
      throw unknown_command(app, first);
    throw troupe::error{troupe::errc::invalid_config,
                        std::string{why.what()} + "; --help lists commands and flags"};
  }
  return chosen.run();
}

} // namespace

int main(int argc, char** argv) {
  cli::chosen_command chosen;
  return cli::run_reporting("troupe", chosen.json, [&] { return troupe_main(argc, argv, chosen); });
}
