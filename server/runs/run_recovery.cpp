// run_recovery: how run_service takes up the runs of servers that are gone, and how it stops.
#include "actors/log.hpp"
#include "server/rules/ids.hpp"
#include "server/rules/lease_rules.hpp"
#include "server/rules/run_rules.hpp"
#include "server/runs/document_changes.hpp"
#include "server/runs/live_run.hpp"

#include <troupe/server/limits.hpp>

#include <set>

namespace troupe::server {

void run_service::recover() {
  sweep();
}

void run_service::look_at_servers() {
  if (lease_)
    lease_->look();
}

void run_service::sweep_soon() {
  if (lease_ && !sweeps_soon_.exchange(true))
    work_.post([this] {
      sweeps_soon_ = false;
      sweep();
    });
}

void run_service::sweep() {
  try {
    if (followed_)
      followed_->tidy();
  } catch (const std::exception& e) {
    log_warning(std::string{"keep the list of those who follow threads: "} + e.what());
  }
  for (const auto& id : threads_to_look_at()) {
    if (drains_)
      return;
    try {
      take_up_dead_run(id);
      advance(id);
    } catch (const std::exception& e) {
      log_warning("take up the runs of thread " + id + ": " + e.what());
    }
  }
}

// Those with a running run that lost its owner, or with a run in line and none that runs. A run
// whose time comes after the next look is left to that look, where there is one.
std::vector<std::string> run_service::threads_to_look_at() const {
  std::set<std::string> out;
  std::set<std::string> busy;
  auto in_flight = [this](run_status status) {
    return documents_
      ->search({.kind = document_kind::run, .equal = {{"status", value(to_string(status))}}})
      .value()
      .documents;
  };
  for (const auto& one : in_flight(run_status::running)) {
    auto run = run_record::of(one.body);
    (has_lost_its_owner(run) ? out : busy).insert(run.thread_id);
  }
  auto until = now() + std::chrono::microseconds{limits::server_runs_look}.count();
  for (const auto& one : in_flight(run_status::pending)) {
    auto run = run_record::of(one.body);
    if (!busy.contains(run.thread_id) && (!lease_ || micros_of(run.created_at) <= until))
      out.insert(run.thread_id);
  }
  return {out.begin(), out.end()};
}

// A run of this server that it does not have in hand has just ended, or its begin failed in a
// commit whose end was not known.
bool run_service::has_lost_its_owner(const run_record& run) const {
  if (auto hand = live(run.run_id); hand && begins_or_has_begun(*hand))
    return false;
  if (run.owner == owner_id())
    return lease_
           && now() - micros_of(run.updated_at)
                > std::chrono::microseconds{limits::server_runs_look}.count();
  return !lease_ || !documents_->get(document_kind::server, run.owner).value();
}

// One commit takes the run from its dead owner and begins it here, so that no server begins it
// between.
void run_service::take_up_dead_run(const std::string& thread_id) {
  std::optional<run_record> given_up;
  std::shared_ptr<live_run> begun;
  turns_.change(thread_id, [&] {
    given_up.reset();
    begun = nullptr;
    auto found = find_thread(thread_id);
    if (!found || found->thread.running.empty())
      return;
    auto& thread = found->thread;
    std::uint64_t revision = 0;
    auto run = get_run(thread_id, thread.running, &revision);
    if (!has_lost_its_owner(run))
      return;
    release_run(thread, run, options_.attempts_max);
    run.updated_at = time_text(now());
    std::shared_ptr<live_run> hand;
    std::optional<beginning> on_its_way;
    if (!is_over(run.status) && graphs_.find(run.graph_id)
        && pick_next(line_of(thread), now()).run_id == run.run_id) {
      begin_in(thread, run);
      hand = make_live(run);
      on_its_way.emplace(*this, hand);
    }
    commit_all(*documents_,
               {change_to(document_kind::thread, thread_id, thread.body(), found->revision),
                change_to(document_kind::run, run.document_id(), run.body(), revision)});
    if (is_over(run.status))
      given_up = run;
    if (!hand)
      return;
    std::lock_guard lock{mutex_};
    hand->run = run;
    hand->begun = true;
    begun = hand;
  });
  if (begun)
    carry_out(begun);
  if (given_up)
    give_up(*given_up);
}

void run_service::give_up(const run_record& run) {
  log_warning("run " + run.run_id + " of thread " + run.thread_id + ": given up after "
              + std::to_string(run.attempt) + " attempts");
  auto outcome = outcome_of(run, true);
  if (auto hand = live(run.run_id))
    tell_ended(hand, outcome);
  if (options_.on_end)
    options_.on_end(outcome);
}

bool run_service::drain(std::chrono::milliseconds at_most) {
  drains_ = true;
  {
    std::unique_lock lock{mutex_};
    for (const auto& [id, hand] : live_)
      hand->control.request_drain();
    if (!emptied_.wait_for(lock, at_most, [this] { return carried_ == 0; }))
      return false;
  }
  if (lease_ && !has_left_.exchange(true))
    lease_->leave();
  return true;
}

// Nothing is stored for them from now on.
void run_service::abandon_all() {
  std::vector<std::shared_ptr<live_run>> those;
  {
    std::lock_guard lock{mutex_};
    for (const auto& [id, hand] : live_)
      if (hand->begun)
        those.push_back(hand);
  }
  for (const auto& hand : those)
    abandon(*hand);
  sweep_soon();
}

std::size_t run_service::running() const {
  std::lock_guard lock{mutex_};
  return carried_;
}

} // namespace troupe::server
