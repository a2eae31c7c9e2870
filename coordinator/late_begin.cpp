// late_begin: taking a unit, beginning the run, and resuming its actors in the same turn.
#include "coordinator/late_begin.hpp"

#include <caf/actor_system.hpp>
#include <caf/scheduler/abstract_coordinator.hpp>

#include <utility>

namespace troupe {

void late_begin::schedule(runtime_core& runtime, job begin) {
  auto* order = new late_begin{runtime, std::move(begin)}; // its reference is that of the queue
  runtime.system().scheduler().enqueue(order);
}

void late_begin::begin() {
  auto call = std::move(begin_);
  call(unit_);
}

caf::resumable::resume_result late_begin::resume(caf::execution_unit* thread,
                                                 std::size_t messages) {
  if (unit_) { // on its turn
    begin();
    return done;
  }
  auto& scheduler = runtime_.system().scheduler();
  unit_ = runtime_.acquire_strand();
  caf::intrusive_ptr<strand> unit{unit_};
  if (!unit->take_turn()) {
    ref();
    unit->exec_later(this);
    return done;
  }
  begin();
  if (unit->resume(thread, messages) == resume_later)
    scheduler.enqueue(unit.detach());
  return done;
}

} // namespace troupe
