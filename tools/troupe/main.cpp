// troupe: runs graphs and shows what was kept of their runs.
#include "tools/troupe/commands.hpp"
#include "tools/troupe/exit_codes.hpp"
#include "tools/troupe/failure.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <iostream>
#include <numeric>
#include <string>
#include <vector>

namespace {

namespace cli = troupe::cli;

// How many letters are added, left out or changed between two words.
std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0u);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    auto above_left = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      auto changed = above_left + (a[i - 1] == b[j - 1] ? 0 : 1);
      above_left = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, changed});
    }
  }
  return row[b.size()];
}

bool is_command(const CLI::App& app, const std::string& word) {
  auto known = app.get_subcommands([](const CLI::App*) { return true; });
  return std::ranges::any_of(known, [&word](const CLI::App* c) { return c->get_name() == word; });
}

troupe::error unknown_command(const CLI::App& app, const std::string& word) {
  std::string list, nearest;
  std::size_t best = 3; // letters that differ, at most
  for (const auto* known : app.get_subcommands([](const CLI::App*) { return true; })) {
    list += (list.empty() ? "" : ", ") + known->get_name();
    if (auto far = distance(word, known->get_name()); far < best) {
      best = far;
      nearest = known->get_name();
    }
  }
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
