// address_class: the special networks of RFC 6890.
#include "server/rules/address_class.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <span>

namespace troupe::server {
namespace {

using address_bytes = std::span<const std::uint8_t>;

struct special_network {
  std::array<std::uint8_t, 16> prefix;
  unsigned bits;
  address_class is;
};

constexpr special_network v4_networks[] = {
  {{0}, 8, address_class::loopback},
  {{127}, 8, address_class::loopback},
  {{10}, 8, address_class::private_},
  {{100, 64}, 10, address_class::private_},
  {{172, 16}, 12, address_class::private_},
  {{192, 168}, 16, address_class::private_},
  {{169, 254}, 16, address_class::link_local},
  {{192, 0, 0}, 24, address_class::reserved},
  {{192, 0, 2}, 24, address_class::reserved},
  {{198, 18}, 15, address_class::reserved},
  {{198, 51, 100}, 24, address_class::reserved},
  {{203, 0, 113}, 24, address_class::reserved},
  {{224}, 3, address_class::reserved},
};
constexpr special_network v6_networks[] = {
  {{0}, 127, address_class::loopback}, // :: and ::1
  {{0xfc}, 7, address_class::private_},
  {{0xfe, 0xc0}, 10, address_class::private_},
  {{0xfe, 0x80}, 10, address_class::link_local},
  {{0xff}, 8, address_class::reserved},
  {{0x01}, 8, address_class::reserved},
  {{0x20, 0x01, 0, 0}, 32, address_class::reserved}, // Teredo
  {{0x20, 0x01, 0x0d, 0xb8}, 32, address_class::reserved},
};
// IPv6 networks with an IPv4 address in them, and where it begins.
constexpr struct {
  std::array<std::uint8_t, 16> prefix;
  unsigned bits;
  std::size_t at;
} v4_within_v6[] = {
  {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}, 96, 12},
  {{0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}, 96, 12},
  {{0}, 96, 12}, // compatible; after :: and ::1
  {{0, 0x64, 0xff, 0x9b}, 96, 12},
  {{0x20, 0x02}, 16, 2},
};

bool is_within(address_bytes address, address_bytes prefix, unsigned bits) {
  for (std::size_t i = 0; i < address.size() && bits > 0; ++i) {
    auto some = std::min(bits, 8u);
    auto mask = static_cast<std::uint8_t>(0xff00u >> some);
    if ((address[i] & mask) != (prefix[i] & mask))
      return false;
    bits -= some;
  }
  return true;
}

address_class class_in(std::span<const special_network> networks, address_bytes address) {
  auto at = std::ranges::find_if(networks, [address](const special_network& n) {
    return is_within(address, n.prefix, n.bits);
  });
  return at == networks.end() ? address_class::open : at->is;
}

address_class class_of_v6(address_bytes address) {
  auto is = class_in(v6_networks, address);
  if (is != address_class::open)
    return is;
  for (const auto& [prefix, bits, at] : v4_within_v6)
    if (is_within(address, prefix, bits))
      return class_in(v4_networks, address.subspan(at, 4));
  return is;
}

} // namespace

std::string_view to_string(address_class which) noexcept {
  switch (which) {
    case address_class::open: return "open";
    case address_class::loopback: return "loopback";
    case address_class::private_: return "private";
    case address_class::link_local: return "link-local";
    case address_class::reserved: break;
  }
  return "reserved";
}

std::optional<address_class> class_of_address(std::string_view text) {
  std::array<std::uint8_t, 16> bytes{};
  std::string number{text.substr(0, text.find('%'))};
  if (::inet_pton(AF_INET, number.c_str(), bytes.data()) == 1)
    return class_in(v4_networks, address_bytes{bytes}.first(4));
  if (::inet_pton(AF_INET6, number.c_str(), bytes.data()) == 1)
    return class_of_v6(bytes);
  return std::nullopt;
}

} // namespace troupe::server
