// lazy_scheduler: CAF's work-sharing scheduler, started late; and a queue for a runtime that ends
// without threads.
#include "actors/lazy_scheduler.hpp"

#include "actors/logger_reference.hpp"
#include "actors/strand.hpp"

#include <caf/event_based_actor.hpp>
#include <caf/policy/work_sharing.hpp>
#include <caf/scheduler/coordinator.hpp>
#include <caf/send.hpp>

#include <utility>

namespace troupe {

class lazy_scheduler::thread_pool : public caf::scheduler::coordinator<caf::policy::work_sharing> {
public:
  using coordinator::clock;
  using coordinator::coordinator;
  using coordinator::enqueue;
  using coordinator::start;
  using coordinator::stop;
};

namespace {

// The receiver of CAF's `aout` until somebody prints: CAF's own printer has a thread.
class late_printer : public caf::event_based_actor {
public:
  late_printer(caf::actor_config& config, std::function<caf::actor()> find)
    : caf::event_based_actor(config),
      find_{std::move(find)} {}

  caf::behavior make_behavior() override {
    set_default_handler([this](caf::scheduled_actor*, caf::message_view& text) {
      caf::anon_send(find_(), text.move_content_to_message());
      return caf::result<caf::message>{caf::message{}};
    });
    return {[](caf::unit_t) {}};
  }

private:
  std::function<caf::actor()> find_;
};

} // namespace

lazy_scheduler::lazy_scheduler(caf::actor_system& system)
  : abstract_coordinator{system},
    pool_{std::make_unique<thread_pool>(system)},
    caller_{*this} {}

lazy_scheduler::~lazy_scheduler() = default;

void lazy_scheduler::init(caf::actor_system_config& config) {
  abstract_coordinator::init(config);
  pool_->init(config);
}

void lazy_scheduler::start() {
  utility_actors_[printer_id] = system_.spawn<late_printer, caf::hidden + caf::lazy_init>(
    [this] { return threads().printer(); });
}

lazy_scheduler::thread_pool& lazy_scheduler::threads() {
  if (has_threads())
    return *pool_;
  std::lock_guard lock{mutex_};
  return start_threads();
}

lazy_scheduler::thread_pool& lazy_scheduler::start_threads() {
  if (!has_threads()) {
    logger_reference reference; // the thread may be a user's
    pool_->start();
    running_.store(true, std::memory_order_release);
  }
  return *pool_;
}

void lazy_scheduler::enqueue(caf::resumable* job) {
  if (!has_threads()) {
    std::lock_guard lock{mutex_};
    if (closed_) {
      waiting_.push_back(job);
      pushed_.notify_one();
      return;
    }
    start_threads();
  }
  pool_->enqueue(job);
}

caf::actor_clock& lazy_scheduler::clock() noexcept {
  return threads().clock();
}

bool lazy_scheduler::close_without_threads() {
  std::lock_guard lock{mutex_};
  closed_ = !has_threads();
  return closed_;
}

void lazy_scheduler::run_here(const std::function<bool()>& done) {
  logger_reference reference;
  while (!done()) {
    std::unique_lock lock{mutex_};
    pushed_.wait(lock, [this] { return !waiting_.empty(); });
    auto* job = waiting_.front();
    waiting_.pop_front();
    lock.unlock();
    resume(job);
  }
}

void lazy_scheduler::resume_with_threads() {
  std::lock_guard lock{mutex_};
  closed_ = false;
  for (auto* job : std::exchange(waiting_, {}))
    start_threads().enqueue(job);
}

void lazy_scheduler::resume(caf::resumable* job) {
  if (job->resume(&caller_, messages_per_turn) == caf::resumable::resume_later)
    caller_.exec_later(job);
  else
    caf::intrusive_ptr_release(job);
}

void lazy_scheduler::stop() {
  caf::anon_send_exit(std::exchange(utility_actors_[printer_id], nullptr),
                      caf::exit_reason::user_shutdown);
  if (has_threads())
    return pool_->stop();
  run_here([this] {
    std::lock_guard lock{mutex_};
    return waiting_.empty();
  });
}

lazy_scheduler::caller_unit::caller_unit(lazy_scheduler& scheduler) : scheduler_{scheduler} {
  system_ = &scheduler.system();
}

void lazy_scheduler::caller_unit::exec_later(caf::resumable* job) {
  scheduler_.enqueue(job);
}

} // namespace troupe
