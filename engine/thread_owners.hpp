// The numbers by which this runtime's runs own threads, and how a run enters a thread.
//
// Invariants:
//  - What is read of a thread behind enter_thread() is its last word, or the run's first request is
//    refused.
//  - A thread whose owner stores no more is entered without storing anything.
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
  /// `mark`: tells this runtime's numbers from those of all others. Random.
  explicit thread_owners(std::uint32_t mark) : mark_{std::uint64_t{mark} << 32} {}

  std::uint32_t mark() const noexcept { return static_cast<std::uint32_t>(mark_ >> 32); }
  /// A number for what stores under this claim, without the bit thread_at_rest.
  std::uint64_t add(const std::shared_ptr<held_claim>& claim);
  /// Whether who has this number, as far as it is known here, may still store: a run of another
  /// runtime, or one of this that is not over. Nobody, 0, may not, nor who put the thread to rest.
  bool may_be_on(std::uint64_t owner);
  /// Whether the number is of a run of this runtime.
  bool is_mine(std::uint64_t owner) const noexcept { return owner >> 32 == mark_ >> 32; }
  /// Whether who has this number may have left a run behind: it is somebody, did not put the thread
  /// to rest, and if it is of this runtime, it is over.
  bool may_have_left(std::uint64_t owner) {
    return owner != 0 && (owner & thread_at_rest) == 0 && !(is_mine(owner) && may_be_on(owner));
  }

private:
  const std::uint64_t mark_;
  std::mutex mutex_;
  std::uint32_t last_ = 0;
  std::unordered_map<std::uint64_t, std::weak_ptr<held_claim>> on_; // and some that are gone
  std::size_t kept_ = 0;                                            // when those were dropped last
};

/// Stores a request and waits until it is durable: its writes are there if and only if its
/// checkpoint is.
result<void> store_durably(saver& store, save_request request);

/// What a run that enters a thread is about to read.
enum class thread_reading : std::uint8_t {
  newest, ///< the newest checkpoint, to begin anew from it: what it was in the middle of is dropped
  pending, ///< the newest checkpoint, and what is stored of the step behind it
  older,   ///< a checkpoint that is named, perhaps with its step
};

/// Makes the claim one on this thread. Called before anything of the thread is read. Who owns it
/// and may still be on loses it now, but for thread_reading::newest: then with the run's first
/// request, which is refused if the newest checkpoint is another one by then.
/// `from`: the only owner it may be taken from.
/// Blocks: on a read, and on a durable commit where a thread is taken from somebody.
/// Errors: conflict when another one was faster; storage codes.
result<void> enter_thread(saver& store, const std::string& thread_id, thread_owners& owners,
                          const std::shared_ptr<held_claim>& claim, thread_reading what,
                          std::optional<std::uint64_t> from = std::nullopt);

} // namespace troupe
