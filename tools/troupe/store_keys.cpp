// troupe store rotate-keys: wraps the data keys of a data directory, or of a Postgres database,
// under the current key.
#include "persistence/lmdb/data_files.hpp"
#include "tools/troupe/commands.hpp"
#include "tools/troupe/json_lines.hpp"
#include "tools/troupe/kept_place.hpp"
#include "tools/troupe/parts.hpp"

#include <troupe/keyring.hpp>

#include <CLI/CLI.hpp>

#include <filesystem>
#include <iostream>

namespace troupe::cli {

namespace {

// A server's documents; nullopt when they are missing or plain.
std::optional<bool> rotate_documents_key(const kept_place& place,
                                         const std::shared_ptr<const key_provider>& keys) {
  if (!place.postgres.empty())
    return load_server().rotate_key_of({.conninfo = place.postgres, .keyring = keys}).value();
  if (!std::filesystem::exists(std::filesystem::path{place.data} / documents_file_name))
    return std::nullopt;
  return load_server().rotate_key(place.data, keys).value();
}

int rotate_keys(kept_place& place, bool json) {
  place.read_environment();
  place.use_default();
  place.expect_there();
  auto keys = keyring::from_environment().value();
  if (!keys)
    throw error{errc::invalid_config,
                "no key: set TROUPE_STORE_KEY_FILE to a file of keys that ends with the new key"};
  auto report =
    place.postgres.empty()
      ? rotate_store_keys(place.data, keys).value()
      : load_postgres().rotate_keys({.conninfo = place.postgres, .keyring = keys}).value();
  auto documents = rotate_documents_key(place, keys);
  report.files += documents ? 1 : 0;
  report.rewrapped += documents.value_or(false) ? 1 : 0;
  if (json)
    print_line(json_line("rotated", {{"key", to_json(keys->current_id())},
                                     {"threads", std::to_string(report.threads)},
                                     {"files", std::to_string(report.files)},
                                     {"rewrapped", std::to_string(report.rewrapped)}}));
  else
    std::cout << "the keys of " << report.threads << " encrypted threads and " << report.files
              << " other files or stores are under key " << keys->current_id() << "; "
              << report.rewrapped << " were under another one\n";
  return 0;
}

} // namespace

void add_rotate_keys(CLI::App& store, chosen_command& chosen) {
  auto* command = store.add_subcommand(
    "rotate-keys",
    "Wrap the data keys of threads, long-term store, cache and a server's documents under the "
    "current key. The key ring comes from the file that TROUPE_STORE_KEY_FILE names, or from "
    "TROUPE_STORE_KEYS, and must have the older keys, too");
  auto place = add_kept_place(*command);
  command->add_flag("--json", chosen.json, "Print one JSON object a line");
  command->callback([&chosen, place] {
    chosen.run = [&chosen, place] { return rotate_keys(*place, chosen.json); };
  });
}

} // namespace troupe::cli
