// thread_owners: the numbers by which this runtime's runs own threads, and how a run enters a
// thread.
//
// Invariants:
//  - The data read after enter_thread() is the latest state of the thread, or the run's first
//    request is refused.
//  - A thread whose owner cannot store any more is entered without storing anything.
#pragma once

#include "tasks/held_claim.hpp"

#include <troupe/saver.hpp>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

namespace troupe {

/// Any thread.
class thread_owners {
public:
  /// `mark`: random; distinguishes this runtime's numbers from those of all others.
  explicit thread_owners(std::uint32_t mark) : mark_{std::uint64_t{mark} << 32} {}

  std::uint32_t mark() const noexcept { return static_cast<std::uint32_t>(mark_ >> 32); }
  /// A number for the requests under this claim, without the bit thread_at_rest.
  std::uint64_t add(const std::shared_ptr<held_claim>& claim);
  /// Whether the run with this number may still store, as far as this process knows. It may when it
  /// is of another runtime, or of this one and not over. False for 0 (no owner) and for an owner
  /// that put the thread to rest.
  bool may_be_on(std::uint64_t owner);
  /// Whether the number is of a run of this runtime.
  bool is_mine(std::uint64_t owner) const noexcept { return owner >> 32 == mark_ >> 32; }
  /// Whether the run with this number may have been cut off. The number is not 0, its run did not
  /// put the thread to rest, and, if it is of this runtime, it is over.
  bool may_have_left(std::uint64_t owner) {
    return owner != 0 && (owner & thread_at_rest) == 0 && !(is_mine(owner) && may_be_on(owner));
  }

private:
  const std::uint64_t mark_;
  std::mutex mutex_;
  std::uint32_t last_ = 0;
  std::unordered_map<std::uint64_t, std::weak_ptr<held_claim>> on_; // includes some that are over
  std::size_t kept_ = 0; // size when the ended ones were last dropped
};

/// Stores a request and waits until it is durable: its writes are stored if and only if its
/// checkpoint is.
result<void> store_durably(saver& store, save_request request);

/// The data that a run reads when it enters a thread.
enum class thread_reading : std::uint8_t {
  newest,  ///< the newest checkpoint, to begin anew from it; its unfinished step is dropped
  pending, ///< the newest checkpoint, and the stored writes of the step after it
  older,   ///< a checkpoint that is named, perhaps with its step
};

/// Gives the claim its number on this thread. Called before anything of the thread is read. An
/// owner that may still store loses the thread now. With thread_reading::newest it loses the thread
/// with the run's first request, which is refused if the newest checkpoint is another one by then.
/// `from`: the only owner from which the thread may be taken.
/// Blocks: on a read, and on a durable commit where the thread is taken from an owner.
/// Errors: conflict when another run was faster; storage codes.
result<void> enter_thread(saver& store, const std::string& thread_id, thread_owners& owners,
                          const std::shared_ptr<held_claim>& claim, thread_reading what,
                          std::optional<std::uint64_t> from = std::nullopt);

} // namespace troupe
