// Whose turn it is to look up the address of a host. Pure.
//
// Invariants:
//  - of a host whose address is not known, one transfer asks at a time; the others wait for it.
//  - at most twice as many hosts are kept as are in use or have a known address, and a few.
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
  /// Shape:  of transfers only the identity counts.
  using transfers = std::vector<http_transfer*>;

  /// Whether `who` may begin; else it waits until opened() or left() names it.
  bool enter(const std::string& host, http_transfer* who, clock::time_point now);
  /// The one that asks has learnt the address: those that may begin now, in the order in which they
  /// came. From any other transfer it is no news.
  transfers opened(const std::string& host, const http_transfer* who, clock::time_point now);
  /// `who` ended, or found a connection and need not ask: the one that asks now, or nothing.
  http_transfer* left(const std::string& host, const http_transfer* who, clock::time_point now);

  /// Hosts that are kept.
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
