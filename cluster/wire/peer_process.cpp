// peer_process: judges from the kernel's facts whether a peer's process has ended.
#include "cluster/wire/peer_process.hpp"

#include <troupe/limits.hpp>

#include <string_view>
#include <utility>

namespace troupe::cluster {

namespace {

/// Hexadecimal digits and dashes, as the kernel writes it.
bool is_boot_id(std::string_view text) {
  return text.size() == limits::boot_id_bytes
         && text.find_first_not_of("0123456789abcdef-") == std::string_view::npos;
}

} // namespace

bool is_well_formed(const process_identity& peer) {
  if (peer.boot.empty())
    return peer == process_identity{};
  return is_boot_id(peer.boot) && peer.pid_space > 0 && peer.pid > 0
         && peer.pid <= limits::process_id_max;
}

process_state state_of(const process_identity& peer,
                       const std::optional<process_facts>& seen) noexcept {
  if (!seen)
    return process_state::unknown;
  bool is_another = seen->exists && seen->started != peer.started;
  // A first thread that has ended stays visible while others run.
  bool is_dead = seen->exists && seen->is_zombie && seen->threads <= 1;
  return !seen->exists || is_another || is_dead ? process_state::ended : process_state::alive;
}

peer_process::peer_process(const process_identity& own, process_identity peer)
  : peer_{std::move(peer)},
    is_here_{!own.boot.empty() && own.boot == peer_.boot && own.pid_space == peer_.pid_space} {}

std::optional<std::uint32_t> peer_process::to_look_at() const noexcept {
  if (!is_here_ || has_ended())
    return std::nullopt;
  return peer_.pid;
}

void peer_process::saw(const std::optional<process_facts>& what) noexcept {
  auto now = state_of(peer_, what);
  if (has_ended())
    return;
  if (now == process_state::alive)
    state_ = now;
  else if (now == process_state::ended && state_ == process_state::alive)
    state_ = now;
  else if (now == process_state::ended && state_ == process_state::unknown)
    is_here_ = false; // never seen alive: the process lives elsewhere
}

bool look_pace::begin() noexcept {
  return std::exchange(wait_, look_again_first).count() == 0;
}

bool look_pace::next() noexcept {
  wait_ = wait_ < look_again_max ? 2 * wait_ : std::chrono::milliseconds{0};
  return wait_.count() > 0;
}

} // namespace troupe::cluster
