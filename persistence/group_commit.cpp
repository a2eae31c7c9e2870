// group_commit: the writer and its transactions.
//
// Invariants of the writer:
// - one thread writes at a time: the writer thread while it is awake, or a thread in write_left()
//   while that one sleeps. The turn passes under the queue's lock, between transactions;
// - a job in queue_ is taken by a thread that writes or was woken to write, or by the thread to
//   which the job was left;
// - a job is in exactly one of queue_, taken_ and batch_, and is answered once. An accepted job is
//   answered when it enters batch_ (its `done` is empty from then on), a durable job when batch_ is
//   settled;
// - the sink's transaction is open if and only if is_open_;
// - a thread of an accepted job is in uncommitted_ before the job is answered;
// - when memory runs out, the open transaction ends, not the thread: the jobs in it are answered as
//   lost.
#include "persistence/group_commit.hpp"

#include "graph/crash_point.hpp"
#include "graph/short_pause.hpp"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <ctime>
#include <future>
#include <new>
#include <type_traits>
#include <utility>

namespace troupe {

namespace {

static_assert(std::is_nothrow_move_constructible_v<commit_job>); // moved where no job may be lost

// A pause between two looks at the queue; from time to time, another thread gets the core.
void pause_a_little(unsigned round) {
  if (round % 64 == 63)
    std::this_thread::yield();
  short_pause();
}

// Blocks all signals for the calling thread, and for those that it starts meanwhile. A write beyond
// the limit for files sends a signal that would end the process: it is dropped, since the writer
// has the error.
class without_signals {
public:
  without_signals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  without_signals(const without_signals&) = delete;
  without_signals& operator=(const without_signals&) = delete;
  ~without_signals() {
    sigset_t of_writes;
    sigemptyset(&of_writes);
    sigaddset(&of_writes, SIGXFSZ);
    constexpr timespec at_once{};
    while (sigtimedwait(&of_writes, nullptr, &at_once) > 0) {}
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

private:
  sigset_t before_;
};

// A thread that receives none of the process's signals.
template <class Fn> std::thread start_writer(Fn fn) {
  without_signals blocked;
  std::thread writer{std::move(fn)};
  pthread_setname_np(writer.native_handle(), "troupe.writer");
  return writer;
}

// The text is short enough for a string without an allocation.
error no_memory() {
  return {errc::storage_failed, "out of memory"};
}

error copy_of(const error& err) {
  try {
    return err;
  } catch (const std::bad_alloc&) {
    return no_memory();
  }
}

void answer(commit_job& job, result<void> with) {
  std::exchange(job.done, nullptr)(std::move(with));
}

// Whether `fn` ran to its end; false when memory ran out.
template <class Fn> bool had_memory(Fn fn) {
  try {
    fn();
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

} // namespace

group_commit::group_commit(commit_sink& sink, std::chrono::milliseconds window)
  : sink_{sink},
    window_{window},
    writer_{start_writer([this] { run(); })} {}

group_commit::~group_commit() {
  {
    std::scoped_lock lock{queue_mutex_};
    stopping_ = true;
    stop_seen_ = true;
  }
  queue_filled_.notify_one();
  writer_.join();
}

// Returns whether the job is left to the caller.
bool group_commit::enqueue(commit_job job) {
  bool left = false;
  bool wake = false;
  auto queued = had_memory([&] {
    std::scoped_lock lock{queue_mutex_};
    auto by_waiter = job.by_waiter;
    queue_.push_back(std::move(job));
    queued_.store(queue_.size(), std::memory_order_release);
    left = by_waiter && writer_has_nothing();
    wake = !left && !waiter_writes_ && std::exchange(writer_sleeps_, false);
  });
  if (!queued)
    answer(job, no_memory());
  crash_point("queue.submitted");
  if (wake)
    queue_filled_.notify_one();
  return left;
}

bool group_commit::submit_or_leave(commit_job job) {
  job.by_waiter = true;
  return enqueue(std::move(job));
}

bool group_commit::write_left() {
  if (!begin_turn())
    return false;
  without_signals blocked;
  do {
    write_next();
    if (is_open_ && is_due())
      end_transaction();
  } while (next_taken_ < taken_.size() || (is_open_ && take_more()));
  if (is_open_)
    end_transaction();
  end_turn();
  return true;
}

void group_commit::call_writer() {
  {
    std::scoped_lock lock{queue_mutex_};
    if (queue_.empty() || waiter_writes_ || !std::exchange(writer_sleeps_, false))
      return;
  }
  queue_filled_.notify_one();
}

result<void> group_commit::submit_and_wait(commit_job job) {
  // Shared, because the waiting thread may be gone before set_value returns.
  auto answer = std::make_shared<std::promise<result<void>>>();
  auto answered = answer->get_future();
  job.when = save_ack::durable;
  job.done = [answer](result<void> r) { answer->set_value(std::move(r)); };
  submit(std::move(job));
  return answered.get();
}

void group_commit::flush(const std::string& thread_id) {
  if (!any_uncommitted_.load(std::memory_order_acquire))
    return;
  {
    std::scoped_lock lock{uncommitted_mutex_};
    if (thread_id.empty() ? uncommitted_.empty() : !uncommitted_.contains(thread_id))
      return;
  }
  // A failure is reported with the next request of the thread whose requests were lost.
  static_cast<void>(submit_and_wait({}));
}

// ---- the queue ----------------------------------------------------------------------------------

bool group_commit::queue_is_empty() const noexcept {
  return next_taken_ == taken_.size() && queued_.load(std::memory_order_acquire) == 0;
}

// Whether the writer thread sleeps and no transaction is open; with the lock held.
bool group_commit::writer_has_nothing() const noexcept {
  return writer_sleeps_ && !waiter_writes_ && !is_open_;
}

// With the lock held.
void group_commit::take_queue() {
  taken_.clear();
  next_taken_ = 0;
  std::swap(taken_, queue_);
  queued_.store(0, std::memory_order_release);
}

// The calling thread gets the writer's turn, if there is work for it.
bool group_commit::begin_turn() {
  {
    std::scoped_lock lock{queue_mutex_};
    if (!writer_has_nothing() || queue_.empty())
      return false;
    waiter_writes_ = true;
    take_queue();
  }
  foresee(taken_);
  return true;
}

bool group_commit::take_more() {
  {
    std::scoped_lock lock{queue_mutex_};
    if (queue_.empty())
      return false;
    take_queue();
  }
  foresee(taken_);
  return true;
}

// The writer thread is notified under the lock: after it, this object may be gone.
void group_commit::end_turn() {
  std::scoped_lock lock{queue_mutex_};
  waiter_writes_ = false;
  if ((!queue_.empty() || stopping_) && std::exchange(writer_sleeps_, false))
    queue_filled_.notify_one();
}

bool group_commit::poll_for_work() {
  auto until = clock::now() + limits::commit_poll;
  for (unsigned round = 0; queue_is_empty(); ++round) {
    if (stop_seen_.load(std::memory_order_relaxed) || (round % 16 == 15 && clock::now() > until))
      return false;
    pause_a_little(round);
  }
  return true;
}

// Waits until there are jobs in taken_, or the open transaction is due, or the thread must stop.
// Returns true only to stop, with taken_ empty.
bool group_commit::wait_for_work() {
  auto found = !expects_waiter_ && poll_for_work();
  std::unique_lock lock{queue_mutex_};
  auto ready = [this] { return !waiter_writes_ && (!queue_.empty() || stopping_); };
  if (!found && !ready()) {
    writer_sleeps_ = true;
    if (is_open_)
      queue_filled_.wait_until(lock, opened_at_ + window_, ready);
    else
      queue_filled_.wait(lock, ready);
    writer_sleeps_ = false;
  }
  take_queue();
  auto stop = stopping_ && taken_.empty();
  lock.unlock();
  foresee(taken_);
  return stop;
}

// ---- the transaction ----------------------------------------------------------------------------

void group_commit::run() {
  for (auto stop = false; !stop;) {
    if (next_taken_ == taken_.size())
      stop = wait_for_work();
    write_next();
    if (is_open_ && (stop || is_due()))
      end_transaction();
  }
}

// Writes the next of the jobs in taken_, if there is one.
void group_commit::write_next() {
  if (next_taken_ == taken_.size())
    return;
  auto& job = taken_[next_taken_];
  if (!had_memory([&] { take(job); })) {
    give_up();
    if (job.done)
      refuse(job, no_memory());
  }
  taken_[next_taken_++] = {};
}

void group_commit::end_transaction() {
  if (!had_memory([this] { close(); }))
    give_up();
}

void group_commit::give_up() {
  sink_.abort();
  is_open_ = false;
  settle(no_memory());
}

// When memory runs out here, the sink does not learn of the jobs to come.
void group_commit::foresee(std::span<const commit_job> jobs) {
  taken_stay_together_ = false;
  static_cast<void>(
    had_memory([&] { taken_stay_together_ = !jobs.empty() && sink_.foresee(jobs); }));
}

void group_commit::take(commit_job& job) {
  crash_point("queue.taken");
  if (answer_at_once(job) || !open(job))
    return;
  if (job.is_empty()) {
    enter(job, {});
    return;
  }
  crash_point("request.before");
  auto outcome = sink_.write(job);
  crash_point("request.written");
  if (outcome.transaction_stands)
    enter(job, outcome);
  else
    write_again(job);
}

// The next request of a thread that lost one gets the error and is not written, because what it
// builds on was lost. A job with nothing to write waits for the open transaction, if there is one.
bool group_commit::answer_at_once(commit_job& job) {
  if (cannot_tell_) {
    answer(job, no_memory());
    return true;
  }
  if (auto lost = lost_.find(job.request.ref.thread_id); lost != lost_.end() && !job.upkeep) {
    auto err = std::move(lost->second);
    lost_.erase(lost);
    if (!job.delete_thread) {
      answer(job, std::move(err));
      return true;
    }
  }
  if (!job.is_empty() || (is_open_ && job.when == save_ack::durable))
    return false;
  answer(job, {});
  return true;
}

bool group_commit::open(commit_job& job) {
  if (is_open_)
    return true;
  crash_point("transaction.before");
  if (auto begun = sink_.begin(); !begun) {
    answer(job, begun.error());
    return false;
  }
  crash_point("transaction.begun");
  is_open_ = true;
  opened_at_ = clock::now();
  return true;
}

void group_commit::enter(commit_job& job, const write_outcome& outcome) {
  if (!outcome.answer) {
    answer(job, outcome.answer.error());
    return;
  }
  batch_bytes_ += outcome.bytes;
  batch_.push_back(std::move(job));
  auto& entered = batch_.back();
  if (entered.when == save_ack::durable && !mutated(mutation::early_answer)) {
    batch_is_awaited_ = batch_is_awaited_ || entered.hurries;
    return;
  }
  {
    std::scoped_lock lock{uncommitted_mutex_};
    uncommitted_.insert(entered.request.ref.thread_id);
    any_uncommitted_.store(true, std::memory_order_release);
  }
  crash_point("accepted.before");
  answer(entered, {});
  crash_point("accepted.answered");
}

// The job broke the transaction: writes the jobs before it again, then tries the job in a
// transaction of its own.
void group_commit::write_again(commit_job& job) {
  sink_.abort();
  is_open_ = false;
  if (!batch_.empty()) {
    auto rewritten = rewrite_batch();
    settle(rewritten ? sink_.commit() : rewritten);
  }
  if (answer_at_once(job) || !open(job))
    return;
  auto outcome = sink_.write(job);
  if (outcome.transaction_stands) {
    enter(job, outcome);
    return;
  }
  sink_.abort();
  is_open_ = false;
  answer(job, outcome.answer.error());
}

result<void> group_commit::rewrite_batch() {
  foresee(batch_);
  auto rewritten = write_batch();
  foresee(std::span{taken_}.subspan(next_taken_));
  return rewritten;
}

result<void> group_commit::write_batch() {
  if (auto begun = sink_.begin(); !begun)
    return begun;
  for (auto job = batch_.begin(); job != batch_.end();) {
    auto outcome = job->is_empty() ? write_outcome{} : sink_.write(*job);
    if (!outcome.transaction_stands) {
      sink_.abort();
      return outcome.answer;
    }
    if (outcome.answer) {
      ++job;
    } else {
      refuse(*job, outcome.answer.error()); // another run owns the thread by now
      job = batch_.erase(job);
    }
  }
  return {};
}

bool group_commit::is_due() const {
  if (batch_bytes_ >= limits::commit_bytes_max || (batch_is_awaited_ && queue_is_empty()))
    return true;
  if (taken_stay_together_ && next_taken_ < taken_.size())
    return false;
  return clock::now() >= opened_at_ + window_;
}

void group_commit::close() {
  is_open_ = false;
  if (batch_.empty())
    sink_.abort();
  else
    settle(commit_batch());
}

// A single job gets a second chance, because the sink may have made room or opened the store anew.
// A batch gets one when the sink allows it.
result<void> group_commit::commit_batch() {
  auto committed = sink_.commit();
  if (committed || (batch_.size() > 1 && !sink_.may_repeat()))
    return committed;
  auto rewritten = rewrite_batch();
  return rewritten ? sink_.commit() : rewritten;
}

// An accepted job was answered already: its error is reported with the thread's next request.
void group_commit::refuse(commit_job& job, const troupe::error& why) {
  const auto& thread_id = job.request.ref.thread_id;
  if (!job.done) {
    auto noted = had_memory([&] { lost_.insert_or_assign(thread_id, why); });
    cannot_tell_ = cannot_tell_ || !noted;
    return;
  }
  lost_.erase(thread_id); // this answer reports it
  answer(job, copy_of(why));
}

// Whether one run made the batch, on a thread that waits for it and can write the next one. The
// writer thread then does not look for more work.
bool group_commit::is_of_one_waiter() const {
  return std::ranges::all_of(batch_, [this](const commit_job& job) {
    return job.by_waiter && job.request.ref.thread_id == batch_.front().request.ref.thread_id;
  });
}

void group_commit::settle(const result<void>& committed) {
  {
    std::scoped_lock lock{uncommitted_mutex_};
    uncommitted_.clear();
    any_uncommitted_.store(false, std::memory_order_release);
  }
  crash_point("durable.before");
  for (auto& job : batch_) {
    if (!committed)
      refuse(job, committed.error());
    else if (job.done)
      answer(job, {});
  }
  crash_point("durable.answered");
  expects_waiter_ = is_of_one_waiter();
  for (auto& job : batch_)
    if (job.spent)
      had_memory([&job] { job.spent->give(std::move(job.request)); });
  batch_.clear();
  batch_bytes_ = 0;
  batch_is_awaited_ = false;
}

} // namespace troupe
