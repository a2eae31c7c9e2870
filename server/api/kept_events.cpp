// kept_events: keeping, then passing on.
#include "server/api/kept_events.hpp"

#include <utility>

namespace troupe::server {

event_reader kept_events::reader() {
  return {.event = [self = shared_from_this()](const run_event& event) { self->take(event); },
          .end = [self = shared_from_this()] { self->end(); }};
}

void kept_events::hold(std::shared_ptr<void> reading) {
  std::lock_guard lock{mutex_};
  if (!is_over_)
    reading_ = std::move(reading);
}

void kept_events::begin(event_reader reader) {
  std::lock_guard lock{mutex_};
  has_begun_ = true;
  reader_ = std::move(reader);
  for (const auto& event : std::exchange(early_, {}))
    if (reader_.event)
      reader_.event(event);
  if (is_over_ && reader_.end)
    reader_.end();
}

void kept_events::take(const run_event& event) {
  std::lock_guard lock{mutex_};
  if (!has_begun_)
    early_.push_back(event);
  else if (reader_.event)
    reader_.event(event);
}

void kept_events::end() {
  std::shared_ptr<void> dropped; // without the lock: it may hold the last reference to this
  std::lock_guard lock{mutex_};
  is_over_ = true;
  dropped.swap(reading_);
  if (has_begun_ && reader_.end)
    reader_.end();
}

} // namespace troupe::server
