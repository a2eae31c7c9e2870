// link_system: the actor system whose links carry packets, with CAF's BASP in mutual TLS. BASP
// itself trusts every connection. So plain links are for tests, only within this host, and only on
// request.
#pragma once

#include "cluster/links/certificates.hpp"

#include <caf/actor.hpp>
#include <caf/actor_system_config.hpp>

#include <cstdint>

namespace troupe::cluster {

// BASP's heartbeats close silent connections; a lease misses a worker long before. The first
// heartbeat also ends an unfinished handshake, so the interval can't be shorter.
inline constexpr std::chrono::milliseconds link_heartbeat{2000};
inline constexpr std::chrono::milliseconds link_silence_max{4000};

struct link_options {
  std::optional<tls_files> tls{};
  bool plain = false;   // without TLS, and so without other hosts
  unsigned threads = 2; // of the scheduler
  std::chrono::milliseconds handshake_timeout = limits::cluster_handshake_timeout;
  std::chrono::milliseconds first_word_timeout = limits::link_quiet_max; // after the handshake
  std::chrono::milliseconds look_every = limits::certificate_look_interval;
};

/// The configuration of an actor system for links. The caller adds its message types. Neither an
/// INI file nor the command line is read, and the TLS files are read once, here.
/// Errors: invalid_config unless exactly one of `tls` and `plain` is given; the errors of
///         check_tls_files().
result<std::unique_ptr<caf::actor_system_config>> make_link_config(const link_options& options,
                                                                   wall_time now);

/// Makes `door` reachable at a port. Returns the port, which differs from `port` when that is 0.
/// Shape:  `address` is an address of this host; empty for all of them.
/// Blocks: until the socket is open.
/// Errors: invalid_config when the port can't be opened, or when other hosts could reach a plain
///         system.
result<std::uint16_t> open_door(caf::actor_system& system, const caf::actor& door,
                                const std::string& address, std::uint16_t port);

/// The actor that makes links to `host`, an address. The request is (connect_atom, host, port), and
/// the answer is CAF's (node id, actor, interfaces). The request needs a time-out, since a silent
/// peer looks like a slow one.
/// Errors: invalid_config for a plain system and another host.
result<caf::actor> link_dialer(caf::actor_system& system, const std::string& host);

/// The dialer's reason for a missing link, as text.
std::string why_of(caf::actor_system& system, const caf::error& failed);

/// The end of the certificate in use; nullopt for plain links.
std::optional<wall_time> certificate_end(const caf::actor_system& system);

/// Whether `host` is written as a loopback address: 127.0.0.0/8, ::1 or localhost.
bool is_loopback(const std::string& host);

} // namespace troupe::cluster
