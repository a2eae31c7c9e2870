// The parts of the command line: code that needs another library than troupe::core. A part is a
// module with a folder of its own here; the program loads it when a command first needs it.
//
// A part gives its table by the exported function `troupe_cli_part`, and calls functions of the
// program: those of troupe::cli, which exported.txt exports. So no function of a part has the name
// of one of the program.
#pragma once

#include "tools/troupe/commands.hpp"

#include <troupe/agents/schema_check.hpp>
#include <troupe/cluster.hpp>
#include <troupe/postgres.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace troupe::cli {

/// The part that links troupe::agents and libedit. In every part, all functions are set.
struct agents_part {
  /// Both add the flags of a command, and its action.
  void (*define_chat)(CLI::App* command, chosen_command& chosen);
  void (*define_mcp)(CLI::App* command, chosen_command& chosen);
  /// The built-in graph `chat`, with the model that TROUPE_MODEL names, else echo.
  /// Errors: throws error{invalid_config}.
  compiled_graph (*build_chat)();
  /// troupe::check_schema.
  std::vector<schema_violation> (*check_schema)(const value& schema, const value& v);
};

/// The part that links troupe::cluster.
struct cluster_part {
  /// Both as those of agents_part.
  void (*define_worker)(CLI::App* command, chosen_command& chosen);
  void (*define_cluster)(CLI::App* command, chosen_command& chosen);
  /// troupe::connect_workers.
  result<std::shared_ptr<worker_pool>> (*connect_workers)(worker_pool_options options);
  /// The host and the port of HOST:PORT.
  /// Errors: throws error{invalid_config}.
  std::pair<std::string, std::uint16_t> (*read_address)(const std::string& text);
};

/// The part that links troupe::postgres.
struct postgres_part {
  /// open_postgres_saver and open_postgres_store.
  result<std::shared_ptr<saver>> (*open_saver)(const postgres_options& options);
  result<std::shared_ptr<store>> (*open_store)(const postgres_options& database,
                                               store_options options);
  /// rotate_store_keys of a database.
  result<rotation_report> (*rotate_keys)(const postgres_options& database);
  /// The function postgres_checkpoints::next of a database of LangGraph's PostgresSaver.
  /// Errors: as the constructor of postgres_checkpoints.
  std::function<std::optional<checkpoint_tuple>()> (*open_checkpoints)(const std::string& conninfo);
};

/// The part that links SQLite.
struct sqlite_part {
  /// The function sqlite_checkpoints::next of a file of LangGraph's SqliteSaver.
  /// Errors: as the constructor of sqlite_checkpoints.
  std::function<std::optional<checkpoint_tuple>()> (*open_checkpoints)(
    const std::filesystem::path& file);
  /// write_sqlite_checkpoints.
  void (*write_checkpoints)(const std::filesystem::path& file,
                            const std::function<std::optional<checkpoint_tuple>()>& next);
};

/// The part that links troupe::server.
struct server_part {
  /// Both as those of agents_part.
  void (*define_serve)(CLI::App* command, chosen_command& chosen);
  void (*define_dev)(CLI::App* command, chosen_command& chosen);
  /// rotate_documents_key of a data directory and of a database.
  result<std::optional<bool>> (*rotate_key)(const std::filesystem::path& directory,
                                            const std::shared_ptr<const key_provider>& keys);
  result<std::optional<bool>> (*rotate_key_of)(const postgres_options& database);
};

/// The part, loaded at the first call.
/// Blocks: at the first call, on the file system: some milliseconds.
/// Errors: throws error{invalid_config} with the module's file, when it or a library that it needs
///         is missing.
const agents_part& load_agents();
const cluster_part& load_cluster();
const postgres_part& load_postgres();
const sqlite_part& load_sqlite();
const server_part& load_server();

} // namespace troupe::cli
