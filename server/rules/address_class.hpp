// address_class: which addresses lie within a host or its network. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace troupe::server {

enum class address_class : std::uint8_t {
  open,       ///< of the Internet
  loopback,   ///< this host; 0.0.0.0, too
  private_,   ///< a network behind a router or provider
  link_local, ///< the same wire; clouds have their metadata there
  reserved,   ///< multicast, documentation, and others without a host
};

/// "loopback", "private", "link-local", "reserved", "open".
std::string_view to_string(address_class which) noexcept;

/// The class of a numeric IPv4 or IPv6 address; nullopt for other texts. An IPv4 address within an
/// IPv6 one (mapped, NAT64, 6to4) counts as itself.
/// Shape:  IPv6 without brackets; a scope after `%` is ignored.
std::optional<address_class> class_of_address(std::string_view text);

} // namespace troupe::server
