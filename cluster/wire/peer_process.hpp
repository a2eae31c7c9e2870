// peer_process: whether the process of a peer has ended, where the kernel of this host knows. Pure;
// process_look.hpp asks the kernel.
//
// Invariants:
//  - Only a process that was seen alive can have ended. One that was never seen may live elsewhere.
//  - A process that is stopped, or whose last thread has not ended yet, is alive.
//  - An ended process stays ended.
#pragma once

#include "cluster/wire/protocol.hpp"

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

/// Whether a peer's identity is valid: empty, or with each part within its bounds.
bool is_well_formed(const process_identity& peer);

enum class process_state : std::uint8_t { unknown, alive, ended };

/// The state of a peer's process on this host.
/// Shape:  `seen`: the kernel's facts about its process id; nullopt gives unknown.
process_state state_of(const process_identity& peer,
                       const std::optional<process_facts>& seen) noexcept;

/// The process of a peer, over the time of a session.
class peer_process {
public:
  /// A process about which nothing is known.
  peer_process() = default;
  peer_process(const process_identity& own, process_identity peer);

  /// The process id to look at; nullopt on another host, and after the process has ended.
  std::optional<std::uint32_t> to_look_at() const noexcept;
  /// Takes the result of a look.
  void saw(const std::optional<process_facts>& what) noexcept;
  bool has_ended() const noexcept { return state_ == process_state::ended; }
  /// Looks once more with `look(pid)`, where to_look_at() names a process. Returns has_ended().
  template <class Look> bool ended_by_now(const Look& look) {
    if (auto pid = to_look_at())
      saw(look(*pid));
    return has_ended();
  }

private:
  process_identity peer_;
  bool is_here_ = false;
  process_state state_ = process_state::unknown;
};

/// The pace of further looks, since the links of a killed process break shortly before it has
/// ended.
/// Units:  the first look after look_again_first, each next one after twice as long, up to
///         look_again_max.
class look_pace {
public:
  /// Notes that a link broke. True: the caller orders the next look, after wait().
  bool begin() noexcept;
  /// Notes a look. True: the caller orders the next one, after wait().
  bool next() noexcept;
  std::chrono::milliseconds wait() const noexcept { return wait_; }

private:
  std::chrono::milliseconds wait_{0}; // 0: no look is ordered
};
inline constexpr std::chrono::milliseconds look_again_first{10}, look_again_max{640};

} // namespace troupe::cluster
