// host_gates: queues of transfers by host.
#include "http/host_gates.hpp"

#include <troupe/limits.hpp>

#include <algorithm>

namespace troupe {
namespace {

// libcurl drops an address by a clock of its own.
constexpr std::chrono::seconds lookup_margin{5};

} // namespace

bool host_gates::enter(const std::string& host, http_transfer* who, clock::time_point now) {
  if (gates_.size() >= sweep_at_)
    sweep(now);
  auto& at = gates_[host];
  if (at.known_until > now)
    return true;
  if (at.asks) {
    at.waiting.push_back(who);
    return false;
  }
  at.asks = who;
  return true;
}

host_gates::transfers host_gates::opened(const std::string& host, const http_transfer* who,
                                         clock::time_point now) {
  auto it = gates_.find(host);
  if (it == gates_.end() || it->second.asks != who)
    return {};
  auto& at = it->second;
  at.asks = nullptr;
  at.known_until = now + limits::http_lookup_kept - lookup_margin;
  transfers out(at.waiting.begin(), at.waiting.end());
  at.waiting.clear();
  return out;
}

http_transfer* host_gates::left(const std::string& host, const http_transfer* who,
                                clock::time_point now) {
  auto it = gates_.find(host);
  if (it == gates_.end())
    return nullptr;
  auto& at = it->second;
  http_transfer* next = nullptr;
  if (at.asks == who) {
    at.asks = nullptr;
    if (!at.waiting.empty()) {
      next = at.waiting.front();
      at.waiting.pop_front();
      at.asks = next;
    }
  } else {
    std::erase(at.waiting, who);
  }
  if (at.is_idle(now))
    gates_.erase(it);
  return next;
}

void host_gates::sweep(clock::time_point now) {
  std::erase_if(gates_, [now](const auto& one) { return one.second.is_idle(now); });
  sweep_at_ = std::max(kept_anyway, 2 * gates_.size());
}

} // namespace troupe
