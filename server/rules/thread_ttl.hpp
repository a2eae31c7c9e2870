// thread_ttl: which threads have lived long enough. Pure.
#pragma once

#include "server/rules/records.hpp"

#include <cstdint>

namespace troupe::server {

/// The end that is due for a thread: none, the removal of all of it, or that of its checkpoints but
/// the newest ones.
enum class thread_end : std::uint8_t { none, removal, pruning };

/// Shape:  a thread with a run in flight lives; a pruned one is due again after its next change.
/// Units:  `micros`: now, since 1970.
thread_end due_end(const thread_record& thread, std::int64_t micros);

} // namespace troupe::server
