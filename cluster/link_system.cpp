#include "cluster/link_system.hpp"

#include <caf/actor_cast.hpp>
#include <caf/actor_system.hpp>
#include <caf/atom.hpp>
#include <caf/io/middleman.hpp>
#include <caf/io/publish.hpp>
#include <caf/openssl/manager.hpp>
#include <caf/openssl/publish.hpp>

#include <arpa/inet.h>

#include <algorithm>

namespace troupe::cluster {

namespace {

error refused(const std::string& what) {
  return {errc::invalid_config, "set up cluster links: " + what};
}

void load_tls(caf::actor_system_config& config, const tls_files& files) {
  config.load<caf::openssl::manager>();
  config.set("openssl.certificate", files.certificate.string());
  config.set("openssl.key", files.key.string());
  config.set("openssl.cafile", files.authority.string());
  if (files.secret)
    config.set("openssl.passphrase", std::string{files.secret->view()});
}

result<void> check_host(caf::actor_system& system, const std::string& host) {
  if (system.has_openssl_manager() || is_loopback(host))
    return {};
  return refused("`" + host
                 + "` is another host or all of this one's addresses, and there is no "
                   "TLS");
}

// CAF listens at every address for a name that it does not know as one.
std::string address_of(const std::string& host) {
  return host == "localhost" ? "127.0.0.1" : host;
}

} // namespace

result<std::unique_ptr<caf::actor_system_config>> make_link_config(const link_options& options,
                                                                   wall_time now) {
  if (options.tls.has_value() == options.plain)
    return refused(options.plain ? "TLS files are given, and plain links asked for: choose one"
                                 : "no TLS files: certificate, key and CA are needed");
  if (options.tls)
    if (auto ok = check_tls_files(*options.tls, now); !ok)
      return ok.error();
  auto config = std::make_unique<caf::actor_system_config>();
  config->load<caf::io::middleman>();
  if (options.tls)
    load_tls(*config, *options.tls); // which needs the middleman
  config->set("middleman.heartbeat-interval", caf::timespan{link_heartbeat});
  config->set("middleman.connection-timeout", caf::timespan{link_silence_max});
  config->set("middleman.enable-automatic-connections", false); // they would be plain
  config->set("scheduler.policy", caf::atom("sharing"));
  config->set("scheduler.max-threads", std::max(1u, options.threads));
  return config;
}

result<std::uint16_t> open_door(caf::actor_system& system, const caf::actor& door,
                                const std::string& address, std::uint16_t port) {
  if (auto ok = check_host(system, address); !ok)
    return ok.error();
  auto at = address_of(address);
  const auto* place = at.empty() ? nullptr : at.c_str();
  constexpr bool reuse = true; // a restarted process takes its port back
  auto opened = system.has_openssl_manager() ? caf::openssl::publish(door, port, place, reuse)
                                             : caf::io::publish(door, port, place, reuse);
  if (!opened)
    return refused("open " + address + ":" + std::to_string(port) + ": "
                   + system.render(opened.error()));
  return *opened;
}

result<caf::actor> link_dialer(caf::actor_system& system, const std::string& host) {
  if (auto ok = check_host(system, host); !ok)
    return ok.error();
  return system.has_openssl_manager()
           ? caf::actor_cast<caf::actor>(system.openssl_manager().actor_handle())
           : caf::actor_cast<caf::actor>(system.middleman().actor_handle());
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
