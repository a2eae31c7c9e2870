// filtered_subscription: the events of a thread, for a caller that may have a filter.
#pragma once

#include "server/api/rooms.hpp"

#include <functional>
#include <memory>
#include <string>

namespace troupe::server {

/// A subscriber of a thread's events.
/// Shape:  `filter` of its caller, or null. `take` as thread_hub::subscribe() has it.
struct thread_subscriber {
  std::string thread_id;
  value filter;
  subscription what;
  std::function<void(const numbered_event&)> take;
  /// Called once when the filter hides the thread, or the thread could not be read: no event
  /// follows. It is short.
  std::function<void()> refused = [] {};
};

/// As thread_hub::subscribe(), of a thread that fits the filter. A thread that is missing may come
/// later: its events are taken from the first one on, unless the filter hides it. Events of a
/// thread that was removed before are left out.
/// Blocks: on a read of a document.
/// Thread: of `refused`: this one, or one of the runs' that may block.
/// Errors: none: a read that fails is logged, and refuses.
std::shared_ptr<void> subscribe_filtered(
  const rooms& with, std::shared_ptr<thread_hub> hub, thread_subscriber one,
  const std::function<void()>& begins = [] {});

} // namespace troupe::server
