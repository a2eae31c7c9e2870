// troupe store rotate-keys: wraps the data keys of a store's threads under the current key.
#include "tools/troupe/commands.hpp"
#include "tools/troupe/json_lines.hpp"

#include <troupe/keyring.hpp>

#include <CLI/CLI.hpp>

#include <iostream>

namespace troupe::cli {

namespace {

int rotate_keys(const std::string& data_dir, bool json) {
  expect_data_dir(data_dir);
  auto keys = keyring::from_environment().value();
  if (!keys)
    throw error{errc::invalid_config,
                "no key: set TROUPE_STORE_KEY_FILE to a file of keys, the new one the last"};
  auto report = rotate_store_keys(data_dir, keys).value();
  if (json)
    print_line(json_line("rotated", {{"key", to_json(keys->current_id())},
                                     {"threads", std::to_string(report.threads)},
                                     {"rewrapped", std::to_string(report.rewrapped)}}));
  else
    std::cout << "all " << report.threads << " encrypted threads are under key "
              << keys->current_id() << "; " << report.rewrapped << " were under another one\n";
  return 0;
}

// The command that those of the store are below, made by the first of them.
CLI::App& store_command(CLI::App& app) {
  auto found =
    app.get_subcommands([](const CLI::App* command) { return command->get_name() == "store"; });
  if (!found.empty())
    return *found.front();
  auto* made = app.add_subcommand("store", "Look after a data directory");
  made->require_subcommand(1);
  return *made;
}

} // namespace

void add_rotate_keys(CLI::App& app, chosen_command& chosen) {
  auto* command = store_command(app).add_subcommand(
    "rotate-keys", "Wrap the keys of all encrypted threads under the current key. The key ring "
                   "comes from the file that TROUPE_STORE_KEY_FILE names, or from "
                   "TROUPE_STORE_KEYS, and has the older keys, too");
  auto data_dir = std::make_shared<std::string>(data_dir_default);
  command->add_option("--data,--data-dir", *data_dir, "Where threads are kept")
    ->type_name("DIR")
    ->capture_default_str();
  command->add_flag("--json", chosen.json, "Print one JSON object a line");
  command->callback([&chosen, data_dir] {
    chosen.run = [&chosen, data_dir] { return rotate_keys(*data_dir, chosen.json); };
  });
}

} // namespace troupe::cli
