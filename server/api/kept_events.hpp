// kept_events: the events of a run that is being created, for the one who creates it.
#pragma once

#include "server/runs/event_log.hpp"

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace troupe::server {

/// Events are kept until begin() is called, since a run can end before its creator knows its id.
///
///     auto events = std::make_shared<kept_events>();
///     auto run = with.runs.create(…, [&](event_log& log) { events->watch(log); });
///     events->begin(…);
///
/// Owns:   itself, from hold() to the end of the events.
/// Thread: any.
class kept_events : public std::enable_shared_from_this<kept_events> {
public:
  void watch(event_log& log) { hold(log.read(reader())); }
  /// As watch(), for a log that is not at hand: reader() reads, and hold() keeps the reading.
  event_reader reader();
  void hold(std::shared_ptr<void> reading);
  /// Calls `reader.event` for each event from the first one on, then `reader.end`.
  void begin(event_reader reader);

private:
  void take(const run_event& event);
  void end();

  std::mutex mutex_;
  std::shared_ptr<void> reading_;
  std::vector<run_event> early_;
  bool has_begun_ = false;
  bool is_over_ = false;
  event_reader reader_;
};

} // namespace troupe::server
