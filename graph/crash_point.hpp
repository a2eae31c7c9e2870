// Crash points: places where tests let the process die, and guarantees that tests break on purpose.
// Both exist only in a build with TROUPE_CRASH_POINTS, and act only where the environment asks for
// them (tests/crash/README.md). In any other build the calls are empty.
#pragma once

#include <cstdint>

namespace troupe {

/// A guarantee that a test breaks, to show that the tests would notice (TROUPE_MUTATION=name).
enum class mutation : std::uint8_t {
  no_sync,          ///< a commit is not brought to the disk
  two_transactions, ///< a task's writes in one transaction, the checkpoint they make in the next
  early_answer,     ///< a durable request is answered before its commit
  no_claim,         ///< the owner of a thread is not checked
  no_depth_limit,   ///< decoding follows any depth that the data declares
};

#ifdef TROUPE_CRASH_POINTS
/// Ends the process by SIGKILL when TROUPE_CRASH_AT=name:n names this place and this is its n-th
/// call. Appends the name to the file TROUPE_CRASH_LOG, if that is set.
/// Thread: any.
void crash_point(const char* name) noexcept;
bool mutated(mutation which) noexcept;
#else
constexpr void crash_point(const char* /*name*/) noexcept {}
constexpr bool mutated(mutation /*which*/) noexcept {
  return false;
}
#endif

} // namespace troupe
