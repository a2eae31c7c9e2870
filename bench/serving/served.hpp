// served: `troupe serve` as a child of this program, and what it costs.
#pragma once

#include "bench/child.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace troupe::bench {

/// Use of a process since its start, and its memory now. Units: seconds of processor time; bytes.
struct process_costs {
  double cpu_s = 0;
  double resident_bytes = 0;
};

/// A server with the graphs of this benchmark. It is ended with the scope.
class served {
public:
  /// Shape: `flags` follow the graphs, as {"--data", folder}. Blocks: until the server listens.
  explicit served(const std::vector<std::string>& flags);
  served(const served&) = delete;
  ~served();

  std::uint16_t port() const noexcept { return port_; }
  process_costs costs() const;

private:
  child process_;
  std::uint16_t port_ = 0;
};

} // namespace troupe::bench
