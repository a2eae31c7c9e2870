// run_service: records of runs, and who is next on a thread.
#include "server/runs/run_service.hpp"

#include "actors/log.hpp"
#include "server/edge/refusal.hpp"
#include "server/rules/ids.hpp"
#include "server/rules/run_rules.hpp"
#include "server/runs/document_changes.hpp"
#include "server/runs/live_run.hpp"
#include "server/runs/stored_events.hpp"

#include <troupe/server/limits.hpp>

#include <algorithm>
#include <future>
#include <iterator>
#include <utility>

namespace troupe::server {

namespace {

value with_members(const value& base, const value& over) {
  auto out = base;
  for (const auto& e : over.entries())
    out = out.with(e.key(), e.val);
  return out;
}

work_queue::clock::time_point time_point_of(std::int64_t micros) {
  return work_queue::clock::time_point{std::chrono::microseconds{micros}};
}

// At least a window from now, at one of few times, which many runs share.
work_queue::clock::time_point after_a_window() {
  constexpr work_queue::clock::duration window = limits::server_commit_window;
  auto now = work_queue::clock::now().time_since_epoch();
  return work_queue::clock::time_point{(now / window + 2) * window};
}

template <class Clock> std::int64_t micros_now() {
  return std::chrono::duration_cast<std::chrono::microseconds>(Clock::now().time_since_epoch())
    .count();
}

} // namespace

run_service::run_service(graph_set& graphs, std::shared_ptr<document_store> documents,
                         run_service_options options)
  : graphs_{graphs},
    documents_{std::move(documents)},
    options_{std::move(options)},
    work_{options_.threads} {
  if (!options_.now)
    options_.now = micros_now<std::chrono::system_clock>;
  if (!options_.steady_now)
    options_.steady_now = micros_now<std::chrono::steady_clock>;
  if (!documents_->is_shared())
    return;
  followed_ = std::make_unique<followed_threads>(
    documents_, follower_options{[this] { return owner_id(); }, options_.steady_now});
  watch_documents();
  lease_ = std::make_shared<server_lease>(
    documents_, lease_options{options_.server_id, options_.steady_now, options_.has_lease_thread},
    lease_callbacks{.lost = [this] { abandon_all(); },
                    .runs_may_be_free = [this] { sweep_soon(); }});
}

run_service::~run_service() {
  if (!drain(limits::server_drain_wait)) {
    abandon_all();
    std::unique_lock lock{mutex_};
    emptied_.wait(lock, [this] { return carried_ == 0; });
  }
  watches_.clear();
  if (lease_)
    lease_->stop();
}

std::string run_service::owner_id() const {
  return lease_ ? lease_->id() : options_.server_id;
}

// ---- records

std::optional<run_service::read_thread>
run_service::find_thread(const std::string& thread_id) const {
  auto found = documents_->newest(document_kind::thread, thread_id).value();
  if (!found)
    return std::nullopt;
  return read_thread{thread_record::of(found->body), found->revision};
}

std::optional<run_record> run_service::find_run(const std::string& thread_id,
                                                const std::string& run_id,
                                                std::uint64_t* revision) const {
  auto found = documents_->newest(document_kind::run, thread_id + '/' + run_id).value();
  if (!found)
    return std::nullopt;
  if (revision)
    *revision = found->revision;
  return run_record::of(found->body);
}

run_record run_service::get_run(const std::string& thread_id, const std::string& run_id,
                                std::uint64_t* revision) const {
  if (auto found = find_run(thread_id, run_id, revision))
    return *found;
  throw refusal{404, "Run " + run_id + " not found"};
}

// The runs of the line that wait, with their times.
std::vector<waiting_run> run_service::line_of(const thread_record& thread) const {
  std::vector<waiting_run> out;
  for (const auto& id : thread.inflight)
    if (id != thread.running)
      out.push_back({id, micros_of(get_run(thread.thread_id, id).created_at)});
  return out;
}

void run_service::begin_in(thread_record& thread, run_record& run) {
  run.status = run_status::running;
  run.owner = owner_id();
  run.followed = run.followed || (followed_ && followed_->is_followed_elsewhere(run.thread_id));
  ++run.attempt;
  auto time = now();
  run.updated_at = time_text(time);
  if (run.begun_at == 0)
    run.begun_at = time;
  run.thread_created_at = micros_of(thread.created_at);
  thread.running = run.run_id;
  thread.status = thread_status::busy;
  thread.updated_at = run.updated_at;
}

// ---- new runs

run_record run_service::create(const std::string& thread_id, const run_request& request,
                               const assistant_record& assistant,
                               const std::function<void(event_log&)>& watch,
                               const std::function<document_change()>& along,
                               const run_waiter* waiter) {
  const bool is_stateless = thread_id.empty();
  auto id = is_stateless ? new_id(now()) : thread_id;
  run_record run{.run_id = new_id(now()),
                 .thread_id = id,
                 .assistant_id = assistant.assistant_id,
                 .kwargs = with_assistant(request.kwargs, assistant)
                             .with("temporary", is_stateless && !request.keeps_thread),
                 .multitask_strategy = std::string{to_string(request.strategy)},
                 .graph_id = assistant.graph_id,
                 .followed = lease_ && request.is_followed};
  auto hand = make_live(run);
  if (watch)
    watch(*hand->log);
  if (waiter)
    hand->waiting.push_back(waiter->ended);

  std::vector<run_record> dropped; // pending runs that end here
  std::string cancelled;           // the running one that shall end
  bool starts = false;
  bool is_known = true; // its record is durable before it begins
  auto accept = [&] {
    dropped.clear();
    cancelled.clear();
    auto time = now();
    auto found = is_stateless ? std::nullopt : find_thread(id);
    if (!found && !is_stateless && !request.creates_thread)
      throw refusal{404, "Thread or assistant not found."};
    const auto thread_revision = found ? found->revision : 0;
    auto thread = found ? found->thread
                        : thread_record{.thread_id = id,
                                        .created_at = time_text(time),
                                        .state_updated_at = time_text(time),
                                        .ttl_minutes = options_.thread_ttl_minutes,
                                        .ttl_strategy = options_.thread_ttl_strategy};
    auto effect = on_arrival(request.strategy, !thread.inflight.empty());
    if (effect.is_refused)
      throw refusal{409, "Thread is already running a task. Wait for it to finish or choose a "
                         "different multitask strategy."};
    run.metadata = with_members(
      with_members(with_members(with_members(assistant.metadata, thread.metadata),
                                request.kwargs["config"]["metadata"]),
                   request.metadata),
      value::map({{"graph_id", assistant.graph_id}, {"assistant_id", assistant.assistant_id}}));
    run.created_at = time_text(time + request.after_micros);
    run.updated_at = time_text(time);

    std::vector<document_change> changes;
    if (along)
      changes.push_back(along());
    if (effect.others != cancel_action::none)
      for (const auto& other_id : std::vector{thread.inflight}) {
        std::uint64_t revision = 0;
        auto other = get_run(id, other_id, &revision);
        other.cancel = effect.others;
        if (other_id == thread.running) {
          cancelled = other_id;
          changes.push_back(
            change_to(document_kind::run, other.document_id(), other.body(), revision));
          continue;
        }
        std::erase(thread.inflight, other_id);
        other.status = run_status::interrupted;
        dropped.push_back(other);
        if (effect.others == cancel_action::rollback) {
          changes.push_back(removal_of(document_kind::run, other.document_id()));
          changes.push_back(removal_of(document_kind::run_place, other_id));
        } else {
          changes.push_back(
            change_to(document_kind::run, other.document_id(), other.body(), revision));
        }
      }
    auto waiting = thread.running.empty() ? line_of(thread) : std::vector<waiting_run>{};
    starts = thread.running.empty() && request.after_micros == 0 && !drains_
             && graphs_.find(run.graph_id) && pick_next(waiting, time).run_id.empty();
    thread.inflight.push_back(run.run_id);
    thread.status = thread_status::busy;
    thread.updated_at = time_text(time);
    thread.config =
      merged_config(thread.config, request.kwargs["config"]).with("configurable", value::map());
    thread.metadata = with_members(
      found ? thread.metadata : request.metadata,
      value::map({{"graph_id", assistant.graph_id}, {"assistant_id", assistant.assistant_id}}));
    auto as_stored = run;
    if (starts)
      begin_in(thread, as_stored);
    {
      std::lock_guard lock{mutex_};
      hand->run = as_stored;
      hand->begun = starts;
      hand->as_begun.reset();
      if (starts)
        hand->as_begun = begun_records{{thread, thread_revision + 1}, 1};
    }
    changes.push_back(change_to(document_kind::thread, id, thread.body(), thread_revision));
    changes.push_back(change_to(document_kind::run, run.document_id(), as_stored.body(), 0));
    changes.push_back(
      change_to(document_kind::run_place, run.run_id, value::map({{"thread_id", id}}), 0));
    // A kill before the commit leaves nothing or, between two files, the whole state of the end.
    const bool may_be_late = waiter && starts && !is_stateless && thread.inflight.size() == 1
                             && run.kwargs["durability"] == value("exit");
    is_known = !may_be_late || is_observed(id);
    if (is_known)
      commit_all(*documents_, std::move(changes));
    else
      accept_begin(hand, std::move(changes), waiter->known);
  };
  try {
    turns_.change(id, accept);
  } catch (...) {
    hand->log->close();
    std::lock_guard lock{mutex_};
    live_.erase(run.run_id);
    throw;
  }
  if (is_known && waiter)
    waiter->known(run);
  for (const auto& other : dropped)
    if (auto one = live(other.run_id))
      tell_ended(one, {other});
  if (auto one = cancelled.empty() ? nullptr : live(cancelled))
    ask_to_end(*one, on_arrival(request.strategy, true).others);
  if (starts)
    carry_out(hand);
  else
    advance(id); // sets a timer, or begins what became free meanwhile
  run.status = run_status::pending;
  return run;
}

// Waits until the changes are in the order of the commits. The disk has them later: a loss ends the
// run, without a record.
void run_service::accept_begin(const std::shared_ptr<live_run>& hand,
                               std::vector<document_change> changes,
                               const std::function<void(const run_record&)>& known) {
  auto answer = std::make_shared<std::promise<result<void>>>();
  hand->answer_waits_for = 2;
  documents_->commit_soon(
    std::move(changes), commit_pace::hurries,
    [answer](result<void> made) { answer->set_value(std::move(made)); },
    [this, hand, known, run = hand->run](const result<void>& stored) {
      if (!stored) {
        log_warning("store run " + hand->run_id + ": " + stored.error().message());
        hand->is_lost = true;
        hand->control.cancel();
        return;
      }
      answer_early(hand);
      if (hand->is_ending)
        return;
      work_.post_at(after_a_window(), [hand, known, run] {
        if (!hand->is_ending)
          known(run);
      });
    });
  answer->get_future().get().value();
}

// A kill from here on may undo the record of the end, but neither the state nor the begin: the next
// server takes the run up, finds nothing left to do, and ends it the same way.
void run_service::answer_early(const std::shared_ptr<live_run>& hand) {
  if (--hand->answer_waits_for == 0)
    work_.post([this, hand] { tell_ended(hand, *hand->early_outcome); });
}

// ---- whose turn it is

void run_service::advance(const std::string& thread_id) {
  std::shared_ptr<live_run> begun;
  auto change = [&] {
    begun = nullptr;
    auto found = find_thread(thread_id);
    if (!found || !found->thread.running.empty() || found->thread.inflight.empty() || drains_)
      return;
    auto& thread = found->thread;
    auto next = pick_next(line_of(thread), now());
    if (next.run_id.empty()) {
      if (next.wait_until > 0)
        work_.post_at(time_point_of(next.wait_until), [this, thread_id] { advance(thread_id); });
      return;
    }
    std::uint64_t revision = 0;
    auto run = get_run(thread_id, next.run_id, &revision);
    if (!graphs_.find(run.graph_id)) // another server, or the next one, may have it
      return log_warning("run " + run.run_id + " waits: this server has no graph `" + run.graph_id
                         + '`');
    begin_in(thread, run);
    auto hand = make_live(run);
    beginning on_its_way{*this, hand};
    commit_all(*documents_,
               {change_to(document_kind::thread, thread_id, thread.body(), found->revision),
                change_to(document_kind::run, run.document_id(), run.body(), revision)});
    begun = hand;
    std::lock_guard lock{mutex_};
    hand->run = run;
    hand->as_begun = begun_records{{thread, found->revision + 1}, revision + 1};
    hand->begun = true;
  };
  try {
    turns_.change(thread_id, change);
  } catch (const std::exception& e) {
    log_warning("begin the next run of thread " + thread_id + ": " + e.what());
  }
  if (begun)
    carry_out(begun);
}

// ---- ends that are asked for

bool run_service::cancel(const std::string& thread_id, const std::string& run_id,
                         cancel_action action) {
  std::optional<run_record> ended;
  bool is_known = turns_.change(thread_id, [&] {
    ended.reset();
    auto found = find_thread(thread_id);
    if (!found || std::ranges::find(found->thread.inflight, run_id) == found->thread.inflight.end())
      return false;
    auto& thread = found->thread;
    std::uint64_t revision = 0;
    auto run = get_run(thread_id, run_id, &revision);
    run.cancel = action;
    run.updated_at = time_text(now());
    if (thread.running == run_id) {
      commit_all(*documents_,
                 {change_to(document_kind::run, run.document_id(), run.body(), revision)});
      return true;
    }
    std::erase(thread.inflight, run_id);
    run.status = run_status::interrupted;
    thread.status = thread.inflight.empty() ? thread_status::idle : thread_status::busy;
    thread.updated_at = run.updated_at;
    std::vector<document_change> changes{
      change_to(document_kind::thread, thread_id, thread.body(), found->revision)};
    if (action == cancel_action::rollback) {
      changes.push_back(removal_of(document_kind::run, run.document_id()));
      changes.push_back(removal_of(document_kind::run_place, run_id));
    } else {
      changes.push_back(change_to(document_kind::run, run.document_id(), run.body(), revision));
    }
    commit_all(*documents_, std::move(changes));
    ended = run;
    return true;
  });
  auto hand = live(run_id);
  if (!is_known || !hand)
    return is_known;
  if (ended)
    tell_ended(hand, {*ended});
  else
    ask_to_end(*hand, action); // another server watches the run's record
  return true;
}

void run_service::remove(const std::string& thread_id, const std::string& run_id) {
  auto run = get_run(thread_id, run_id);
  if (!is_over(run.status) && cancel(thread_id, run_id, cancel_action::rollback))
    return; // it goes with its end
  remove_checkpoints(run);
  std::vector<document_change> changes{removal_of(document_kind::run, run.document_id()),
                                       removal_of(document_kind::run_place, run_id)};
  std::ranges::move(removal_of_events(*documents_, run_id), std::back_inserter(changes));
  commit_all(*documents_, std::move(changes));
}

bool run_service::remove_thread(const std::string& thread_id,
                                std::optional<std::uint64_t> expected) {
  auto found = find_thread(thread_id);
  if (!found)
    return false;
  std::vector<document_change> changes{removal_of(document_kind::thread, thread_id, expected)};
  std::vector<std::string> ids;
  for (const auto& one :
       documents_->search({.kind = document_kind::run, .id_prefix = thread_id + '/'})
         .value()
         .documents) {
    changes.push_back(removal_of(document_kind::run, one.id));
    ids.push_back(second_of_id(one.id));
  }
  for (const auto& id : ids) {
    changes.push_back(removal_of(document_kind::run_place, id));
    std::ranges::move(removal_of_events(*documents_, id), std::back_inserter(changes));
  }
  commit_all(*documents_, std::move(changes));
  for (const auto& id : ids)
    if (auto hand = live(id)) {
      ask_to_end(*hand, cancel_action::rollback);
      look_soon(id); // readers of one that does not run here learn that it is gone
    }
  if (const auto& saver = graphs_.machine().saver())
    saver->delete_thread(thread_id).value();
  return true;
}

// ---- runs in hand

std::shared_ptr<run_service::live_run> run_service::live(const std::string& run_id) const {
  std::lock_guard lock{mutex_};
  auto found = live_.find(run_id);
  return found == live_.end() ? nullptr : found->second;
}

bool run_service::has_begun(const live_run& hand) const {
  std::lock_guard lock{mutex_};
  return hand.begun;
}

bool run_service::begins_or_has_begun(const live_run& hand) const {
  std::lock_guard lock{mutex_};
  return hand.begun || hand.begins > 0;
}

bool run_service::is_observed(const std::string& thread_id) const {
  std::lock_guard lock{mutex_};
  return observers_.contains(thread_id);
}

std::shared_ptr<run_service::live_run> run_service::make_live(const run_record& run) {
  auto hand = std::make_shared<live_run>(run, options_.events_kept_max);
  std::lock_guard lock{mutex_};
  return live_.emplace(run.run_id, hand).first->second;
}

} // namespace troupe::server
