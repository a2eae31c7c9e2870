// counting: the memory that this process allocates, counted by replaced malloc functions.
#pragma once

#include <cstdint>
#include <utility>

namespace troupe::bench {

/// Counts of this process. Units: `bytes` as requested; `live` bytes are those not freed yet, with
/// the allocator's rounding.
struct memory_counts {
  std::uint64_t allocations = 0;
  std::uint64_t bytes = 0;
  std::int64_t live = 0;
};
memory_counts memory_counts_now();

/// The counts that `work` adds, in all threads.
template <class F> memory_counts counts_of(F&& work) {
  auto before = memory_counts_now();
  std::forward<F>(work)();
  auto after = memory_counts_now();
  return {after.allocations - before.allocations, after.bytes - before.bytes,
          after.live - before.live};
}

} // namespace troupe::bench
