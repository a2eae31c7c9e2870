// late_begin: the begin of a run on the scheduler. The run gets its unit and its group when a
// thread of the scheduler turns to it. Many runs that are started at once thus hold few groups at a
// time: those that a thread works for, and those that wait for something.
#pragma once

#include "coordinator/runtime_core.hpp"

#include <caf/ref_counted.hpp>
#include <caf/resumable.hpp>

#include <functional>

namespace troupe {

class late_begin : public caf::ref_counted, public caf::resumable {
public:
  using job = std::function<void(strand*)>;

  /// Calls `begin` once, on the turn of a unit that it may give to a run. The runtime has to live
  /// until then.
  static void schedule(runtime_core& runtime, job begin);

  /// The scheduler's turn; or that of the unit, if another thread was about to leave the unit.
  resume_result resume(caf::execution_unit* thread, std::size_t messages) override;

  void intrusive_ptr_add_ref_impl() override { ref(); }
  void intrusive_ptr_release_impl() override { deref(); }

private:
  late_begin(runtime_core& runtime, job begin) : runtime_{runtime}, begin_{std::move(begin)} {}
  void begin();

  runtime_core& runtime_; // not used any more when `begin_` was called
  job begin_;
  strand* unit_ = nullptr;
};

} // namespace troupe
