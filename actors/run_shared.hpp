// What all tasks of one run share: its options, its answer in waiting, its reader.
#pragma once

#include "graph/graph_plan.hpp"

#include <troupe/runtime.hpp>

#include <atomic>
#include <mutex>
#include <string>

namespace caf {
class execution_unit;
} // namespace caf

namespace troupe {

struct run_control::state {
  std::atomic<bool> drain{false};
  std::atomic<bool> cancel{false};
  mutable std::mutex mutex;
  std::string reason;
};

/// Where the parts of a run go. emit() is called by the coordinator, emit_custom() by bodies on
/// any thread.
class part_sink {
public:
  virtual ~part_sink() = default;
  virtual bool wants(stream_mode mode) const noexcept = 0;
  virtual void emit(stream_part part) = 0;
  /// Blocks while the reader lags by limits::stream_queue_parts_max parts.
  virtual void emit_custom(stream_part part) = 0;
};

/// Shared by the coordinator and the tasks of one run.
struct run_shared {
  std::shared_ptr<const graph_plan> plan;
  run_config config;
  std::shared_ptr<part_sink> sink;     // null: nobody reads
  caf::execution_unit* home = nullptr; // the thread that is lent to the run, if any
  std::atomic<bool> stop{false};       // bodies should return
  run_control control;                 // the caller's, or the run's own

  /// The plain answer of this run, for the first question that has none; consumed once.
  std::optional<value> take_answer();
  void give_answer(value answer);

  bool wants(stream_mode mode) const noexcept { return sink && sink->wants(mode); }

private:
  std::mutex mutex_;
  std::optional<value> answer_;
};

} // namespace troupe
