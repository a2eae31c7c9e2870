// host_gates: which transfer may look up the address of a host. Pure.
//
// Invariants:
//  - while a host's address is not known, one transfer at a time looks it up; the others wait.
//  - the number of entries is at most twice the number of hosts that are in use or have a known
//    address, plus a few.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <map>
#include <string>
#include <vector>

namespace troupe {

class http_transfer;

class host_gates {
public:
  using clock = std::chrono::steady_clock;
  /// Shape:  only the identity of a transfer counts.
  using transfers = std::vector<http_transfer*>;

  /// Whether `who` may begin; otherwise it waits until opened() or left() returns it.
  bool enter(const std::string& host, http_transfer* who, clock::time_point now);
  /// `who` has the host's address: returns the transfers that may begin now, in the order in which
  /// they came. Empty unless `who` is the one that looked it up.
  transfers opened(const std::string& host, const http_transfer* who, clock::time_point now);
  /// `who` ended, or found a connection and needs no look-up. Returns the transfer that looks up
  /// now; null without one.
  http_transfer* left(const std::string& host, const http_transfer* who, clock::time_point now);

  /// The number of hosts with an entry.
  std::size_t size() const noexcept { return gates_.size(); }

private:
  struct gate {
    clock::time_point known_until{};
    const http_transfer* asks = nullptr;
    std::deque<http_transfer*> waiting;

    bool is_idle(clock::time_point now) const {
      return !asks && waiting.empty() && known_until <= now;
    }
  };
  void sweep(clock::time_point now);

  static constexpr std::size_t kept_anyway = 64;
  std::map<std::string, gate> gates_;
  std::size_t sweep_at_ = kept_anyway;
};

} // namespace troupe
