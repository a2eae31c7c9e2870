// The actor system whose links carry packets: CAF's BASP in mutual TLS. BASP itself trusts
// everybody that it hears, so plain links are for tests, on this host alone, and only when asked
// for.
#pragma once

#include "cluster/links/certificates.hpp"

#include <caf/actor.hpp>
#include <caf/actor_system_config.hpp>

#include <cstdint>

namespace troupe::cluster {

// BASP's own heartbeats close connections that are silent; a worker is missed long before, by its
// lease. The first one also ends a handshake that is not done, so they can't be tighter.
inline constexpr std::chrono::milliseconds link_heartbeat{2000};
inline constexpr std::chrono::milliseconds link_silence_max{4000};

struct link_options {
  std::optional<tls_files> tls{};
  bool plain = false;   // without TLS, and then without other hosts
  unsigned threads = 2; // of the scheduler
  std::chrono::milliseconds handshake_timeout = limits::cluster_handshake_timeout;
  std::chrono::milliseconds first_word_timeout = limits::link_quiet_max; // after the handshake
  std::chrono::milliseconds look_every = limits::certificate_look_interval;
};

/// What an actor system for links is made with. Message types are the caller's to add. Nothing is
/// read from an INI file or the command line.
/// Errors: invalid_config unless exactly one of `tls` and `plain` is given; those of
///         check_tls_files(). Files are read once, here.
result<std::unique_ptr<caf::actor_system_config>> make_link_config(const link_options& options,
                                                                   wall_time now);

/// Makes `door` what others reach at a port; gives the port, e.g. when 0 was asked for.
/// Shape:  `address` is one of this host's; empty for all of them.
/// Blocks: until the socket is there.
/// Errors: invalid_config when the port can't be opened, or other hosts could reach a plain system.
result<std::uint16_t> open_door(caf::actor_system& system, const caf::actor& door,
                                const std::string& address, std::uint16_t port);

/// Whom to ask for a link to `host`, an address, with (connect_atom, host, port); the answer is
/// CAF's (node id, actor, interfaces). Ask with a time-out: a peer that is silent behind its port
/// is not told from a slow one. Errors: invalid_config for a plain system and another host.
result<caf::actor> link_dialer(caf::actor_system& system, const std::string& host);

/// Why there is no link, as the dialer said.
std::string why_of(caf::actor_system& system, const caf::error& failed);

/// When the certificate in use ends; nothing for plain links.
std::optional<wall_time> certificate_end(const caf::actor_system& system);

/// Whether it is written as an address of this host that no other host reaches: 127.0.0.0/8, ::1 or
/// localhost.
bool is_loopback(const std::string& host);

} // namespace troupe::cluster
