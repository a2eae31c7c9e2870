// serve_flags: the flags of `troupe serve`, and the options of a server that they and its
// configuration file give.
#pragma once

#include "tools/troupe/kept_place.hpp"

#include <troupe/server.hpp>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace CLI {
class App;
} // namespace CLI

namespace troupe::cli {

inline constexpr const char* config_file_name = "troupe.json";

/// The options of a server, and where its graphs come from.
/// Shape:  `options` is without graphs. `graphs`: a name, and a place as find_graph takes it.
///         `config` and `env_file`: the files that were read; empty without one.
struct serve_settings {
  server_options options;
  std::vector<std::pair<std::string, std::string>> graphs;
  std::filesystem::path config;
  std::filesystem::path env_file;
};

struct serve_flags {
  std::vector<std::string> graphs;
  std::string config; ///< --config; empty: config_file_name of this folder, unless a graph is named
  std::string listen = "127.0.0.1:2024";
  std::shared_ptr<kept_place> place;
  bool in_memory = false;

  std::string api_keys;
  token_rules tokens;
  bool no_auth = false;
  std::string tls_certificate;
  std::string tls_key;
  double rate = 0;
  std::vector<std::string> origins;
  bool local_webhooks = false;
  std::string new_key_name; ///< --new-api-key: makes a key, and serves nothing

  /// A flag is stronger than the file.
  /// Errors: throws error: as load_server_config; invalid_config for a flag that needs another one.
  serve_settings settings() const;
};

std::shared_ptr<serve_flags> add_serve_flags(CLI::App& command);

} // namespace troupe::cli
