// link_system: sets up CAF's middleman for links.
#include "cluster/links/link_system.hpp"

#include "cluster/links/tls_links.hpp"

#include <caf/actor_cast.hpp>
#include <caf/actor_system.hpp>
#include <caf/atom.hpp>
#include <caf/io/middleman.hpp>
#include <caf/io/middleman_actor.hpp>
#include <caf/scoped_actor.hpp>

#include <arpa/inet.h>

#include <algorithm>
#include <set>

namespace troupe::cluster {

namespace {

error refused(const std::string& what) {
  return {errc::invalid_config, "set up cluster links: " + what};
}

caf::io::middleman_actor ports_of(caf::actor_system& system) {
  return has_tls_links(system) ? tls_ports_of(system) : system.middleman().actor_handle();
}

result<void> check_host(caf::actor_system& system, const std::string& host) {
  if (has_tls_links(system) || is_loopback(host))
    return {};
  return refused(
    "`" + host
    + "` is another host, or stands for all addresses of this one: TLS files are needed");
}

// CAF listens at every address when `host` is a name that is not an address.
std::string listening_address(const std::string& host) {
  return host == "localhost" ? "127.0.0.1" : host;
}

} // namespace

result<std::unique_ptr<caf::actor_system_config>> make_link_config(const link_options& options,
                                                                   wall_time now) {
  if (options.tls.has_value() == options.plain)
    return refused(options.plain ? "both TLS files and plain links were given: choose one"
                                 : "TLS files are missing: give certificate, key and CA");
  std::shared_ptr<tls_context> context;
  if (options.tls) {
    auto opened = open_tls_context(*options.tls, now,
                                   {options.handshake_timeout, options.first_word_timeout});
    if (!opened)
      return opened.error();
    context = std::move(*opened);
  }
  auto config = std::make_unique<caf::actor_system_config>();
  config->load<caf::io::middleman>();
  load_links(*config, std::move(context), options.look_every); // needs the middleman
  config->set("middleman.heartbeat-interval", caf::timespan{link_heartbeat});
  config->set("middleman.connection-timeout", caf::timespan{link_silence_max});
  config->set("middleman.enable-automatic-connections", false); // they would be plain
  config->set("middleman.workers", std::size_t{0}); // packets are short: their thread reads them
  config->set("scheduler.policy", caf::atom("sharing"));
  config->set("scheduler.max-threads", std::max(1u, options.threads));
  return config;
}

result<std::uint16_t> open_door(caf::actor_system& system, const caf::actor& door,
                                const std::string& address, std::uint16_t port) {
  if (auto ok = check_host(system, address); !ok)
    return ok.error();
  constexpr bool reuse = true; // a restarted process takes its port back
  caf::scoped_actor self{system, true};
  auto opened = result<std::uint16_t>{0};
  self
    ->request(ports_of(system), caf::infinite, caf::publish_atom_v, port,
              caf::actor_cast<caf::strong_actor_ptr>(door), std::set<std::string>{},
              listening_address(address), reuse)
    .receive([&opened](std::uint16_t at) { opened = at; },
             [&](caf::error& why) {
               opened = refused("open " + address + ":" + std::to_string(port) + ": "
                                + system.render(why));
             });
  return opened;
}

result<caf::actor> link_dialer(caf::actor_system& system, const std::string& host) {
  if (auto ok = check_host(system, host); !ok)
    return ok.error();
  return dialer_of(system);
}

std::string why_of(caf::actor_system& system, const caf::error& failed) {
  if (failed == caf::sec::request_timeout || failed == caf::sec::connection_timeout)
    return "the peer does not answer";
  if (failed == caf::sec::disconnect_during_handshake)
    return "the peer closed the connection in the handshake";
  if (failed.context().match_elements<std::string>())
    return failed.context().get_as<std::string>(0);
  if (failed == caf::sec::cannot_connect_to_node)
    return "the peer cannot be reached";
  return system.render(failed);
}

std::optional<wall_time> certificate_end(const caf::actor_system& system) {
  return has_tls_links(system) ? std::optional{tls_certificate_end(system)} : std::nullopt;
}

bool is_loopback(const std::string& host) {
  in_addr four{};
  in6_addr six{};
  if (inet_pton(AF_INET, host.c_str(), &four) == 1)
    return (ntohl(four.s_addr) >> 24) == 127;
  if (inet_pton(AF_INET6, host.c_str(), &six) == 1)
    return IN6_IS_ADDR_LOOPBACK(&six);
  return host == "localhost";
}

} // namespace troupe::cluster
