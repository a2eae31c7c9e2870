// run_phase: where a run stands within its step, and which phase may follow which.
#pragma once

#include "graph/expects.hpp"

#include <array>
#include <cstdint>

namespace troupe {

enum class run_phase : std::uint8_t {
  idle,     ///< between two runs
  running,  ///< tasks of the open step run, or the next step is planned
  applying, ///< channels take the writes of the step
  saving,   ///< the step waits until its checkpoint is accepted or durable
  ending,   ///< the outcome is known, and waits until all is stored
};

/// The legal transitions: row `from`, column `to`.
inline constexpr std::array<std::array<bool, 5>, 5> run_phase_follows{{
  // idle, running, applying, saving, ending
  {false, true, false, false, false}, // idle: a run begins
  {true, false, true, true, true},    // running: abandoned; all tasks ended; entered; failed
  {true, true, false, true, true},    // applying: abandoned; saved at once; put; refused
  {true, true, false, false, true},   // saving: abandoned; saved; out of time
  {true, false, false, false, false}, // ending: everything is stored
}};

constexpr bool may_follow(run_phase from, run_phase to) noexcept {
  return run_phase_follows[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
}

/// The phase of a run. A transition that is not in the table ends the process.
class run_phase_track {
public:
  run_phase now() const noexcept { return now_; }
  bool is(run_phase phase) const noexcept { return now_ == phase; }
  void enter(run_phase next) noexcept {
    expects(may_follow(now_, next), "a run enters a phase that may not follow");
    now_ = next;
  }

private:
  run_phase now_ = run_phase::idle;
};

} // namespace troupe
