// run_rules: what happens to the runs of a thread. Pure.
#pragma once

#include "server/rules/records.hpp"
#include "server/rules/run_request.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::server {

/// The effect of a new run on those that are pending or running on its thread.
struct arrival {
  bool is_refused = false;
  cancel_action others = cancel_action::none;
};
arrival on_arrival(double_texting strategy, bool others_in_flight) noexcept;

/// The status of a run that ended: by its error, if any, and by the cancellation asked for.
run_status status_of_end(const error* why, cancel_action asked) noexcept;

/// The status of a thread after a run. `has_next`: its newest checkpoint has tasks to run.
thread_status status_after(run_status ended, bool has_next, bool others_in_flight) noexcept;

/// The run that is next on a thread: the first in line whose time has come; empty when no
/// run is ready, or one runs. `wait_until` is then the earliest time of those that wait, or 0.
/// Units:  microseconds since 1970.
struct next_run {
  std::string run_id = {};
  std::int64_t wait_until = 0;
};
struct waiting_run {
  std::string run_id;
  std::int64_t due = 0;
};
next_run pick_next(const std::vector<waiting_run>& line, std::int64_t now);

} // namespace troupe::server
