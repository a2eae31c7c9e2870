// BASP connections in mutual TLS, below CAF's own interfaces.
//
// CAF has a TLS part, which is not used: it reads the certificate anew for each connection, and the
// process ends when it can't, be it that the file was replaced or that strangers hold all
// descriptors; and a connection that never says a word costs a core and is never closed.
//
// Here files are read once. Of connections whose handshake is not done there are at most
// limits::cluster_handshakes_max; another one closes the oldest. A BASP message past
// limits::cluster_basp_bytes_max closes its connection before anything is allocated for it.
#pragma once

#include "cluster/certificates.hpp"

#include <caf/io/middleman_actor.hpp>

namespace caf {
class actor_system;
class actor_system_config;
} // namespace caf

namespace troupe::cluster {

/// What all TLS connections of a process share.
class tls_context;

/// Reads and checks the files.
/// Errors: those of check_tls_files().
result<std::shared_ptr<tls_context>> open_tls_context(const tls_files& files, wall_time now);

/// Adds TLS links to a system to be, behind its middleman, in the place of CAF's TLS part.
void load_tls_links(caf::actor_system_config& config, std::shared_ptr<tls_context> context);

bool has_tls_links(const caf::actor_system& system);

/// What opens and dials ports of a system that has TLS links, as CAF's middleman does without. It
/// has a thread of its own, since it waits for the network.
const caf::io::middleman_actor& tls_links_of(const caf::actor_system& system);

} // namespace troupe::cluster
