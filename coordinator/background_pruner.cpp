// background_pruner: the rounds of pruning and sweeping.
#include "coordinator/background_pruner.hpp"

#include "persistence/record/timestamp_text.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

namespace {

bool is_too_old(const std::string& ts, const pruning& how,
                std::chrono::system_clock::time_point now) {
  if (!how.thread_ttl || ts.empty())
    return false;
  if (*how.thread_ttl >= std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()))
    return false; // older than 1970
  auto oldest = now.time_since_epoch() - *how.thread_ttl;
  return ts < timestamp_text(std::chrono::duration_cast<std::chrono::microseconds>(oldest).count());
}

// A user's saver or store may throw.
template <class Fn> result<void> caught(Fn fn) {
  try {
    return fn();
  } catch (const std::exception& e) {
    return error{errc::storage_failed, e.what()};
  }
}

std::string counted(std::size_t n, const char* what) {
  return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

} // namespace

result<void> check_pruning(const pruning& how) {
  if (how.every < limits::prune_every_min)
    return error{errc::invalid_config, "runtime_options::prune: every "
                                         + std::to_string(how.every.count())
                                         + " s, at least prune_every_min ("
                                         + std::to_string(limits::prune_every_min.count()) + ")"};
  if (how.keep.keep_latest == 0)
    return error{errc::invalid_config, "runtime_options::prune: keep_latest must be at least 1: "
                                       "runs continue from the newest checkpoint"};
  if (how.thread_ttl && how.thread_ttl->count() <= 0)
    return error{errc::invalid_config, "runtime_options::prune: thread_ttl must be above 0"};
  return {};
}

upkeep_plan plan_upkeep(std::vector<thread_info> threads, const pruning& how,
                        std::chrono::system_clock::time_point now) {
  upkeep_plan out;
  for (auto& thread : threads) {
    if (is_too_old(thread.ts, how, now))
      out.remove.push_back(std::move(thread));
    else if (thread.checkpoints > how.keep.keep_latest)
      out.prune.push_back(std::move(thread));
  }
  return out;
}

background_pruner::background_pruner(pruning how, std::shared_ptr<saver> threads,
                                     std::shared_ptr<store> items,
                                     std::shared_ptr<thread_turns> turns, logger log, logger warn)
  : how_{std::move(how)},
    threads_{std::move(threads)},
    items_{std::move(items)},
    turns_{std::move(turns)},
    log_{std::move(log)},
    warn_{std::move(warn)} {}

void background_pruner::start() {
  worker_ = std::thread{[this] { run(); }};
}

void background_pruner::stop() {
  {
    std::lock_guard lock{mutex_};
    stopping_ = true;
  }
  wake_.notify_all();
  if (worker_.joinable())
    worker_.join();
}

void background_pruner::run() {
  std::unique_lock lock{mutex_};
  // the clock's arithmetic would overflow above
  constexpr std::chrono::seconds longest = std::chrono::hours{24 * 365};
  while (
    !wake_.wait_for(lock, std::min(how_.every, longest), [this] { return stopping_.load(); })) {
    lock.unlock();
    round(clock::now());
    lock.lock();
  }
}

void background_pruner::round(clock::time_point now) {
  removed done;
  auto threads = caught([&] { return look_after_threads(now, done); });
  auto items = caught([&] { return sweep_items(done); });
  report(threads ? items : threads, done);
}

// A thread that fails does not keep the others from being handled; the first failure is reported.
result<void> background_pruner::look_after_threads(clock::time_point now, removed& done) {
  if (!threads_)
    return {};
  auto threads = threads_->threads();
  if (!threads)
    return threads.error();
  auto plan = plan_upkeep(std::move(*threads), how_, now);
  result<void> all;
  auto note = [&all](result<void> how) {
    if (all && !how)
      all = std::move(how);
  };
  for (const auto& thread : plan.remove)
    if (!stopping_)
      note(remove(thread, now, done));
  std::unordered_map<std::string, std::pair<std::string, std::size_t>> before;
  before.swap(unchanged_); // entries of threads that are gone are dropped
  for (const auto& thread : plan.prune) {
    std::pair state{thread.checkpoint_id, thread.checkpoints};
    auto known = before.find(thread.thread_id);
    if (known != before.end() && known->second == state)
      unchanged_.insert(std::move(*known));
    else if (!stopping_)
      note(prune(thread, done));
  }
  return all;
}

// The store's own clock decides which items have expired.
result<void> background_pruner::sweep_items(removed& done) {
  for (auto goes_on = items_ != nullptr; goes_on && !stopping_;) {
    auto swept = items_->sweep(limits::store_sweep_items_max);
    if (!swept)
      return swept.error();
    done.items += *swept;
    goes_on = *swept >= limits::store_sweep_items_max;
  }
  return {};
}

// Checks the thread again while holding its turn: a run may have been on it meanwhile.
result<void> background_pruner::remove(const thread_info& thread, clock::time_point now,
                                       removed& done) {
  auto turn = std::make_shared<held_claim>();
  auto begins = turns_->begin(thread.thread_id, turn, multitask_strategy::reject);
  if (!begins || !*begins)
    return {};
  auto newest = threads_->get_tuple({thread.thread_id, "", ""});
  if (!newest)
    return newest.error();
  if (*newest && !is_too_old((*newest)->checkpoint.ts, how_, now))
    return {};
  auto gone = threads_->delete_thread(thread.thread_id);
  if (gone)
    ++done.threads;
  return gone;
}

result<void> background_pruner::prune(const thread_info& thread, removed& done) {
  auto report = threads_->prune({thread.thread_id}, how_.keep);
  if (!report)
    return report.error();
  if (*report == prune_report{})
    unchanged_[thread.thread_id] = {thread.checkpoint_id, thread.checkpoints};
  done.within += *report;
  return {};
}

void background_pruner::report(const result<void>& how, const removed& done) {
  if (done.threads != 0 || !(done.within == prune_report{}))
    log_("pruned: " + counted(done.threads, "old thread") + " deleted, "
         + counted(done.within.checkpoints, "checkpoint") + " and "
         + counted(done.within.values, "value") + " removed");
  if (done.items != 0)
    log_("swept: " + counted(done.items, "item") + " of the long-term store removed");
  auto failure = how ? std::string{} : how.error().message();
  if (!failure.empty() && failure != last_failure_)
    warn_("prune in the background: " + failure + "; the next round tries again");
  last_failure_ = std::move(failure);
}

} // namespace troupe
