// lazy_scheduler: CAF's work-sharing scheduler, started late; and a queue for a runtime that ends
// without threads.
#include "actors/lazy_scheduler.hpp"

#include "actors/logger_reference.hpp"
#include "actors/strand.hpp"

#include <caf/event_based_actor.hpp>
#include <caf/policy/work_sharing.hpp>
#include <caf/scheduler/coordinator.hpp>

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

// Stands where CAF's `aout` looks for the printer, which has a thread of its own.
class late_printer : public caf::event_based_actor {
public:
  late_printer(caf::actor_config& config, std::function<caf::actor()> find)
    : caf::event_based_actor(config),
      find_{std::move(find)} {}

  void enqueue(caf::mailbox_element_ptr line, caf::execution_unit* unit) override {
    find_()->enqueue(std::move(line), unit);
  }

private:
  std::function<caf::actor()> find_;
};

} // namespace

lazy_scheduler::lazy_scheduler(caf::actor_system& system)
  : abstract_coordinator{system},
    pool_{std::make_unique<thread_pool>(system)},
    caller_{*this},
    clock_{*this} {}

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
  if (!has_threads())
    resume_with_threads();
  return *pool_;
}

void lazy_scheduler::start_threads() {
  if (has_threads())
    return;
  logger_reference reference; // the thread may be a user's
  pool_->start();
  running_.store(true, std::memory_order_release);
  closed_ = false;
  for (auto* job : std::exchange(waiting_, {}))
    pool_->enqueue(job);
  changed_.notify_all();
}

void lazy_scheduler::resume_with_threads() {
  std::lock_guard lock{mutex_};
  start_threads();
}

void lazy_scheduler::enqueue(caf::resumable* job) {
  if (!has_threads()) {
    std::lock_guard lock{mutex_};
    if (closed_) {
      waiting_.push_back(job);
      changed_.notify_all();
      return;
    }
    start_threads();
  }
  pool_->enqueue(job);
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
    changed_.wait(lock, [this] { return !waiting_.empty() || has_threads(); });
    if (has_threads())
      return;
    auto* job = waiting_.front();
    waiting_.pop_front();
    lock.unlock();
    resume(job);
  }
}

void lazy_scheduler::resume(caf::resumable* job) {
  if (job->resume(&caller_, messages_per_turn) == caf::resumable::resume_later)
    caller_.exec_later(job);
  else
    caf::intrusive_ptr_release(job);
}

void lazy_scheduler::stop() {
  utility_actors_[printer_id] = nullptr;
  run_here([this] {
    std::lock_guard lock{mutex_};
    closed_ = !has_threads();
    return waiting_.empty();
  });
  if (has_threads())
    pool_->stop();
}

lazy_scheduler::caller_unit::caller_unit(lazy_scheduler& scheduler) : scheduler_{scheduler} {
  system_ = &scheduler.system();
}

void lazy_scheduler::caller_unit::exec_later(caf::resumable* job) {
  scheduler_.enqueue(job);
}

// ---- the clock ------------------------------------------------------------------------------

caf::actor_clock& lazy_scheduler::late_clock::setting() {
  auto& clock = scheduler_.threads().clock();
  any_set_.store(true, std::memory_order_release);
  return clock;
}

void lazy_scheduler::late_clock::set_ordinary_timeout(time_point when, caf::abstract_actor* self,
                                                      caf::atom_value type, std::uint64_t id) {
  setting().set_ordinary_timeout(when, self, type, id);
}

void lazy_scheduler::late_clock::set_multi_timeout(time_point when, caf::abstract_actor* self,
                                                   caf::atom_value type, std::uint64_t id) {
  setting().set_multi_timeout(when, self, type, id);
}

void lazy_scheduler::late_clock::set_request_timeout(time_point when, caf::abstract_actor* self,
                                                     caf::message_id id) {
  setting().set_request_timeout(when, self, id);
}

void lazy_scheduler::late_clock::schedule_message(time_point when, caf::strong_actor_ptr receiver,
                                                  caf::mailbox_element_ptr content) {
  setting().schedule_message(when, std::move(receiver), std::move(content));
}

void lazy_scheduler::late_clock::schedule_message(time_point when, caf::group target,
                                                  caf::strong_actor_ptr sender,
                                                  caf::message content) {
  setting().schedule_message(when, std::move(target), std::move(sender), std::move(content));
}

void lazy_scheduler::late_clock::cancel_ordinary_timeout(caf::abstract_actor* self,
                                                         caf::atom_value type) {
  if (any_set_.load(std::memory_order_acquire))
    scheduler_.pool_->clock().cancel_ordinary_timeout(self, type);
}

void lazy_scheduler::late_clock::cancel_request_timeout(caf::abstract_actor* self,
                                                        caf::message_id id) {
  if (any_set_.load(std::memory_order_acquire))
    scheduler_.pool_->clock().cancel_request_timeout(self, id);
}

void lazy_scheduler::late_clock::cancel_timeouts(caf::abstract_actor* self) {
  if (any_set_.load(std::memory_order_acquire))
    scheduler_.pool_->clock().cancel_timeouts(self);
}

void lazy_scheduler::late_clock::cancel_all() {
  if (any_set_.load(std::memory_order_acquire))
    scheduler_.pool_->clock().cancel_all();
}

} // namespace troupe
