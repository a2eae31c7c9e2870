// thread_following: how run_service shows the runs of a thread to those who follow all of them,
// also the runs of other servers.
#include "actors/log.hpp"
#include "server/rules/ids.hpp"
#include "server/runs/live_run.hpp"
#include "server/runs/stored_events.hpp"

#include <algorithm>
#include <utility>

namespace troupe::server {

namespace {

// A look that fails does no harm to the run.
template <class F> void try_to_look(F&& look) {
  try {
    look();
  } catch (const std::exception& e) {
    log_warning(std::string{"follow a run of another server: "} + e.what());
  }
}

} // namespace

std::shared_ptr<void> run_service::observe(const std::string& thread_id, thread_observer observer) {
  auto one = std::make_shared<thread_observer>(std::move(observer));
  std::lock_guard lock{mutex_};
  auto& list = observers_[thread_id];
  std::erase_if(list, [](const auto& weak) { return weak.expired(); });
  list.push_back(one);
  return one;
}

// A run that is running elsewhere began without a word here.
std::shared_ptr<void> run_service::follow_thread(const std::string& thread_id) {
  if (!followed_)
    return nullptr;
  auto handle = followed_->follow(thread_id, time_text(now()));
  if (auto found = find_thread(thread_id); found && !found->thread.running.empty())
    look_at_thread_run_soon(thread_id, found->thread.running);
  return handle;
}

void run_service::replay_thread(const std::string& thread_id,
                                const std::function<bool(const run_record&)>& wants,
                                const thread_observer& to) const {
  auto page = documents_
                ->search({.kind = document_kind::run,
                          .id_prefix = thread_id + '/',
                          .order_by = "created_at",
                          .descending = true,
                          .limit = limits::server_thread_runs_replayed})
                .value();
  auto since = time_text(now() - std::chrono::microseconds{limits::server_followed_kept}.count());
  std::vector<run_record> runs;
  for (const auto& one : page.documents)
    if (auto run = run_record::of(one.body); run.followed && run.begun_at > 0
                                             && (!is_over(run.status) || run.updated_at >= since)
                                             && wants(run))
      runs.push_back(std::move(run));
  std::ranges::sort(runs, {}, &run_record::begun_at);
  for (const auto& run : runs) {
    to.began(run);
    for (auto more = stored_events_after(*documents_, run.run_id, 0); !more.empty();
         more = stored_events_after(*documents_, run.run_id, more.back().seq))
      for (const auto& event : more)
        to.event(run, event);
    if (is_over(run.status))
      to.ended(outcome_of(run, true));
  }
}

// Once, in however many attempts and on however many servers the run is carried out. The run before
// it is over by now; if it was elsewhere, its end is told first.
void run_service::tell_began(live_run& hand, const run_record& run) {
  {
    std::lock_guard lock{mutex_};
    if (hand.told)
      return;
    hand.told = std::make_shared<const run_record>(run);
  }
  if (followed_)
    if (auto before = followed_->note_told(hand.thread_id, hand.run_id); !before.empty())
      try_to_look([&] { look_at(before); });
  observers_of(hand.thread_id, [&](auto& o) {
    if (o.began)
      o.began(run);
  });
}

// The record as observers were told of it.
std::shared_ptr<const run_record> run_service::told_run(const live_run& hand) const {
  std::lock_guard lock{mutex_};
  return hand.told;
}

// For each change of a run's record.
void run_service::look_at_thread_run_soon(const std::string& thread_id, const std::string& run_id) {
  if (live(run_id))
    look_soon(run_id);
  else if (followed_->is_followed_here(thread_id))
    work_.post(
      [this, thread_id, run_id] { try_to_look([&] { look_at_thread_run(thread_id, run_id); }); });
}

// The run may be over before this server looks for the first time.
void run_service::look_at_thread_run(const std::string& thread_id, const std::string& run_id) {
  auto stored = live(run_id) ? std::nullopt : find_run(thread_id, run_id);
  if (!stored || stored->status == run_status::pending)
    return look_soon(run_id);
  if (is_over(stored->status) ? !followed_->is_news(thread_id, run_id, stored->updated_at)
                              : stored->owner == owner_id())
    return;
  make_live(*stored);
  look_soon(run_id);
}

} // namespace troupe::server
