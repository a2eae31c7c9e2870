// server_config: the configuration file of a server, troupe.json, from its text. Pure.
//
// The file has the members of langgraph.json that a server in C++ needs:
//
//     {"graphs": {"agent": "build/libagent.so:agent"},
//      "env": ".env",
//      "http": {"cors": {"allow_origins": ["https://app.example"]}},
//      "auth": {"api_keys": "keys"},
//      "checkpointer": {"ttl": {"default_ttl": 43200}}}
#pragma once

#include <troupe/error.hpp>
#include <troupe/server.hpp>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe::server {

/// A configuration.
/// Shape:  `graphs`: a name, and `path/to/lib.so:name` or the name of a built-in graph. `env`:
///         variables; `env_file`: a file of them, empty without one. `embed`: the model of
///         `options.store.index`, whose function is not set yet; empty without an index.
///         `options`: all the rest, without graphs. Paths are as in the file.
struct server_config {
  std::vector<std::pair<std::string, std::string>> graphs = {};
  std::vector<std::pair<std::string, std::string>> env = {};
  std::string env_file = {};
  std::string embed = {};
  server_options options = {};
};

using variable_lookup = std::function<std::optional<std::string>(const std::string& name)>;

/// The configuration of a text. `variable` gives variables that the headers of webhooks name, where
/// `env` does not have them.
/// Errors: invalid_config: not JSON; an unknown key, with its path and the nearest known one; a
///         member of another kind or outside its bounds, with its path.
/// Source: langgraph_cli/schemas.py, Config.
result<server_config> read_server_config(std::string_view json, const variable_lookup& variable);

/// The path of the member `env`, before the rest is read; empty for a map of variables.
/// Errors: as read_server_config, for this member.
result<std::string> env_file_of(std::string_view json);

/// Variables of a text with a line `NAME=VALUE` each. Quotes around a value and the word `export`
/// before a name do not count; empty lines and those that begin with `#` are ignored.
/// Errors: invalid_config that names the line, without its text.
result<std::vector<std::pair<std::string, std::string>>> read_env_lines(std::string_view text);

/// The configuration with its relative paths below this folder.
server_config below_folder(server_config config, const std::filesystem::path& folder);

} // namespace troupe::server
