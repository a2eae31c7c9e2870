// status_value: the status that `troupe cluster status` shows, as a value.
#pragma once

#include "cluster/wire/status.hpp"

#include <troupe/value.hpp>

namespace troupe::cluster {

/// The status of a worker or a home.
/// Units:  durations in milliseconds.
value to_value(const admission_status& status);
value to_value(const dispatcher_status& status);

} // namespace troupe::cluster
