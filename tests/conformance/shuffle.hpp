// The order in which the tasks of a step end, drawn from a seed.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace troupe::conformance {

/// The time that tasks wait after their bodies. Thread: its members may be called from any thread.
class shuffle {
public:
  explicit shuffle(std::uint64_t seed) noexcept : seed_{seed} {}

  /// Units:  0 to 1.75 ms; the n-th delay of a node depends on the seed, its name and n.
  std::chrono::microseconds delay(const std::string& node);

private:
  std::uint64_t seed_;
  std::mutex mutex_;
  std::map<std::string, std::uint64_t> counts_;
};

} // namespace troupe::conformance
