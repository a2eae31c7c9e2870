// troupe check: whether the file of a data directory is whole, before anything relies on it.
#include "persistence/lmdb_pages.hpp"
#include "tools/troupe/commands.hpp"
#include "tools/troupe/json_lines.hpp"

#include <CLI/CLI.hpp>

#include <iostream>

namespace troupe::cli {

namespace {

int check_store(const std::string& data_dir, bool json) {
  expect_data_dir(data_dir);
  auto extent = check_store_file(std::filesystem::path{data_dir} / "troupe.mdb").value();
  if (json)
    print_line(json_line("store", {{"records", std::to_string(extent.records)},
                                   {"pages", std::to_string(extent.pages)}}));
  else
    std::cout << "whole: " << extent.records << " records in " << extent.pages << " pages\n";
  return 0;
}

} // namespace

void add_check(CLI::App& app, chosen_command& chosen) {
  auto* command = app.add_subcommand("check",
                                     "Read all of a data directory and say what is damaged");
  auto data_dir = std::make_shared<std::string>(data_dir_default);
  command->add_option("--data", *data_dir, "Where threads are kept")
    ->type_name("DIR")
    ->capture_default_str();
  command->add_flag("--json", chosen.json, "Print one JSON object a line");
  command->callback([&chosen, data_dir] {
    chosen.run = [&chosen, data_dir] { return check_store(*data_dir, chosen.json); };
  });
}

} // namespace troupe::cli
