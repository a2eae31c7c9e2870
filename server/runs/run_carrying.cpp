// run_carrying: how run_service carries a run out, from its first part to the commit of its end.
#include "actors/log.hpp"
#include "graph/plain_json.hpp"
#include "server/rules/ids.hpp"
#include "server/rules/run_rules.hpp"
#include "server/rules/state_forms.hpp"
#include "server/rules/wire_form.hpp"
#include "server/runs/live_run.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace troupe::server {

namespace {

std::string event_id(const std::string& run_id, std::uint64_t seq) {
  char digits[24];
  std::snprintf(digits, sizeof digits, "%020llu", static_cast<unsigned long long>(seq));
  return run_id + '/' + digits;
}

// As the reference: a run that asked before any step has no state to show.
value output_of(const run_result& ended, bool has_values) {
  auto values = wire_form(ended.value());
  auto out = values.is_map() ? values : value::map({{"output", values}});
  if (!ended.interrupts().empty() && !has_values)
    out = value::map();
  if (!ended.interrupts().empty())
    out = out.with("__interrupt__", questions_form(ended.interrupts()));
  return out;
}

// What a person asked for, as the thread's error.
value cancellation_form(cancel_action asked) {
  return value::map({{"error", asked == cancel_action::rollback ? "UserRollback" : "UserInterrupt"},
                     {"message", std::string{to_string(asked)} + " requested"}});
}

} // namespace

template <class F> void run_service::observers_of(const std::string& thread_id, F&& each) {
  std::vector<std::shared_ptr<thread_observer>> those;
  {
    std::lock_guard lock{mutex_};
    auto found = observers_.find(thread_id);
    if (found == observers_.end())
      return;
    for (const auto& weak : found->second)
      if (auto one = weak.lock())
        those.push_back(std::move(one));
    if (those.empty())
      observers_.erase(found);
  }
  for (const auto& one : those)
    each(*one);
}

// Without an input, when an earlier attempt of the run has left a checkpoint: it goes on there.
run_input run_service::next_input(const app<>& with, const run_record& run) const {
  if (run.attempt > 1) {
    auto newest = with.try_get_state({.thread_id = run.thread_id});
    if (newest && newest->metadata["run_id"] == value(run.run_id))
      return nullptr;
  }
  return input_of(run.kwargs);
}

void run_service::carry_out(const std::shared_ptr<live_run>& hand) {
  {
    std::lock_guard lock{mutex_};
    ++carried_;
  }
  const auto& run = hand->run;
  hand->started_at = time_text(now());
  observers_of(run.thread_id, [&](auto& o) {
    if (o.began)
      o.began(run);
  });
  try {
    auto with = graphs_.find(run.graph_id);
    if (!with)
      throw error{errc::unknown_graph,
                  "run " + run.run_id + ": the server has no graph `" + run.graph_id + '`'};
    auto config = config_of(run);
    config.control = hand->control;
    auto input = next_input(*with, run);
    if (input.get().index() == 0)
      config.checkpoint_id = run.attempt > 1 ? std::string{} : config.checkpoint_id;
    hand->stream = with->stream_events(input, config);
    stream_options options{engine_modes(wire_modes(run.kwargs))};
    auto parts = hand->stream->read(options);
    say(*hand, "metadata",
        to_plain_json(value::map({{"run_id", run.run_id}, {"attempt", run.attempt}})));
    std::move(parts).on_part([this, hand](stream_part& part) { take_part(*hand, part); },
                             [this, hand](const result<run_result>& how) { end(hand, how); });
    if (drains_)
      hand->control.request_drain();
  } catch (const error& e) {
    end(hand, e);
  }
}

void run_service::take_part(live_run& hand, const stream_part& part) {
  if (part.mode == stream_mode::values && part.ns.empty() && !part.data.contains("__interrupt__"))
    hand.has_values = true;
  observers_of(hand.run.thread_id, [&](auto& o) {
    if (o.part)
      o.part(hand.run, part);
  });
  for (auto& [name, data] : hand.frames.frames_of(part))
    say(hand, std::move(name), std::move(data));
}

// Events of a resumable run are on the disk before a reader has them.
void run_service::say(live_run& hand, std::string name, std::string data) {
  run_event event{0, name, data};
  if (!hand.keeps_events)
    hand.log->append(std::move(name), std::move(data));
  else {
    auto seq = ++hand.events;
    std::vector<document_change> changes{
      {document_kind::stream_event, event_id(hand.run.run_id, seq),
       value::map({{"seq", seq}, {"event", name}, {"data", data}})}};
    if (seq > options_.events_kept_max)
      changes.push_back({document_kind::stream_event,
                         event_id(hand.run.run_id, seq - options_.events_kept_max), std::nullopt});
    documents_->commit(
      std::move(changes), [log = hand.log, name = std::move(name),
                           data = std::move(data)](const result<void>& stored) mutable {
        if (!stored)
          log_warning("keep an event of a resumable stream: " + stored.error().message());
        log->append(std::move(name), std::move(data));
      });
  }
  observers_of(hand.run.thread_id, [&](auto& o) {
    if (o.event)
      o.event(hand.run, event);
  });
}

void run_service::end(const std::shared_ptr<live_run>& hand, const result<run_result>& how) {
  work_.post([this, hand, how] {
    try {
      finish(hand, how);
    } catch (const std::exception& e) {
      log_warning("end run " + hand->run.run_id + ": " + e.what()); // a later server takes it up
      hand->log->close();
    }
    std::lock_guard lock{mutex_};
    hand->stream.reset();
    if (--carried_ == 0)
      emptied_.notify_all();
  });
}

