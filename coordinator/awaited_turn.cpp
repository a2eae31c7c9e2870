// awaited_turn: entering the queue, leaving it, and what runs afterwards.
#include "coordinator/awaited_turn.hpp"

#include "tasks/run_shared.hpp"

namespace troupe {

namespace {

error given_up(const std::string& thread_id) {
  return {errc::cancelled,
          "run: cancelled while it waited for its turn on thread `" + thread_id + "`"};
}

} // namespace

awaited_turn::awaited_turn(runtime_core& runtime, const run_shared& shared)
  : runtime_{runtime},
    claim_{shared.claim},
    thread_id_{shared.config.thread_id},
    control_{shared.control},
    admitted_{runtime.admit()} {
  // When the runtime was stopped meanwhile, wait() reports that.
  runtime_.turns()->wait(thread_id_, claim_, shared.config.multitask,
                         [answer = answer_](result<void> how) {
                           answer->how = std::move(how);
                           answer->told.release();
                         });
  auto leave = [turns = std::weak_ptr{runtime_.turns()}, id = thread_id_, claim = claim_.get()] {
    if (auto there = turns.lock())
      there->leave(id, claim, given_up(id));
  };
  control_hooks::add(control_, claim_.get(), leave);
  if (control_.cancelled()) // it was cancelled before the hook was added
    leave();
}

awaited_turn::~awaited_turn() {
  finish();
}

void awaited_turn::finish() {
  if (finished_.exchange(true))
    return;
  control_hooks::remove(control_, claim_.get());
  runtime_.turns()->leave(thread_id_, claim_.get(), given_up(thread_id_));
  if (admitted_)
    runtime_.dismiss();
}

result<void> awaited_turn::wait() {
  answer_->told.wait();
  return answer_->how;
}

// The latch may open while the control's lock is held, and finish() takes that lock. So finish() is
// called in the job, wherever the last reference is dropped.
void awaited_turn::then(const std::shared_ptr<awaited_turn>& turn,
                        std::function<void(result<void>)> job) {
  turn->answer_->told.when_open([turn, job = std::move(job)] {
    auto& services = turn->runtime_.shared();
    if (services.pool.submit([turn, job] {
          job(turn->answer_->how);
          turn->finish();
        }))
      return;
    services.clock.after({}, [turn, job] {
      job(error{errc::overloaded, "start a run: blocking_queue_max jobs wait already"});
      turn->finish();
    });
  });
}

} // namespace troupe
