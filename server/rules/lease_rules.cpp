// lease_rules: signs of life, and runs that lost their server.
#include "server/rules/lease_rules.hpp"

#include <troupe/server/limits.hpp>

#include <algorithm>

namespace troupe::server {

std::int64_t counted_silence(std::int64_t since_last_look) noexcept {
  constexpr std::chrono::microseconds most = 2 * limits::server_lease_renewal;
  return std::min<std::int64_t>(since_last_look, most.count());
}

servers_look look_at_servers(const std::map<std::string, seen_server>& before,
                             const std::vector<server_sign>& now_there, std::int64_t silence,
                             std::int64_t lease_micros) {
  servers_look out;
  for (const auto& sign : now_there) {
    auto known = before.find(sign.server_id);
    seen_server seen{sign.revision};
    if (known != before.end() && known->second.revision == sign.revision)
      seen.silent = known->second.silent + silence;
    if (seen.silent >= lease_micros)
      out.dead.push_back(sign);
    out.seen.emplace(sign.server_id, seen);
  }
  out.is_one_gone = std::ranges::any_of(before, [&out](const auto& known) {
    return !out.seen.contains(known.first);
  });
  return out;
}

bool is_same_claim(const run_record& mine, const run_record& stored) noexcept {
  return stored.owner == mine.owner && stored.attempt == mine.attempt && stored.left == mine.left;
}

void release_run(thread_record& thread, run_record& run, std::int64_t attempts_max) {
  thread.running.clear();
  run.owner.clear();
  run.status = run_status::pending;
  if (run.attempt < attempts_max)
    return;
  run.status = run_status::error;
  run.error =
    value::map({{"error", "RunGivenUp"},
                {"message", "the server ended " + std::to_string(run.attempt)
                              + " times while this run was running (server_run_attempts_max)"}});
  std::erase(thread.inflight, run.run_id);
  thread.error = run.error;
  thread.status = thread.inflight.empty() ? thread_status::error : thread_status::busy;
}

std::uint64_t first_event_of(std::uint64_t last, bool has_former_owner) noexcept {
  return last + (has_former_owner ? limits::server_run_events_gap : 0) + 1;
}

} // namespace troupe::server
