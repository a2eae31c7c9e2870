// part_pump: one part after the other, a few in a turn.
#include "coordinator/part_pump.hpp"

#include "actors/log.hpp"

#include <caf/actor_system.hpp>
#include <caf/scheduler/abstract_coordinator.hpp>

#include <utility>

namespace troupe {

namespace {

constexpr int parts_per_turn = 32; // then other actors of the scheduler get the thread

error listener_failed(const char* what) {
  return {errc::node_failed, std::string{"stream: on_part: the function for parts threw: "} + what,
          "Exception", what};
}

void tell_end(const part_pump::end_listener& end, const result<run_result>& how) {
  if (!end)
    return;
  try {
    end(how);
  } catch (const std::exception& e) {
    log_warning(std::string{"stream: on_part: the function for the end threw: "} + e.what());
  } catch (...) {
    log_warning("stream: on_part: the function for the end threw an exception of an unknown type");
  }
}

} // namespace

part_pump::part_pump(std::shared_ptr<open_reader> reader, part_listener each, end_listener end)
  : runtime_{reader->front().app().runtime()},
    reader_{std::move(reader)},
    each_{std::move(each)},
    end_{std::move(end)} {}

void part_pump::start(std::shared_ptr<open_reader> reader, part_listener each, end_listener end) {
  auto& app = reader->front().app();
  if (app.stopped() || !app.runtime().admit())
    return tell_end(end, runtime_is_gone());
  reader->front().begin();
  caf::intrusive_ptr<part_pump> pump{
    new part_pump{std::move(reader), std::move(each), std::move(end)}};
  pump->schedule();
}

void part_pump::schedule() {
  intrusive_ptr_add_ref_impl(); // the reference of the scheduler's queue
  runtime_.system().scheduler().enqueue(this);
}

caf::resumable::resume_result part_pump::resume(caf::execution_unit*, std::size_t) {
  for (int i = 0; i < parts_per_turn; ++i) {
    if (!reader_->ready()) { // another thread may resume the pump before when_ready() returns
      auto reader = reader_;
      reader->when_ready([pump = caf::intrusive_ptr<part_pump>{this}] { pump->schedule(); });
      return awaiting_message;
    }
    if (!take_part())
      return done;
  }
  return resume_later;
}

// False at the end.
bool part_pump::take_part() {
  auto part = reader_->next();
  if (!part || !*part) {
    finish(part ? *reader_->outcome() : result<run_result>{part.error()});
    return false;
  }
  try {
    each_(**part);
    return true;
  } catch (const error& e) {
    finish(e);
  } catch (const std::exception& e) {
    finish(listener_failed(e.what()));
  } catch (...) {
    finish(listener_failed("an exception of an unknown type"));
  }
  return false;
}

// The reader leaves first, so that `end` may begin the next run of the thread.
void part_pump::finish(const result<run_result>& how) {
  reader_.reset();
  each_ = {};
  tell_end(std::exchange(end_, {}), how);
  runtime_.dismiss();
}

void part_pump::intrusive_ptr_add_ref_impl() {
  owners_.fetch_add(1, std::memory_order_relaxed);
}

void part_pump::intrusive_ptr_release_impl() {
  if (owners_.fetch_sub(1, std::memory_order_acq_rel) == 1)
    delete this;
}

} // namespace troupe
