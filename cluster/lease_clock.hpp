// lease_clock: the clock of a worker's leases.
#pragma once

#include "cluster/wire/lease.hpp"

#include <ctime>

namespace troupe::cluster {

/// The time for leases. Steady, and counts while the process or its host stands still.
/// Units:  from the start of the host.
inline instant lease_now() noexcept {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return std::chrono::seconds{now.tv_sec} + nanoseconds{now.tv_nsec};
}

} // namespace troupe::cluster
