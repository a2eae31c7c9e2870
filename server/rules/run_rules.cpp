// run_rules: double texting, ends, and whose turn it is.
#include "server/rules/run_rules.hpp"

#include <algorithm>

namespace troupe::server {

arrival on_arrival(double_texting strategy, bool others_in_flight) noexcept {
  if (!others_in_flight)
    return {};
  switch (strategy) {
    case double_texting::reject: return {.is_refused = true};
    case double_texting::interrupt: return {.others = cancel_action::interrupt};
    case double_texting::rollback: return {.others = cancel_action::rollback};
    case double_texting::enqueue: break;
  }
  return {};
}

run_status status_of_end(const error* why, cancel_action asked) noexcept {
  if (!why)
    return run_status::success;
  if (why->code() == errc::cancelled
      || (asked != cancel_action::none && why->code() == errc::graph_drained))
    return run_status::interrupted;
  return why->code() == errc::node_timeout ? run_status::timeout : run_status::error;
}

thread_status status_after(run_status ended, bool has_next, bool others_in_flight) noexcept {
  if (others_in_flight)
    return thread_status::busy;
  if (ended == run_status::error || ended == run_status::timeout)
    return thread_status::error;
  return has_next ? thread_status::interrupted : thread_status::idle;
}

next_run pick_next(const std::vector<waiting_run>& line, std::int64_t now) {
  auto first = std::ranges::min_element(line, {}, [now](const waiting_run& one) {
    return one.due <= now ? std::int64_t{0} : one.due;
  });
  if (first == line.end())
    return {};
  return first->due <= now ? next_run{.run_id = first->run_id} : next_run{.wait_until = first->due};
}

} // namespace troupe::server
