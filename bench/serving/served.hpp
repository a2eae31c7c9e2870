// served: `troupe serve` as a child of this program, and what it costs.
#pragma once

#include "bench/child.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <string>
#include <vector>

namespace troupe::bench {

/// Use of processes since their starts, and their memory now. Units: seconds of processor time;
/// bytes; `private_bytes` are those of the resident ones that no file backs, as LMDB's does.
struct process_costs {
  double cpu_s = 0;
  double resident_bytes = 0;
  double private_bytes = 0;
};

/// Servers of one store with the graphs of this benchmark. They are ended with the scope.
class served {
public:
  /// Shape: `flags` follow the graphs, as {"--data", folder}; `count` above 1 needs "--postgres".
  /// Blocks: until the servers listen.
  explicit served(const std::vector<std::string>& flags, std::size_t count = 1);
  served(const served&) = delete;
  ~served();

  /// The port of one server after the other. Thread: any.
  std::uint16_t port() const noexcept { return ports_[next_++ % ports_.size()]; }
  /// The sum over all of them.
  process_costs costs() const;

private:
  std::deque<child> processes_;
  std::vector<std::uint16_t> ports_;
  mutable std::atomic<std::size_t> next_ = 0;
};

} // namespace troupe::bench
