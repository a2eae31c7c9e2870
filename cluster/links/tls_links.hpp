// tls_links: BASP connections in mutual TLS, below CAF's own interfaces.
//
// CAF's TLS part is not used, for these reasons:
//  - It reads the certificate for each connection. The process ends when it can't, because the file
//    was replaced or strangers hold all descriptors.
//  - A connection that never sends anything costs a core and is never closed.
//  - CAF dials one peer after the other.
//
// Here:
//  - Replaced files are read, and used when all of them are valid. Connections keep the files with
//    which they began.
//  - At most limits::cluster_handshakes_max connections have an unfinished handshake. One more
//    closes the oldest, and each has a time limit.
//  - The same holds for accepted connections that are silent after it
//    (limits::cluster_mute_links_max).
//  - A BASP message past limits::cluster_basp_bytes_max closes its connection before any
//    allocation.
//  - All peers are dialled at once (socket_dialer).
//  - Bytes without an acknowledgement for limits::link_unacknowledged_max close a connection.
#pragma once

#include "cluster/links/certificates.hpp"

#include <caf/actor.hpp>
#include <caf/io/middleman_actor.hpp>

namespace caf {
class actor_system;
class actor_system_config;
} // namespace caf

namespace troupe::cluster {

/// State that all TLS connections of a process share.
class tls_context;

/// Time limits for accepted connections.
struct tls_patience {
  std::chrono::milliseconds handshake = limits::cluster_handshake_timeout;
  std::chrono::milliseconds first_word = limits::link_quiet_max; // after the handshake
};

/// Reads and checks the files.
/// Errors: those of check_tls_files().
result<std::shared_ptr<tls_context>> open_tls_context(const tls_files& files, wall_time now,
                                                      const tls_patience& patience = {});

/// Adds links to the configuration of a system, after its middleman, in place of CAF's TLS part.
/// Files and handshakes are looked at each `look_every`. A null context makes plain links.
void load_links(caf::actor_system_config& config, std::shared_ptr<tls_context> context,
                std::chrono::milliseconds look_every);

bool has_tls_links(const caf::actor_system& system);

/// The actor that opens ports of a system with TLS links, in place of CAF's middleman.
const caf::io::middleman_actor& tls_ports_of(const caf::actor_system& system);
/// The actor that dials, with CAF's request and answer. Dials do not wait for each other.
const caf::actor& dialer_of(const caf::actor_system& system);
/// The end of the certificate in use.
wall_time tls_certificate_end(const caf::actor_system& system);

} // namespace troupe::cluster
