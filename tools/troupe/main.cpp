// troupe: runs graphs and shows what was kept of their runs.
#include "tools/troupe/commands.hpp"
#include "tools/troupe/exit_codes.hpp"
#include "tools/troupe/failure.hpp"

#include <CLI/CLI.hpp>

#include <iostream>
#include <string>

namespace {

namespace cli = troupe::cli;

int troupe_main(int argc, char** argv, cli::chosen_command& chosen) {
  CLI::App app{"Runs agent graphs durably, and shows what was kept of their runs."};
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
  cli::add_worker(app, chosen);
  cli::add_cluster(app, chosen);
  if (argc < 2) {
    std::cerr << app.help();
    return cli::exit_usage;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& why) {
    if (why.get_exit_code() == 0)
      return app.exit(why);
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
