// part_fan: the way of a run's parts to several readers, each with a queue of its own.
//
// Invariants:
//  - each reader gets the parts of its modes in the order of their numbers.
//  - no part waits for a thread: while a reader lags, the brake holds the actors of the run. Bodies
//    that may wait do so; other bodies run to their end.
//  - once the run ended or is being stopped, nothing waits, and the brake is released.
//  - no callback is called under the lock.
#pragma once

#include "coordinator/stream_log.hpp"
#include "tasks/run_shared.hpp"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace troupe {

class part_fan : public part_sink {
public:
  /// A reader's queue. Guarded by the fan's lock.
  class reader {
  public:
    explicit reader(const stream_options& options);

  private:
    friend class part_fan;
    struct waiting_part {
      stream_part part;
      bool kept; // not dropped for newer parts
    };
    unsigned modes_ = 0;
    std::size_t parts_max_;
    overflow when_full_;
    std::deque<waiting_part> parts_;
    std::size_t kept_ = 0; // how many of them are kept
    bool failed_ = false;  // it lagged although it may not (overflow::fail)
    std::function<void()> wake_;
    std::condition_variable arrived_;
  };
  using reader_ptr = std::shared_ptr<reader>;

  // -- readers, on any thread

  /// Errors: invalid_config when the run has begun without one of the modes.
  result<reader_ptr> add(const stream_options& options);
  /// The reader left; its parts are dropped.
  void remove(const reader_ptr& who);
  /// All waiting parts.
  part_list take_all(reader& who);
  /// Whether a part waits, or none will come any more.
  bool ready(const reader& who) const;
  /// Waits for ready().
  void wait(reader& who);
  /// Calls `then` once, when ready(); at once when it is.
  void when_ready(reader& who, std::function<void()> then);
  /// The result of the run for this reader; nullopt before the end.
  std::optional<result<run_result>> outcome(const reader& who) const;
  /// The result of the run itself.
  std::optional<result<run_result>> outcome() const;

  // -- the run

  /// No mode is added any more. `log`, when given, numbers and keeps the parts.
  void begin(std::shared_ptr<thread_log> log);
  /// The run ended: after the waiting parts the readers get `how`.
  void end(result<run_result> how);
  /// All readers left: the run stops at the end of its step.
  void abandon();

  // part_sink
  bool wants(stream_mode mode) const noexcept override;
  void emit(stream_part part) override { add_part(std::move(part), true); }
  void emit_custom(stream_part part) override { add_part(std::move(part), false); }
  bool may_block() const noexcept override { return false; }
  void wait_for_room() override;
  bool gave_up() const noexcept override { return stops_.load(std::memory_order_relaxed); }
  std::optional<error> failure() const override;
  void braked_by(run_brake* brake) override;
  void run_is_stopped() override;

private:
  using wake_list = std::vector<std::function<void()>>;

  void add_part(stream_part part, bool of_engine);
  template <class Part> void offer(reader& who, Part&& part, bool of_engine, wake_list& sleepers);
  bool make_room(reader& who, bool of_engine);
  void stop_unread();
  bool at_end(const reader& who) const;
  bool lags(const reader& who) const;
  void brake();
  void wake_if_ready(reader& who, wake_list& sleepers) const;
  static void wake(wake_list& sleepers);

  mutable std::mutex mutex_;
  std::condition_variable room_;
  std::vector<reader_ptr> readers_;
  std::atomic<unsigned> modes_{0};
  std::atomic<bool> stops_{false};
  bool begun_ = false;
  bool open_ = false;   // nothing waits for readers
  bool held_ = false;   // the brake holds
  bool lagged_ = false; // the last reader was one that lagged although it may not
  run_brake* brake_ = nullptr;
  std::shared_ptr<thread_log> log_;
  std::uint64_t seq_ = 0;
  std::optional<result<run_result>> end_;
};

} // namespace troupe
