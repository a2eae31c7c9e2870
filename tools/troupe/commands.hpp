// The commands of the command line. Each adds its flags to the parser; the parser then chooses the
// one to run.
#pragma once

#include "tools/troupe/kept_place.hpp"

#include <troupe/runtime.hpp>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

namespace CLI {
class App;
} // namespace CLI

namespace troupe::cli {

struct chosen_command {
  std::function<int()> run; ///< gives an exit code; throws troupe::error
  bool json = false;
};

void add_run(CLI::App& app, chosen_command& chosen);
void add_resume(CLI::App& app, chosen_command& chosen);
void add_chat(CLI::App& app, chosen_command& chosen);
void add_threads(CLI::App& app, chosen_command& chosen);
void add_state(CLI::App& app, chosen_command& chosen);
void add_update(CLI::App& app, chosen_command& chosen);
void add_history(CLI::App& app, chosen_command& chosen);
void add_diff(CLI::App& app, chosen_command& chosen);
void add_graphs(CLI::App& app, chosen_command& chosen);
void add_draw(CLI::App& app, chosen_command& chosen);
void add_store(CLI::App& app, chosen_command& chosen);
void add_cluster(CLI::App& app, chosen_command& chosen);
void add_mcp(CLI::App& app, chosen_command& chosen);
void add_serve(CLI::App& app, chosen_command& chosen);
void add_dev(CLI::App& app, chosen_command& chosen);
void add_new(CLI::App& app, chosen_command& chosen);
void add_worker(CLI::App& app, chosen_command& chosen);
void add_store_lines(CLI::App& store, chosen_command& chosen); // export and import
void add_rotate_keys(CLI::App& store, chosen_command& chosen);

/// The saver of a data directory, with the keys that the environment names.
/// Errors: throws error (invalid_config and storage codes).
std::shared_ptr<saver> open_saver(const std::filesystem::path& dir);

/// The same for commands that only look: it works, too, where this user may not write.
/// Errors: as open_saver, and expect_data_dir.
std::shared_ptr<saver> open_saver_to_look(const std::filesystem::path& dir);

/// The flag --data of a command.
std::shared_ptr<std::string> add_data_dir(CLI::App& command);

/// Fails unless threads are kept in `dir`: a command that only looks makes no directory.
/// Errors: throws error{storage_failed}.
void expect_data_dir(const std::filesystem::path& dir);

/// The error for a checkpoint that `thread` does not have, or for a thread that is not there.
error unknown_checkpoint(const app<>& app, const std::string& thread, const std::string& checkpoint,
                         const kept_place& place);

/// A snapshot as one JSON object of type "state".
std::string json_line(const state_snapshot& snapshot);

} // namespace troupe::cli
