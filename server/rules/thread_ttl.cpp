// thread_ttl: times and strategies.
#include "server/rules/thread_ttl.hpp"

#include "server/rules/ids.hpp"

namespace troupe::server {

thread_end due_end(const thread_record& thread, std::int64_t micros) {
  constexpr double micros_a_minute = 60e6;
  if (!thread.ttl_minutes || !thread.inflight.empty() || !thread.running.empty())
    return thread_end::none;
  auto changed = micros_of(thread.updated_at);
  auto age = static_cast<double>(micros - changed);
  if (changed == 0 || age < *thread.ttl_minutes * micros_a_minute)
    return thread_end::none;
  if (thread.ttl_strategy != "keep_latest")
    return thread_end::removal;
  return thread.pruned_as_of == thread.updated_at ? thread_end::none : thread_end::pruning;
}

} // namespace troupe::server
