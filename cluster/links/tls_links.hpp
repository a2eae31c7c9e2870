// BASP connections in mutual TLS, below CAF's own interfaces.
//
// CAF has a TLS part, which is not used: it reads the certificate anew for each connection, and the
// process ends when it can't, be it that the file was replaced or that strangers hold all
// descriptors; and a connection that never says a word costs a core and is never closed.
//
// Here files are read when they were replaced, and used when they are all right; connections keep
// what they began with. Of connections whose handshake is not done there are at most
// limits::cluster_handshakes_max; another one closes the oldest, and time the others. Likewise of
// those that were accepted and have said nothing since: limits::cluster_mute_links_max. A BASP
// message past limits::cluster_basp_bytes_max closes its connection before anything is allocated
// for it.
//
// CAF dials one peer after the other. Here all are dialled at once (socket_dialer), and what is
// sent and not acknowledged for limits::link_unacknowledged_max closes a connection.
#pragma once

#include "cluster/links/certificates.hpp"

#include <caf/actor.hpp>
#include <caf/io/middleman_actor.hpp>

namespace caf {
class actor_system;
class actor_system_config;
} // namespace caf

namespace troupe::cluster {

/// What all TLS connections of a process share.
class tls_context;

/// How long accepted connections may take.
struct tls_patience {
  std::chrono::milliseconds handshake = limits::cluster_handshake_timeout;
  std::chrono::milliseconds first_word = limits::link_quiet_max; // after the handshake
};

/// Reads and checks the files.
/// Errors: those of check_tls_files().
result<std::shared_ptr<tls_context>> open_tls_context(const tls_files& files, wall_time now,
                                                      const tls_patience& patience = {});

/// Adds links to a system to be, behind its middleman, in the place of CAF's TLS part. Each
/// `look_every`, the files and the handshakes are looked at. Without a context links are plain.
void load_links(caf::actor_system_config& config, std::shared_ptr<tls_context> context,
                std::chrono::milliseconds look_every);

bool has_tls_links(const caf::actor_system& system);

/// What opens ports of a system that has TLS links, as CAF's middleman does without.
const caf::io::middleman_actor& tls_ports_of(const caf::actor_system& system);
/// What dials, with the same question and answer. Waits for nobody.
const caf::actor& dialer_of(const caf::actor_system& system);
/// Of the certificate in use.
wall_time tls_certificate_end(const caf::actor_system& system);

} // namespace troupe::cluster
