// Places where tests let the process die, and guarantees that tests break on purpose. Both exist
// only in a build with TROUPE_CRASH_POINTS, and there only where the environment asks for them
// (tests/crash/README.md); in any other build nothing is left of them.
#pragma once

#include <cstdint>

namespace troupe {

/// A guarantee to break, so that a test can show that it would notice (TROUPE_MUTATION=name).
enum class mutation : std::uint8_t {
  no_sync,          ///< a commit is not brought to the disk
  two_transactions, ///< a task's writes in one transaction, the checkpoint they make in the next
  early_answer,     ///< a durable request is answered before its commit
  no_claim,         ///< nobody asks who owns a thread
  no_depth_limit,   ///< decoding goes as deep as the data says
};

#ifdef TROUPE_CRASH_POINTS
/// Ends the process by SIGKILL when TROUPE_CRASH_AT=name:n names this place and its n-th passing.
/// Appends the name to the file TROUPE_CRASH_LOG, if there is one.
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
