// Parts of the command line: how they are loaded, and the names of their commands.
#include "tools/troupe/parts.hpp"

#include "graph/shared_library.hpp"

#include <CLI/CLI.hpp>

#include <filesystem>

namespace troupe::cli {

namespace {

// The build tree and an installation have the modules in the same place, seen from the program.
template <class Part> const Part& part_of(const std::string& file) {
  auto folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  auto library = load_library((folder / TROUPE_PARTS_FOLDER / file).lexically_normal());
  auto get = library ? reinterpret_cast<const Part* (*)()>(find_symbol(*library, "troupe_cli_part"))
                     : nullptr;
  if (!get)
    throw error{errc::invalid_config,
                "load a part of troupe: "
                  + (library ? file + " is another module" : library.error().message())
                  + ": install all of troupe, and the libraries that it needs"};
  return *get();
}

// A command whose flags are added when the command line names it: only then its part is loaded.
void add_command(CLI::App& app, const char* name, const char* what,
                 std::function<void(CLI::App*)> define) {
  auto* command = app.add_subcommand(name, what);
  command->preparse_callback(
    [command, define = std::move(define)](std::size_t) { define(command); });
}

} // namespace

const agents_part& load_agents() {
  static const auto& part = part_of<agents_part>("libtroupe-cli-agents.so");
  return part;
}

const cluster_part& load_cluster() {
  static const auto& part = part_of<cluster_part>("libtroupe-cli-cluster.so");
  return part;
}

const postgres_part& load_postgres() {
  static const auto& part = part_of<postgres_part>("libtroupe-cli-postgres.so");
  return part;
}

const sqlite_part& load_sqlite() {
  static const auto& part = part_of<sqlite_part>("libtroupe-cli-sqlite.so");
  return part;
}

const server_part& load_server() {
  static const auto& part = part_of<server_part>("libtroupe-cli-server.so");
  return part;
}

void add_serve(CLI::App& app, chosen_command& chosen) {
  add_command(app, "serve", "Serve graphs over HTTP, for the clients of LangGraph's Agent Server",
              [&chosen](CLI::App* command) { load_server().define_serve(command, chosen); });
}

void add_dev(CLI::App& app, chosen_command& chosen) {
  add_command(app, "dev",
              "Serve graphs while you work on them: rebuilt libraries are served at once",
              [&chosen](CLI::App* command) { load_server().define_dev(command, chosen); });
}

void add_chat(CLI::App& app, chosen_command& chosen) {
  add_command(app, "chat", "Talk with a graph that has messages",
              [&chosen](CLI::App* command) { load_agents().define_chat(command, chosen); });
}

void add_mcp(CLI::App& app, chosen_command& chosen) {
  add_command(app, "mcp", "Serve graphs as tools for MCP clients, over stdin and stdout or HTTP",
              [&chosen](CLI::App* command) { load_agents().define_mcp(command, chosen); });
}

void add_worker(CLI::App& app, chosen_command& chosen) {
  add_command(app, "worker",
              "Run nodes and subgraphs for other processes, until SIGTERM or `cluster drain`",
              [&chosen](CLI::App* command) { load_cluster().define_worker(command, chosen); });
}

void add_cluster(CLI::App& app, chosen_command& chosen) {
  add_command(app, "cluster", "Look after a cluster of processes",
              [&chosen](CLI::App* command) { load_cluster().define_cluster(command, chosen); });
}

} // namespace troupe::cli
