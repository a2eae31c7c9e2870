#include "tests/conformance/shuffle.hpp"

namespace troupe::conformance {
namespace {

constexpr std::chrono::microseconds unit{250};
constexpr std::uint64_t delays = 8;

// splitmix64
std::uint64_t mixed(std::uint64_t x) noexcept {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

} // namespace

std::chrono::microseconds shuffle::delay(const std::string& node) {
  std::lock_guard guard{mutex_};
  auto drawn = mixed(seed_ + counts_[node]++);
  for (unsigned char c : node)
    drawn = mixed(drawn ^ c);
  return unit * static_cast<std::int64_t>(drawn % delays);
}

} // namespace troupe::conformance
