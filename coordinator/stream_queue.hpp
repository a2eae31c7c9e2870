// stream_queue: the way of a run's parts to their reader, with bounded memory.
//
// Invariants:
//  - while queue_parts_max parts wait for the reader, a body that writes waits or loses parts, as
//    the reader chose. A part of the coordinator is never lost.
//  - the coordinator never waits. Its parts are bounded by those of one step, because the run
//    advances on the reader's thread, when the reader reads.
//  - once closed, nothing waits and parts are dropped.
#pragma once

#include "actors/lent_thread.hpp"
#include "coordinator/stream_log.hpp"
#include "tasks/run_shared.hpp"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <vector>

namespace troupe {

/// The error of a reader that lags although it may not.
error reader_lags();

class stream_queue : public part_sink {
public:
  stream_queue(const stream_options& options, lent_thread& reader);
  ~stream_queue() override;

  /// From now on, parts are numbered by this log and kept there, too.
  void keep_in(std::shared_ptr<thread_log> log);
  /// Whether the reader lagged although it may not (overflow::fail).
  bool gave_up() const noexcept override { return overflowed_; }
  std::optional<error> failure() const override;

  bool wants(stream_mode mode) const noexcept override {
    return (modes_ & (1u << static_cast<unsigned>(mode))) != 0;
  }
  void emit(stream_part part) override;
  void emit_custom(stream_part part) override;

  /// Waits a moment while more parts come, so that the reader takes many at once from a fast
  /// writer on another thread.
  void gather() const noexcept;
  /// Moves all waiting parts into the empty `into`, in order; writers may continue. Thread: the
  /// reader's.
  void take_all(part_list& into);
  bool empty() const noexcept { return size_.load(std::memory_order_acquire) == 0; }
  /// The reader left.
  void close();

private:
  void push(std::unique_lock<std::mutex>& lock, part_list& where, stream_part&& part);
  bool make_room(std::unique_lock<std::mutex>& lock);

  unsigned modes_ = 0;
  std::size_t parts_max_;
  overflow when_full_;
  std::shared_ptr<thread_log> log_;
  std::atomic<bool> overflowed_{false};
  lent_thread& reader_;
  std::mutex mutex_;
  std::condition_variable room_;
  part_list parts_;                  // of the coordinator
  part_list streamed_;               // of bodies; both are sorted by number
  part_list taken_;                  // empty, with the memory of parts of bodies; the reader's
  std::atomic<std::size_t> size_{0}; // changes under the lock only
  std::atomic<bool> comes_from_elsewhere_{false}; // a waiting part, from another thread
  std::uint64_t seq_ = 0;
  bool closed_ = false;
};

} // namespace troupe
