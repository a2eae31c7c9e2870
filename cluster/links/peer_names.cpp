// peer_names: the addresses of kept peers.
#include "cluster/links/peer_names.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>

namespace troupe::cluster {

namespace {

std::string join(const std::vector<std::string>& texts) {
  std::string out;
  for (const auto& text : texts)
    out += (out.empty() ? "" : ", ") + text;
  return out;
}

} // namespace

result<endpoint> to_endpoint(const std::string& text) {
  error wrong{errc::invalid_config, "read the address `" + text + "`: HOST:PORT is expected"};
  auto colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0)
    return wrong;
  endpoint out;
  out.host = text.substr(0, colon);
  if (out.host.front() == '[' && out.host.back() == ']')
    out.host = out.host.substr(1, out.host.size() - 2);
  const auto* end = text.data() + text.size();
  auto [rest, failure] = std::from_chars(text.data() + colon + 1, end, out.port);
  if (failure != std::errc{} || rest != end || out.host.empty()
      || out.host.size() > limits::cluster_host_bytes_max)
    return wrong;
  return out;
}

std::string to_text(const endpoint& at) {
  bool six = at.host.find(':') != std::string::npos;
  return (six ? "[" + at.host + "]" : at.host) + ":" + std::to_string(at.port);
}

bool is_address(const std::string& host) {
  in_addr four{};
  return host.find(':') != std::string::npos || inet_pton(AF_INET, host.c_str(), &four) == 1;
}

void peer_names::keep(const endpoint& peer) {
  kept_.insert(peer);
  if (!is_address(peer.host))
    names_.try_emplace(peer.host);
}

void peer_names::forget(const endpoint& peer) {
  kept_.erase(peer);
  if (std::ranges::find(kept_, peer.host, &endpoint::host) == kept_.end())
    names_.erase(peer.host);
}

std::vector<std::string> peer_names::due(instant now) {
  std::vector<std::string> out;
  for (auto& [host, name] : names_)
    if (!name.under_way && now >= name.due) {
      name.under_way = true;
      out.push_back(host);
    }
  return out;
}

std::string peer_names::answered(const std::string& host, const looked_up& addresses, instant now) {
  auto at = names_.find(host);
  if (at == names_.end())
    return {};
  auto& name = at->second;
  name.under_way = false;
  auto failure = addresses ? std::string{} : addresses.error().message();
  auto found = addresses ? *addresses : name.addresses;
  std::ranges::sort(found);
  found.erase(std::ranges::unique(found).begin(), found.end());
  found.resize(std::min(found.size(), limits::peer_addresses_max));
  bool is_news = failure != name.failure || found != name.addresses;
  name.failure = failure;
  name.addresses = std::move(found);
  name.due = now
             + (name.addresses.empty() ? limits::peer_lookup_retry : limits::peer_lookup_interval);
  if (!is_news)
    return {};
  auto known = name.addresses.empty() ? std::string{"without an address"} : join(name.addresses);
  return failure.empty() ? "`" + host + "` is " + known : failure + ": the host stays " + known;
}

std::set<endpoint> peer_names::wanted() const {
  std::set<endpoint> out;
  for (const auto& peer : kept_)
    for (auto& at : addresses_of(peer))
      out.insert(std::move(at));
  return out;
}

std::vector<endpoint> peer_names::addresses_of(const endpoint& peer) const {
  auto name = names_.find(peer.host);
  if (name == names_.end())
    return {peer};
  std::vector<endpoint> out;
  for (const auto& address : name->second.addresses)
    out.push_back({address, peer.port});
  return out;
}

std::string peer_names::failure(const std::string& host) const {
  auto name = names_.find(host);
  return name == names_.end() ? std::string{} : name->second.failure;
}

} // namespace troupe::cluster
