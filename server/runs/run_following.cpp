// run_following: how run_service serves readers of a run, here and on other servers, and what
// servers want of each other's runs.
#include "actors/log.hpp"
#include "server/edge/refusal.hpp"
#include "server/rules/lease_rules.hpp"
#include "server/rules/state_forms.hpp"
#include "server/runs/checkpoint_values.hpp"
#include "server/runs/document_changes.hpp"
#include "server/runs/live_run.hpp"
#include "server/runs/stored_events.hpp"

#include <utility>

namespace troupe::server {

// ---- readers

std::shared_ptr<void> run_service::read(const std::string& thread_id, const std::string& run_id,
                                        std::optional<std::uint64_t> after, event_reader reader) {
  auto hand = live(run_id);
  if (!hand || hand->thread_id != thread_id) {
    auto run = get_run(thread_id, run_id);
    if (is_over(run.status)) {
      if (after && run.flag("resumable"))
        for (auto more = stored_events_after(*documents_, run_id, *after); !more.empty();
             more = stored_events_after(*documents_, run_id, more.back().seq))
          for (const auto& event : more)
            reader.event(event);
      if (reader.end)
        reader.end();
      return nullptr;
    }
    hand = make_live(run);
  }
  if (!has_begun(*hand))
    prepare_reader(*hand);
  auto reading = hand->log->read(std::move(reader), after);
  if (!has_begun(*hand))
    look_soon(run_id);
  return reading;
}

// A reader of a resumable run may ask for older events; any other one gets those to come.
void run_service::prepare_reader(live_run& hand) {
  std::lock_guard lock{hand.events_mutex};
  if (hand.is_fed_here)
    return;
  if (hand.is_resumable || told_run(hand))
    read_stored_events(hand);
  else if (!hand.log->has_readers())
    hand.events = last_stored_event(*documents_, hand.run_id);
}

// Under the mutex of the run's events.
void run_service::read_stored_events(live_run& hand) {
  auto told = told_run(hand);
  for (auto more = stored_events_after(*documents_, hand.run_id, hand.events); !more.empty();
       more = stored_events_after(*documents_, hand.run_id, hand.events))
    for (auto& event : more) {
      hand.events = event.seq;
      if (told)
        observers_of(hand.thread_id, [&](auto& o) {
          if (o.event)
            o.event(*told, event);
        });
      event.part.reset();
      hand.log->restore(std::move(event));
    }
}

// An attempt that begins continues the log of the earlier ones.
void run_service::restore_events(live_run& hand) {
  std::lock_guard lock{hand.events_mutex};
  if (hand.is_fed_here)
    return;
  hand.is_fed_here = true;
  hand.is_followed = hand.is_followed || hand.run.followed;
  if (!hand.run.began_before())
    return;
  if (hand.is_resumable || hand.is_followed)
    read_stored_events(hand);
  hand.events = first_event_of(hand.events, lease_ && hand.run.attempt > 1) - 1;
}

void run_service::when_ended(const std::string& thread_id, const std::string& run_id,
                             std::function<void(const run_outcome&)> then) {
  for (;;) {
    std::optional<run_outcome> over;
    {
      std::lock_guard lock{mutex_};
      auto found = live_.find(run_id);
      if (found != live_.end() && found->second->thread_id == thread_id) {
        if (!found->second->outcome) {
          found->second->waiting.push_back(std::move(then));
          break;
        }
        over = found->second->outcome;
      }
    }
    if (!over) {
      auto run = find_run(thread_id, run_id);
      if (run && !is_over(run->status)) {
        make_live(*run);
        continue;
      }
      over = run ? outcome_of(*run, false) : recent_outcome(thread_id, run_id);
    }
    return then(*over);
  }
  if (auto hand = live(run_id); hand && !has_begun(*hand))
    look_soon(run_id);
}

// The end of a run that left no record.
run_outcome run_service::recent_outcome(const std::string& thread_id,
                                        const std::string& run_id) const {
  std::lock_guard lock{mutex_};
  for (const auto& one : recent_)
    if (one.run.run_id == run_id && one.run.thread_id == thread_id)
      return one;
  throw refusal{404, "Run " + run_id + " not found"};
}

// As clients read it later: the newest values of the thread, and the questions that wait there. A
// later run may have made both.
run_outcome run_service::outcome_of(const run_record& run, bool has_just_ended) const {
  run_outcome out{.run = run};
  auto with = graphs_.find(run.graph_id);
  if (!run.error.is_null()) {
    out.output = value::map({{"__error__", run.error}});
  } else if (!run.output.is_null()) {
    out.output = run.output;
  } else if (with && (run.attempt > 0 || !has_just_ended)) {
    auto state = with->get_state({.thread_id = run.thread_id});
    out.values = checkpoint_values(*with, state).value();
    out.output = output_form(out.values, state.interrupts);
  }
  return out;
}

// ---- looks at the record of a run in hand

void run_service::watch_documents() {
  watches_.push_back(
    documents_->watch(document_kind::run, [this](const std::vector<std::string>& ids) {
      for (const auto& id : ids)
        look_at_thread_run_soon(first_of_id(id), second_of_id(id));
    }));
  watches_.push_back(
    documents_->watch(document_kind::follower, [this](const std::vector<std::string>& ids) {
      work_.post([this, ids] { followed_->learn(ids); });
    }));
  watches_.push_back(
    documents_->watch(document_kind::stream_event, [this](const std::vector<std::string>& ids) {
      for (const auto& id : ids) {
        auto hand = live(first_of_id(id));
        if (hand && !has_begun(*hand))
          look_soon(hand->run_id);
      }
    }));
}

void run_service::look_soon(const std::string& run_id) {
  {
    std::lock_guard lock{mutex_};
    if (!live_.contains(run_id) || !looked_at_soon_.insert(run_id).second)
      return;
  }
  work_.post([this, run_id] { look_at(run_id); });
}

// Whether the run is in this server's hands is read before its record: it was begun by a commit, so
// the record is then at least as new.
void run_service::look_at(const std::string& run_id) {
  std::shared_ptr<live_run> hand;
  run_record known;
  bool begun = false;
  {
    std::lock_guard lock{mutex_};
    looked_at_soon_.erase(run_id);
    auto found = live_.find(run_id);
    if (found == live_.end())
      return;
    hand = found->second;
    known = hand->run;
    begun = hand->begun;
  }
  std::uint64_t revision = 0;
  auto stored = find_run(hand->thread_id, run_id, &revision);
  if (begun)
    return obey(*hand, known, stored);
  if (stored && stored->status != run_status::pending && followed_
      && followed_->is_followed_here(hand->thread_id))
    tell_began(*hand, *stored);
  {
    std::lock_guard lock{hand->events_mutex};
    if (!hand->is_fed_here)
      read_stored_events(*hand);
  }
  if (!stored) {
    known.status = run_status::interrupted; // it was undone, or removed
    tell_ended(hand, {.run = known});
  } else if (is_over(stored->status)) {
    tell_ended(hand, outcome_of(*stored, true));
  } else {
    follow(hand, *stored, revision);
  }
}

// For a run that this server carries out.
void run_service::obey(live_run& hand, const run_record& mine,
                       const std::optional<run_record>& stored) {
  if (!stored)
    return ask_to_end(hand, cancel_action::rollback); // it was removed with its thread
  if (!is_same_claim(mine, *stored))
    return abandon(hand);
  if (stored->cancel != cancel_action::none)
    ask_to_end(hand, stored->cancel);
  if (stored->followed)
    store_events_of(hand);
}

// For a run of another server, or one that waits: asks for what readers here need. A commit that
// comes too late is followed by a look at the other one.
void run_service::follow(const std::shared_ptr<live_run>& hand, const run_record& stored,
                         std::uint64_t revision) {
  if (!lease_ || stored.status != run_status::running || stored.owner == owner_id()) {
    if (stored.cancel != cancel_action::none && stored.status == run_status::running)
      ask_to_end(*hand, stored.cancel); // it begins here
    return;
  }
  const bool is_thread_followed = followed_->is_followed_here(hand->thread_id);
  bool is_waited_for = is_thread_followed || hand->log->has_readers();
  const bool needs_mark = is_thread_followed || stored.flag("temporary") || !hand->is_resumable;
  if (!is_waited_for && stored.flag("temporary")) {
    std::lock_guard lock{mutex_};
    is_waited_for = !hand->waiting.empty();
  }
  if (stored.followed || !needs_mark || !is_waited_for)
    return;
  auto marked = stored;
  marked.followed = true;
  auto done = documents_->commit_and_wait(
    {change_to(document_kind::run, marked.document_id(), marked.body(), revision)});
  if (!done && done.error().code() != errc::conflict)
    log_warning("follow run " + hand->run_id + ": " + done.error().message());
}

void run_service::ask_to_end(live_run& hand, cancel_action how) {
  hand.cancel = how;
  hand.control.cancel();
}

void run_service::abandon(live_run& hand) {
  hand.is_abandoned = true;
  hand.control.cancel();
}

// A reader is on another server: it gets the events from now on, and the first ones of a young run.
void run_service::store_events_of(live_run& hand) {
  std::lock_guard lock{hand.events_mutex};
  if (std::exchange(hand.is_followed, true))
    return;
  auto early = hand.log->early_events();
  auto changes = condition_of_owner(hand);
  for (const auto& event : early)
    changes.push_back(change_to_event(hand.run_id, event));
  if (!early.empty())
    documents_->commit(std::move(changes), [](const result<void>& stored) {
      if (!stored)
        log_warning("keep the first events of a stream: " + stored.error().message());
    });
}

// Another server has the run, or no server: it is stopped here, and nothing was stored. Its readers
// follow it.
run_service::finishing run_service::let_go(const std::shared_ptr<live_run>& hand) {
  if (drains_) {
    hand->log->close(); // they come back to another server
    return finishing::done;
  }
  auto next = std::make_shared<live_run>(hand->run, 0, hand->log);
  next->events = hand->log->last_seq();
  {
    std::lock_guard lock{mutex_};
    next->told = hand->told;
    next->waiting.swap(hand->waiting);
    live_[hand->run_id] = next;
  }
  look_soon(hand->run_id);
  if (hand->run.owner != owner_id()) // the lease was lost, and perhaps no other server took it
    sweep_soon();
  return finishing::done;
}

} // namespace troupe::server
