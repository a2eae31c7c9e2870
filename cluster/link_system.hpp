// The actor system whose links carry packets: CAF's BASP in mutual TLS. BASP itself trusts
// everybody that it hears, so plain links are for tests, on this host alone, and only when asked
// for.
#pragma once

#include "cluster/certificates.hpp"

#include <caf/actor.hpp>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/io/middleman_actor.hpp>

#include <cstdint>
#include <functional>

namespace troupe::cluster {

// BASP's own heartbeats close connections that are silent; a worker is missed long before, by its
// lease. The first one also ends a dial whose handshake is not done, so they can't be tighter.
inline constexpr std::chrono::milliseconds link_heartbeat{2000};
inline constexpr std::chrono::milliseconds link_silence_max{10'000};

struct link_options {
  std::optional<tls_files> tls{};
  bool plain = false;   // without TLS, and then without other hosts
  unsigned threads = 2; // of the scheduler
  std::function<void(caf::actor_system_config&)> prepare{}; // adds message types
};

/// An actor system and what opens its links. Nothing is read from an INI file or the command line;
/// the TLS files are read once.
class link_system {
public:
  /// Errors: invalid_config unless exactly one of `tls` and `plain` is given; those of
  ///         check_tls_files().
  static result<std::unique_ptr<link_system>> open(const link_options& options, wall_time now);

  /// Blocks: until all actors have ended, which is for their owners to see to.
  ~link_system();
  link_system(const link_system&) = delete;
  link_system& operator=(const link_system&) = delete;

  caf::actor_system& system() noexcept { return system_; }

  /// Makes `door` what others reach at a port; gives the port, e.g. when 0 was asked for.
  /// Shape:  `address` is one of this host's; empty for all of them.
  /// Blocks: until the socket is there.
  /// Errors: invalid_config when the port can't be opened, or plain links would be reached by other
  ///         hosts.
  result<std::uint16_t> open_door(const caf::actor& door, const std::string& address,
                                  std::uint16_t port);

  /// Whom to ask for a link to `host`, with (connect_atom, host, port); the answer is CAF's (node
  /// id, actor, interfaces). Ask with a time-out: one dial after the other waits for the network.
  /// Errors: invalid_config for plain links and another host.
  result<caf::actor> dialer(const std::string& host);

private:
  link_system(std::unique_ptr<caf::actor_system_config> config, bool is_plain);
  result<void> check_host(const std::string& host) const;

  std::unique_ptr<caf::actor_system_config> config_;
  caf::actor_system system_;
  bool is_plain_;
  caf::io::middleman_actor links_; // opens and dials
};

/// Whether it is written as an address of this host that no other host reaches: 127.0.0.0/8, ::1 or
/// localhost.
bool is_loopback(const std::string& host);

} // namespace troupe::cluster
