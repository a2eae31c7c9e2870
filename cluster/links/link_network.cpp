// link_network: the actor system for links that homes and workers use.
#include "cluster/links/link_network.hpp"

#include "actors/logger_reference.hpp"
#include "cluster/links/link_system.hpp"
#include "graph/code_build.hpp"
#include "graph/graph_hash.hpp"
#include "graph/task_id.hpp"

namespace troupe::cluster {

namespace {

constexpr const char* passphrase_variable = "TROUPE_TLS_PASSPHRASE";

} // namespace

result<link_network> make_link_network(const std::optional<link_certificates>& tls, bool plain) {
  link_options options{.plain = plain};
  if (tls) {
    auto secret = passphrase::from_environment(passphrase_variable);
    if (!secret)
      return secret.error();
    options.tls = tls_files{tls->certificate, tls->key, tls->authority, std::move(*secret)};
  }
  auto config = make_link_config(options, std::chrono::system_clock::now());
  if (!config)
    return config.error();
  link_network out;
  out.config = std::move(*config);
  out.config->add_message_types<caf::id_block::troupe_cluster>();
  logger_reference reference;
  out.system = std::make_unique<caf::actor_system>(*out.config);
  return out;
}

result<std::uint16_t> listen_on(link_network& network, const caf::actor& door,
                                const std::string& at) {
  auto where = to_endpoint(at);
  if (!where)
    return where.error();
  return open_door(*network.system, door, where->host, where->port);
}

result<void> may_reach(const link_network& network, const std::vector<endpoint>& peers) {
  for (const auto& peer : peers)
    if (auto dialer = link_dialer(*network.system, peer.host); !dialer)
      return dialer.error();
  return {};
}

result<std::vector<endpoint>> to_endpoints(const std::vector<std::string>& texts) {
  std::vector<endpoint> out;
  for (const auto& text : texts) {
    auto one = to_endpoint(text);
    if (!one)
      return one.error();
    out.push_back(std::move(*one));
  }
  return out;
}

graph_offer offer_of(const graph_plan& plan) {
  return {.name = plan.options.name,
          .hash = graph_hash(plan),
          .build = graph_build(plan),
          .version = plan.options.version};
}

status_reply reply_with(const caf::actor_system& system, const value& status) {
  auto end = certificate_end(system);
  if (!end)
    return {to_json(status)};
  auto left = std::chrono::floor<std::chrono::days>(*end - std::chrono::system_clock::now());
  return {to_json(status.with("certificate_days", value(std::int64_t{left.count()})))};
}

std::string new_incarnation() {
  std::random_device random;
  auto word = [&random] { return std::uint64_t{random()} << 32 | random(); };
  auto high = word();
  return uuid4(high, word());
}

} // namespace troupe::cluster
