// Configurations of a server: troupe.json, files of variables, and URLs of webhooks. Each is read,
// or refused with a reason. The first byte chooses which.
#include "tests/fuzz_bytes/target.hpp"

#include "server/rules/option_rules.hpp"
#include "server/rules/server_config.hpp"
#include "server/rules/webhook_policy.hpp"

#include <algorithm>
#include <string>

namespace troupe::fuzz_bytes {

namespace {

using namespace server;

template <class T> bool is_read(const result<T>& read) {
  if (read)
    return true;
  require(read.error().code() == errc::invalid_config, "a refusal is an invalid_config");
  require(!read.error().message().empty(), "a refusal has a reason");
  return false;
}

void try_config(std::string_view json) {
  auto variable = [](const std::string& name) {
    return name.size() % 2 ? std::optional<std::string>{"x"} : std::nullopt;
  };
  auto config = read_server_config(json, variable);
  if (!is_read(config))
    return;
  require(is_read(env_file_of(json)), "the file of variables is read first");
  require(*env_file_of(json) == config->env_file, "both read the same file");
  for (const auto& [name, place] : config->graphs)
    require(!name.empty() && !place.empty(), "a graph has a name and a place");
  auto placed = below_folder(*config, "/srv");
  require(placed.graphs.size() == config->graphs.size(), "each graph has its place");
  require(below_folder(placed, "/srv").graphs == placed.graphs, "a whole path stays");
  require(config->options.expiry.strategy == "delete"
            || config->options.expiry.strategy == "keep_latest",
          "a strategy is known");
  options_problem(config->options);
}

void try_variables(std::string_view text) {
  auto read = read_env_lines(text);
  if (!is_read(read))
    return;
  std::string again;
  for (const auto& [name, given] : *read) {
    require(!name.empty() && name.find_first_of("= \"'#\n") == name.npos, "a name is a word");
    again += "export " + name + "='" + given + "'\n";
  }
  auto second = read_env_lines(again);
  require(second && *second == *read, "variables read back");
}

void try_url(const std::string& url) {
  const webhook_policy strict;
  if (!webhook_problem(strict, url).empty())
    return;
  require(url.size() <= strict.max_url_length, "a URL has its bound");
  auto host = url.substr(std::min(url.size(), url.find_first_not_of('/', url.find(':') + 1)));
  for (const char* inner : {"localhost", "127.0.0.1", "[::1]", "169.254.169.254"})
    require(!host.starts_with(inner)
              || std::string_view{"/?#:"}.find((host + '-')[std::string_view{inner}.size()])
                   == std::string_view::npos,
            "no host of this network");
  require(url.find_first_of("\r\n \t") == url.npos, "a URL fits a line");
  webhook_policy loose{.require_https = false, .disable_loopback = false, .disable_private = false};
  require(webhook_problem(loose, url).empty(), "a looser policy allows this, too");
}

} // namespace

void try_bytes(std::string_view bytes) {
  if (bytes.empty())
    return;
  auto rest = bytes.substr(1);
  switch (bytes[0]) {
    case 'v': return try_variables(rest);
    case 'u': return try_url(std::string{rest});
    default: return try_config(rest);
  }
}

std::vector<std::string> seeds() {
  return {
    R"(c{"graphs":{"a":"./lib.so:a"},"env":"./.env","store":{"index":{"dims":3,"embed":"openai:m","fields":["$"]},"ttl":{"refresh_on_read":true,"default_ttl":60,"sweep_interval_minutes":5}}})",
    R"(c{"checkpointer":{"ttl":{"strategy":"delete","default_ttl":1.5}},"http":{"cors":{"allow_origins":["*"],"max_age":5},"disable_mcp":true},"env":{"A":"b"}})",
    R"(c{"webhooks":{"env_prefix":"LG_","headers":{"x":"${{ env.LG_A }}"},"url":{"allowed_domains":["*.a.example"],"allowed_ports":[443]}}})",
    R"(c{"auth":{"jwt":{"jwks":"https://a.example/k","issuer":"i","audience":["a"]},"api_keys":"keys"}})",
    "vexport A='b c'\n# x\nB = \"\n\nC_1=d=e\n",
    "uhttps://a.example:443/x?y#z",
    "uhttps://user:word@[::1]/",
    "u//127.0.0.1/",
    "uhttp://0x7f.1/"};
}

} // namespace troupe::fuzz_bytes
