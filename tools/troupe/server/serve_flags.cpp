// serve_flags: flags, and how they are laid over a configuration file.
#include "tools/troupe/server/serve_flags.hpp"

#include "server/config_file.hpp"
#include "tools/troupe/graph_catalog.hpp"
#include "tools/troupe/parts.hpp"

#include <CLI/CLI.hpp>

#include <filesystem>

namespace troupe::cli {

namespace {

// `name`, `lib.so:name` or `NAME=lib.so:name`.
std::pair<std::string, std::string> named_graph(const std::string& given) {
  if (auto equals = given.find('='); equals != std::string::npos)
    return {given.substr(0, equals), given.substr(equals + 1)};
  return {given.substr(given.rfind(':') + 1), given};
}

std::filesystem::path config_file_of(const serve_flags& o) {
  if (!o.config.empty())
    return o.config;
  return o.graphs.empty() && std::filesystem::exists(config_file_name) ? config_file_name : "";
}

std::vector<std::pair<std::string, std::string>>
chosen_graphs(const serve_flags& o, std::vector<std::pair<std::string, std::string>> graphs) {
  if (!o.graphs.empty())
    graphs.clear();
  for (const auto& given : o.graphs)
    graphs.push_back(named_graph(given));
  if (!graphs.empty())
    return graphs;
  graphs.emplace_back("agent", "chat"); // by the name that the clients' quick starts use
  for (const auto& g : builtin_graphs())
    graphs.emplace_back(g.name, g.name);
  return graphs;
}

void take_place(server_options& into, const serve_flags& o) {
  if (o.in_memory)
    return;
  auto place = *o.place;
  place.read_environment();
  place.use_default();
  if (place.postgres.empty())
    into.data_dir = place.data;
  else
    into.postgres = postgres_options{.conninfo = place.postgres};
}

void take_callers(server_options& into, const serve_flags& o) {
  if (!o.api_keys.empty())
    into.api_keys = o.api_keys;
  const auto& given = o.tokens;
  if (!given.jwks.empty() || !given.secret_file.empty())
    into.tokens = token_rules{};
  else if ((!given.issuer.empty() || !given.audiences.empty()) && !into.tokens)
    throw error{errc::invalid_config,
                "--jwt-issuer and --jwt-audience need --jwks or --jwt-secret"};
  if (into.tokens) {
    auto& rules = *into.tokens;
    if (!given.jwks.empty() || !given.secret_file.empty()) {
      rules.jwks = given.jwks;
      rules.secret_file = given.secret_file;
      rules.allow_private_jwks = given.allow_private_jwks;
    }
    if (!given.issuer.empty())
      rules.issuer = given.issuer;
    if (!given.audiences.empty())
      rules.audiences = given.audiences;
  }
  into.no_auth = o.no_auth;
}

} // namespace

serve_settings serve_flags::settings() const {
  serve_settings all;
  all.config = config_file_of(*this);
  auto config = all.config.empty() ? server::server_config{}
                                   : server::load_server_config(all.config);
  all.graphs = chosen_graphs(*this, std::move(config.graphs));
  all.env_file = config.env_file;
  all.options = std::move(config.options);
  auto& out = all.options;
  take_place(out, *this);
  take_callers(out, *this);
  auto address = load_cluster().read_address(listen);
  out.address = address.first == "localhost" ? "127.0.0.1" : address.first;
  out.port = address.second;
  out.tls_certificate = tls_certificate;
  out.tls_key = tls_key;
  out.rate.per_second = rate;
  if (!origins.empty())
    out.cors.origins = origins;
  if (local_webhooks) {
    out.webhooks.require_https = false;
    out.webhooks.allow_loopback = true;
  }
  return all;
}

std::shared_ptr<serve_flags> add_serve_flags(CLI::App& command) {
  auto o = std::make_shared<serve_flags>();
  command
    .add_option("graphs", o->graphs,
                "Built-in graphs, or path/to/lib.so:name; NAME=… gives another name. Default: "
                "those of the configuration, else all built-in graphs, and chat as `agent`")
    ->type_name("GRAPH");
  command
    .add_option("--config", o->config,
                "The configuration; default: troupe.json of this folder, when no graph is named")
    ->type_name("FILE");
  command.add_option("--listen", o->listen, "The address; port 0: any")
    ->type_name("HOST:PORT")
    ->capture_default_str();
  o->place = add_kept_place(command, std::string{"The data directory; "} + data_dir_default
                                       + " when left out");
  command.add_flag("--in-memory", o->in_memory, "Keep nothing on the disk")
    ->excludes("--data")
    ->excludes("--postgres");
  auto text = [&command](const char* flag, auto& into, const char* type, const char* about) {
    return command.add_option(flag, into, about)->type_name(type);
  };
  text("--api-keys", o->api_keys, "FILE", "Serve holders of keys; a line for each (--new-api-key)");
  auto* keys = text("--jwks", o->tokens.jwks, "FILE|URL",
                    "Serve senders of tokens (JWT) that this key set signs");
  command
    .add_option_function<std::string>(
      "--jwt-secret", [o](const std::string& file) { o->tokens.secret_file = file; },
      "Or that this file's secret signs (HS256)")
    ->type_name("FILE")
    ->excludes(keys);
  text("--jwt-issuer", o->tokens.issuer, "NAME", "The issuer of the tokens; default: any");
  text("--jwt-audience", o->tokens.audiences, "NAME", "Their audience; may be repeated")
    ->allow_extra_args(false);
  command.add_flag("--allow-private-jwks", o->tokens.allow_private_jwks,
                   "The URL of --jwks may be http, on this host or in its networks");
  command.add_flag("--no-auth", o->no_auth,
                   "Serve callers beyond this host without asking who they are");
  text("--tls-cert", o->tls_certificate, "FILE",
       "Speak TLS with this certificate; a changed file counts at once");
  text("--tls-key", o->tls_key, "FILE", "The key of that certificate");
  text("--rate", o->rate, "N", "Serve each caller N requests a second at most; default: any number")
    ->check(CLI::Range(0.001, 1e9));
  text("--allow-origin", o->origins, "ORIGIN",
       "An origin whose pages may call, as https://app.example; default: any")
    ->allow_extra_args(false);
  command.add_flag("--allow-local-webhooks", o->local_webhooks,
                   "Webhooks may be http, and on this host");
  text("--new-api-key", o->new_key_name, "NAME",
       "Make a key for NAME instead: prints its line for the file of --api-keys");
  return o;
}

} // namespace troupe::cli