bool run_service::has_next(const run_record& run, const result<run_result>& how) const {
  if (how)
    return how->paused() || !how->next().empty();
  auto with = graphs_.find(run.graph_id);
  auto newest = with ? with->try_get_state({.thread_id = run.thread_id})
                     : result<state_snapshot>{how.error()};
  return newest && !newest->next.empty();
}

void run_service::remove_checkpoints(const run_record& run) const {
  if (const auto& saver = graphs_.machine().saver())
    saver->delete_for_runs({run.run_id}).value();
}

void run_service::finish(const std::shared_ptr<live_run>& hand, const result<run_result>& how) {
  auto run = hand->run;
  auto asked = hand->cancel.load();
  if (!how && how.error().code() == errc::graph_drained && asked == cancel_action::none)
    return leave_for_later(hand);
  run.status = status_of_end(how ? nullptr : &how.error(), asked);
  if (asked != cancel_action::none && run.status != run_status::success)
    run.status = run_status::interrupted;
  const bool failed = run.status == run_status::error || run.status == run_status::timeout;
  if (failed) {
    run.error = failure_form(how.error());
    say(*hand, "error", to_plain_json(run.error));
  }
  const bool undone = asked == cancel_action::rollback && run.status != run_status::success;
  if (undone)
    remove_checkpoints(run);
  const bool waits = !undone && has_next(run, how);
  const bool temporary = run.flag("temporary");

  std::shared_ptr<live_run> next;
  std::int64_t wait_until = 0;
  for (bool done = false; !done;) {
    next = nullptr;
    auto found = documents_->get(document_kind::thread, run.thread_id).value();
    std::vector<document_change> changes;
    run.updated_at = time_text(now());
    bool leaves = undone || !found; // its thread was removed
    if (leaves || temporary) {
      changes.push_back({document_kind::run, run.document_id(), std::nullopt});
      changes.push_back({document_kind::run_place, run.run_id, std::nullopt});
    } else {
      changes.push_back({document_kind::run, run.document_id(), run.body()});
    }
    if (found) {
      auto thread = thread_record::of(found->body);
      std::erase(thread.inflight, run.run_id);
      if (thread.running == run.run_id)
        thread.running.clear();
      thread.status = status_after(run.status, waits, !thread.inflight.empty());
      thread.error = failed ? run.error
                     : asked != cancel_action::none && run.status != run_status::success
                       ? cancellation_form(asked)
                       : value{};
      thread.had_runs = true;
      thread.updated_at = thread.state_updated_at = run.updated_at;
      auto first = drains_ ? next_run{} : pick_next(line_of(thread), now());
      wait_until = first.wait_until;
      if (!first.run_id.empty()) {
        std::uint64_t revision = 0;
        auto following = get_run(run.thread_id, first.run_id, &revision);
        begin_in(thread, following);
        next = live(following.run_id);
        if (!next)
          next = make_live(following);
        {
          std::lock_guard lock{mutex_};
          next->run = following;
          next->begun = true;
        }
        changes.push_back(
          {document_kind::run, following.document_id(), following.body(), revision});
      }
      bool goes = temporary && thread.inflight.empty();
      changes.push_back({document_kind::thread, run.thread_id,
                         goes ? std::nullopt : std::optional{thread.body()}, found->revision});
    }
    auto committed = documents_->commit_and_wait(std::move(changes));
    done = bool(committed) || committed.error().code() != errc::conflict;
    if (done && !committed)
      log_warning("store the end of run " + run.run_id + ": " + committed.error().message());
  }
  if (temporary)
    if (const auto& saver = graphs_.machine().saver())
      if (auto gone = saver->delete_thread(run.thread_id); !gone)
        log_warning("remove the thread of run " + run.run_id + ": " + gone.error().message());

  run_outcome outcome{.run = run, .started_at = hand->started_at};
  if (how)
    outcome.values = wire_form(how->value());
  else if (auto with = graphs_.find(run.graph_id))
    if (auto newest = with->try_get_state({.thread_id = run.thread_id}))
      outcome.values = wire_form(newest->values);
  outcome.output = failed ? value::map({{"__error__", run.error}})
                   : how  ? output_of(*how, hand->has_values)
                          : outcome.values;
  tell_ended(hand, outcome);
  if (next)
    carry_out(next);
  else if (wait_until > 0)
    advance(run.thread_id);
  if (options_.on_end)
    options_.on_end(outcome);
}

// The server stops: the next one takes the run up where it is.
void run_service::leave_for_later(const std::shared_ptr<live_run>& hand) {
  auto run = hand->run;
  run.status = run_status::pending;
  run.owner.clear();
  --run.attempt; // it did not take the server down
  for (;;) {
    auto found = documents_->get(document_kind::thread, run.thread_id).value();
    if (!found)
      break;
    auto thread = thread_record::of(found->body);
    thread.running.clear();
    auto stored = documents_->commit_and_wait(
      {{document_kind::run, run.document_id(), run.body()},
       {document_kind::thread, run.thread_id, thread.body(), found->revision}});
    if (stored || stored.error().code() != errc::conflict)
      break;
  }
  hand->log->close(); // its readers come back to the next server
}

void run_service::tell_ended(const std::shared_ptr<live_run>& hand, const run_outcome& outcome) {
  hand->log->close();
  std::vector<std::function<void(const run_outcome&)>> waiting;
  {
    std::lock_guard lock{mutex_};
    hand->outcome = outcome;
    waiting.swap(hand->waiting);
    live_.erase(outcome.run.run_id);
  }
  for (const auto& then : waiting)
    then(outcome);
  observers_of(outcome.run.thread_id, [&](auto& o) {
    if (o.ended)
      o.ended(outcome);
  });
}

} // namespace troupe::server
