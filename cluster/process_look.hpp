// process_look: asks the kernel for the identity of this process, and about other processes in its
// PID namespace (Linux, /proc).
#pragma once

#include "cluster/wire/peer_process.hpp"

#include <optional>
#include <string_view>

namespace troupe::cluster {

/// The identity of this process, for its peers. Empty where the kernel hides a part of it, or where
/// /proc belongs to another PID namespace.
process_identity own_process();

/// The kernel's facts about a process id. Nullopt: the kernel has no answer, whether the process
/// exists or not. Blocks: not on devices; a look takes some ten microseconds.
std::optional<process_facts> look_at_process(std::uint32_t pid);

/// The facts in the content of /proc/PID/stat; nullopt when it can't be read. The process chooses
/// its name there, which may hold any byte.
std::optional<process_facts> facts_in(std::string_view stat);

} // namespace troupe::cluster
