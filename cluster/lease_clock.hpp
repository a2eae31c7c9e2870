// The clock of a worker's leases.
#pragma once

#include "cluster/wire/lease.hpp"

#include <ctime>

namespace troupe::cluster {

/// Steady, and does not stop while this process or its host does: what a lease is measured with.
/// Units: from the start of the host.
inline instant lease_now() noexcept {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return std::chrono::seconds{now.tv_sec} + nanoseconds{now.tv_nsec};
}

} // namespace troupe::cluster
