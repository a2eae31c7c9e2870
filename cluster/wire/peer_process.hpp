// Whether the process of a peer has ended, where that is certain: on this host, by what its kernel
// tells. Pure; process_look.hpp asks the kernel.
//
// Invariants:
//  - Only a process that was seen alive has ended: what can't be seen here may live elsewhere.
//  - A process that is stopped, or whose last thread has not ended yet, is alive.
//  - Once ended, it stays so.
#pragma once

#include "cluster/wire/messages.hpp"

#include <chrono>
#include <cstdint>
#include <optional>

namespace troupe::cluster {

/// The kernel's facts about a process id, in the PID namespace of this process.
struct process_facts {
  bool exists = false;
  bool is_zombie = false;    // its first thread has ended
  std::uint32_t threads = 0; // that have not been waited for, the first one included
  std::uint64_t started = 0; // clock ticks after the boot
};

/// Whether what a peer tells of itself can be: nothing is known, or each part is within its bounds.
bool is_well_formed(const process_identity& peer);

enum class process_state : std::uint8_t { unknown, alive, ended };

/// The state of a peer's process on this host. `seen`: of its process id; none: it can't be told.
process_state state_of(const process_identity& peer,
                       const std::optional<process_facts>& seen) noexcept;

/// The process of a peer, over the time of a session.
class peer_process {
public:
  /// Nothing is known of it.
  peer_process() = default;
  peer_process(const process_identity& own, process_identity peer);

  /// Its process id, where it is worth a look; none on another host, and when it has ended.
  std::optional<std::uint32_t> to_look_at() const noexcept;
  /// The result of a look at it.
  void saw(const std::optional<process_facts>& what) noexcept;
  bool has_ended() const noexcept { return state_ == process_state::ended; }

private:
  process_identity peer_;
  bool is_here_ = false;
  process_state state_ = process_state::unknown;
};

/// When owners look again: links of a process that is killed break a little before it has ended.
/// Units:  first after look_again_first, then after twice as long each time, to look_again_max.
class look_pace {
public:
  /// A link broke. Whether the next look is to be ordered: after wait().
  bool begin() noexcept;
  /// There was a look. Likewise.
  bool next() noexcept;
  std::chrono::milliseconds wait() const noexcept { return wait_; }

private:
  std::chrono::milliseconds wait_{0}; // 0: none is ordered
};
inline constexpr std::chrono::milliseconds look_again_first{10}, look_again_max{640};

} // namespace troupe::cluster
