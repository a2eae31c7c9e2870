// part_gate: the order of a run's parts while some of them wait for the disk (durability sync).
//
// Invariants:
//  - parts leave in the order in which they came, whichever of them had to wait. A part that a body
//    streams never overtakes the end of a task that ended before.
//  - while nothing is held, a part passes without a lock.
//  - a body that may wait does so while queue_parts_max parts of bodies are held back. A body on a
//    thread that others need does not wait.
#pragma once

#include "tasks/run_shared.hpp"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>

namespace troupe {

/// Stands before the sink of a run and of its nested runs.
/// Thread: any for emit_custom(); the runs' coordinators for the other members.
class part_gate : public part_sink {
public:
  explicit part_gate(std::shared_ptr<part_sink> next) : next_{std::move(next)} {}

  bool wants(stream_mode mode) const noexcept override { return next_->wants(mode); }
  void emit(stream_part part) override;
  void emit_custom(stream_part part) override;
  bool may_block() const noexcept override { return next_->may_block(); }
  bool gave_up() const noexcept override { return next_->gave_up(); }
  std::optional<error> failure() const override { return next_->failure(); }
  /// Blocks while too many parts of bodies are held back, or the reader lags.
  void wait_for_room() override;

  /// Keeps the part back, and with it all parts that come after it.
  /// Shape:  a number for release() or drop(); exactly one of them must be called once.
  std::uint64_t hold(stream_part part);
  /// The part may leave.
  void release(std::uint64_t number);
  /// The part never leaves.
  void drop(std::uint64_t number);

private:
  struct waiting_part {
    std::uint64_t number; // of a held part; 0: the part waits for those before it
    bool from_body;
    stream_part part;
  };

  bool queued(stream_part& part, bool from_body);
  void settle(std::uint64_t number, bool leaves);
  void let_go();

  std::shared_ptr<part_sink> next_;
  std::atomic<bool> holds_{false}; // at least one part waits
  std::mutex mutex_;
  std::condition_variable room_;
  std::deque<waiting_part> waiting_; // the first one is a held part
  std::size_t from_bodies_ = 0;      // how many of the waiting parts come from bodies
  std::uint64_t last_ = 0;           // the last number handed out
};

} // namespace troupe
