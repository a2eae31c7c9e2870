// Numbers drawn from a seed, the same on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe::fuzz {

/// Source: the splitmix64 generator.
class dice {
public:
  explicit dice(std::uint64_t seed) noexcept : state_{seed} {}

  std::uint64_t next() noexcept {
    auto z = (state_ += 0x9e37'79b9'7f4a'7c15u);
    z = (z ^ (z >> 30)) * 0xbf58'476d'1ce4'e5b9u;
    z = (z ^ (z >> 27)) * 0x94d0'49bb'1331'11ebu;
    return z ^ (z >> 31);
  }
  /// From 0 to `bound` - 1; 0 for a bound of 0.
  std::uint32_t below(std::size_t bound) noexcept {
    return bound == 0 ? 0 : static_cast<std::uint32_t>(next() % bound);
  }
  std::uint32_t between(std::uint32_t low, std::uint32_t high) noexcept {
    return low + below(high - low + 1);
  }
  bool chance(std::uint32_t percent) noexcept { return below(100) < percent; }

  template <class T> const T& pick(const std::vector<T>& from) noexcept {
    return from[below(from.size())];
  }
  template <class T> void mix(std::vector<T>& items) noexcept {
    for (auto i = items.size(); i > 1; --i)
      std::swap(items[i - 1], items[below(i)]);
  }

private:
  std::uint64_t state_;
};

/// The same text gives the same number, in every process.
inline std::uint64_t hash_of(std::string_view text) noexcept {
  std::uint64_t out = 0xcbf2'9ce4'8422'2325u;
  for (unsigned char c : text)
    out = (out ^ c) * 0x100'0000'01b3u;
  return out ^ (out >> 29);
}

} // namespace troupe::fuzz
