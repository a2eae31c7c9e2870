// run_carrying: how run_service carries a run out, from its first part to the commit of its end.
#include "actors/log.hpp"
#include "graph/graph_plan.hpp"
#include "graph/plain_json.hpp"
#include "server/rules/ids.hpp"
#include "server/rules/lease_rules.hpp"
#include "server/rules/run_rules.hpp"
#include "server/rules/state_forms.hpp"
#include "server/rules/wire_form.hpp"
#include "server/runs/checkpoint_values.hpp"
#include "server/runs/document_changes.hpp"
#include "server/runs/fitted_config.hpp"
#include "server/runs/live_run.hpp"
#include "server/runs/stored_events.hpp"
#include "tasks/run_shared.hpp"

#include <troupe/server/limits.hpp>

#include <algorithm>
#include <utility>

namespace troupe::server {

namespace {

value output_of(const value& values, const std::vector<interrupt>& questions) {
  return output_form(values.is_map() ? values : value::map({{"output", values}}), questions);
}

// The values that a run ends with: of a graph's run that asks, or that showed none, those of its
// checkpoint. Tasks that ended beside the question wrote none of them, nor did those of the run's
// own `goto`.
value values_of(const run_result& ended, const std::optional<app<>>& graph, const run_record& run) {
  auto values = wire_form(ended.value());
  if (!graph || graph->graph().plan()->single)
    return values;
  if (values.is_null())
    values = value::map();
  else if (ended.interrupts().empty())
    return values;
  auto newest = graph->try_get_state({.thread_id = run.thread_id});
  if (!newest || newest->created_at.empty())
    return values;
  auto stored = checkpoint_values(*graph, *newest);
  if (!stored)
    return values;
  auto names = output_names(run, graph->graph());
  if (names.empty())
    return std::move(*stored);
  auto out = value::map();
  for (const auto& name : names)
    if (stored->contains(name))
      out = out.with(name, (*stored)[name]);
  return out;
}

// A command with all its members, or the input.
value traced_input(const value& kwargs) {
  const auto& given = kwargs["command"];
  if (!given.is_map())
    return kwargs["input"];
  auto out = value::map({{"graph", nullptr}});
  for (const char* member : {"update", "resume", "goto"})
    out = out.with(member, given[member]);
  return out;
}

traced_run traced(const run_record& run, const compiled_graph& graph, const run_config& config) {
  traced_run out{
    .run_id = run.run_id,
    .name = config.run_name.empty() ? graph.name() : config.run_name,
    .input = traced_input(run.kwargs),
    .tags = value::list({config.tags.begin(), config.tags.end()}),
    .metadata =
      config.metadata.with("graph_id", run.graph_id).with("assistant_id", run.assistant_id)};
  for (const auto& [path, inner] : graph.subgraphs(true))
    out.nested.emplace(path, inner.name());
  return out;
}

// A person's request to end the run, as the thread's error.
value cancellation_form(cancel_action asked) {
  return value::map({{"error", asked == cancel_action::rollback ? "UserRollback" : "UserInterrupt"},
                     {"message", std::string{to_string(asked)} + " requested"}});
}

// Open while this server has the lease under which the run began.
class lease_gate : public begin_gate {
public:
  lease_gate(std::shared_ptr<const server_lease> lease, std::uint64_t term)
    : lease_{std::move(lease)},
      term_{term} {}
  bool may_begin() noexcept override {
    if (!lease_->is_held_in(term_))
      is_over_ = true;
    return !is_over_;
  }
  error not_begun(const std::string& what) const override {
    return {errc::conflict, what + ": not started: the lease of its server is over"};
  }

private:
  const std::shared_ptr<const server_lease> lease_;
  const std::uint64_t term_;
  std::atomic<bool> is_over_ = false;
};

error lost_record(const std::string& run_id) {
  return {errc::storage_failed, "run " + run_id + ": its record could not be stored"};
}

} // namespace

std::optional<app<>> run_service::graph_of(const live_run& hand) const {
  return hand.graph ? hand.graph : graphs_.find(hand.run.graph_id);
}

// Null, to go on at the newest checkpoint, if an earlier attempt of this run stored it.
run_input run_service::next_input(const app<>& with, const run_record& run,
                                  bool began_before) const {
  if (began_before) {
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
  hand->started_at = time_text(now());
  try {
    restore_events(*hand);
    tell_began(*hand, hand->run);
    start(hand);
  } catch (const error& e) {
    tell_began(*hand, hand->run);
    end(hand, e);
  }
}

// The run may have been asked to end before it began, or while no server had it. A server that was
// frozen since the commit of the begin does not take the thread from the run's next server.
void run_service::start(const std::shared_ptr<live_run>& hand) {
  const auto& run = hand->run;
  std::shared_ptr<begin_gate> gate;
  if (lease_) {
    auto term = lease_->current();
    if (run.owner != term.id) // it began under a lease that was lost meanwhile
      abandon(*hand);
    gate = std::make_shared<lease_gate>(lease_, term.number);
  }
  if (run.cancel != cancel_action::none)
    ask_to_end(*hand, run.cancel);
  if (hand->cancel != cancel_action::none)
    return end(hand, error{errc::cancelled, "run " + run.run_id + ": cancelled before it began"});
  if (gate && (hand->is_abandoned || !gate->may_begin()))
    throw gate->not_begun("run " + run.run_id);
  hand->graph = graph_of(*hand);
  const auto& with = hand->graph;
  if (!with)
    throw error{errc::unknown_graph,
                "run " + run.run_id + ": the server has no graph `" + run.graph_id + '`'};
  auto config = fitted_config(run, with->graph());
  control_hooks::set_gate(hand->control, std::move(gate));
  config.control = hand->control;
  const bool began_before = run.began_before() || hand->conflicts > 0;
  auto input = next_input(*with, run, began_before);
  if (input.get().index() == 0)
    config.checkpoint_id = began_before ? std::string{} : config.checkpoint_id;
  hand->stream = with->stream_events(input, config);
  stream_options options{engine_modes(wire_modes(run.kwargs))};
  auto parts = hand->stream->read(options);
  say(*hand, "metadata",
      to_plain_json(value::map({{"run_id", run.run_id}, {"attempt", run.attempt}})));
  if (hand->frames.traces())
    for (auto& [name, data] :
         hand->frames.began(traced(run, with->graph(), config), [this] { return new_id(now()); }))
      say(*hand, std::move(name), std::move(data));
  std::move(parts).on_part([this, hand](stream_part& part) { take_part(*hand, part); },
                           [this, hand](const result<run_result>& how) { end(hand, how); });
  if (drains_)
    hand->control.request_drain();
  if (hand->cancel != cancel_action::none || hand->is_abandoned)
    hand->control.cancel();
}

void run_service::take_part(live_run& hand, const stream_part& part) {
  std::shared_ptr<const stream_part> kept;
  if (lease_ || is_observed(hand.thread_id))
    kept = std::make_shared<const stream_part>(part);
  for (auto& [name, data] : hand.frames.frames_of(part))
    say(hand, std::move(name), std::move(data), std::exchange(kept, nullptr));
}

// A server whose runs are free for others stores nothing more of them: no event, since a reader
// elsewhere may be past it, and no end, since its last events are missing.
std::vector<document_change> run_service::condition_of_owner(const live_run& hand) const {
  if (!lease_)
    return {};
  return {condition_of(document_kind::server, hand.run.owner)};
}

// Events of a resumable run, and those for readers on other servers, are stored before a reader has
// them.
void run_service::say(live_run& hand, std::string name, std::string data,
                      std::shared_ptr<const stream_part> part) {
  if (hand.is_abandoned)
    return;
  run_event event{0, std::move(name), std::move(data), std::move(part)};
  {
    std::lock_guard lock{hand.events_mutex};
    event.seq = ++hand.events;
    const bool is_stored = hand.is_resumable || hand.is_followed;
    auto stored = event;
    if (is_stored ? !hand.is_followed : !lease_)
      stored.part.reset();
    if (is_stored) {
      auto changes = condition_of_owner(hand);
      changes.push_back(change_to_event(hand.run_id, stored));
      if (event.seq > options_.events_kept_max)
        changes.push_back(removal_of_event(hand.run_id, event.seq - options_.events_kept_max));
      documents_->commit(std::move(changes), [log = hand.log, event = std::move(stored)](
                                               const result<void>& made) mutable {
        event.part.reset();
        if (!made && made.error().code() == errc::conflict)
          return;
        if (!made)
          log_warning("keep an event of a stream: " + made.error().message());
        log->append(std::move(event), true);
      });
    } else {
      hand.log->append(std::move(stored));
    }
  }
  observers_of(hand.thread_id, [&](auto& o) {
    if (o.event)
      o.event(hand.run, event);
  });
}

void run_service::end(const std::shared_ptr<live_run>& hand, const result<run_result>& how) {
  work_.post([this, hand, how] {
    auto ended = std::exchange(hand->stream, std::nullopt); // a next attempt has its own
    try_to_finish(hand, how);
  });
}

// Until its end is stored, the run is this server's, and no other one takes it up.
void run_service::try_to_finish(const std::shared_ptr<live_run>& hand,
                                const result<run_result>& how) {
  go_on_finishing(hand, how, [&] {
    return hand->is_lost ? finish(hand, lost_record(hand->run_id)) : finish(hand, how);
  });
}

void run_service::go_on_finishing(const std::shared_ptr<live_run>& hand,
                                  const result<run_result>& how,
                                  const std::function<finishing()>& step) {
  auto at = finishing::failed;
  try {
    at = step();
  } catch (const std::exception& e) {
    log_warning("end run " + hand->run_id + ": " + e.what());
  }
  if (at == finishing::failed && drains_)
    at = let_go(hand);
  if (at == finishing::done)
    put_down();
  else if (at == finishing::failed)
    work_.post_at(work_queue::clock::now() + limits::server_end_retry,
                  [this, hand, how] { try_to_finish(hand, how); });
}

void run_service::put_down() {
  std::lock_guard lock{mutex_};
  if (--carried_ == 0)
    emptied_.notify_all();
}

bool run_service::has_next(const live_run& hand, const result<run_result>& how) const {
  if (how)
    return !how->next().empty(); // a breakpoint after the last node leaves nothing to do
  auto with = graph_of(hand);
  auto newest = with ? with->try_get_state({.thread_id = hand.thread_id})
                     : result<state_snapshot>{how.error()};
  return newest && !newest->next.empty();
}

void run_service::remove_checkpoints(const run_record& run) const {
  const auto& saver = graphs_.machine().saver();
  if (!saver)
    return;
  auto removed = saver->delete_for_runs({run.run_id}, {run.thread_id});
  if (!removed && removed.error().code() != errc::invalid_config)
    throw removed.error();
  if (!removed)
    log_warning("undo run " + run.run_id + ": " + removed.error().message());
}

run_service::finishing run_service::finish(const std::shared_ptr<live_run>& hand,
                                           const result<run_result>& how) {
  auto asked = hand->cancel.load();
  if (hand->is_abandoned)
    return let_go(hand);
  if (!how || asked != cancel_action::none)
    hand->as_begun.reset(); // what follows is not undone when the commit finds others
  std::optional<run_record> stored;
  if (!hand->as_begun)
    stored = find_run(hand->thread_id, hand->run_id);
  if (stored && !is_same_claim(hand->run, *stored))
    return let_go(hand);
  if (!how && how.error().code() == errc::graph_drained && asked == cancel_action::none)
    return leave_for_later(hand);
  // A former owner stored a step after this server read the thread: from there on, once more. If
  // the lease is over, its next renewal decides.
  if (!how && how.error().code() == errc::conflict && stored && asked == cancel_action::none
      && (lease_ || hand->run.attempt > 1) && !drains_) {
    if (lease_ && !lease_->is_held())
      return finishing::failed;
    if (++hand->conflicts < commit_tries_max) {
      carry_out(hand);
      return finishing::done;
    }
  }
  auto run = hand->run;
  run.status = status_of_end(how ? nullptr : &how.error(), asked);
  if (asked != cancel_action::none && run.status != run_status::success)
    run.status = run_status::interrupted;
  const bool failed = run.status == run_status::error || run.status == run_status::timeout;
  if (failed) {
    run.error = failure_form(how.error());
    if (!std::exchange(hand->has_said_its_end, true))
      say(*hand, "error", to_plain_json(run.error));
  }
  if (asked == cancel_action::rollback && run.status != run_status::success)
    remove_checkpoints(run);
  run_outcome outcome{.run = run, .started_at = hand->started_at};
  if (how) {
    outcome.values = values_of(*how, graph_of(*hand), run);
    if (!std::exchange(hand->has_said_its_end, true))
      for (auto& [name, data] : hand->frames.ended(outcome.values))
        say(*hand, std::move(name), std::move(data));
  } else if (auto with = graph_of(*hand))
    if (auto newest = with->try_get_state({.thread_id = run.thread_id}))
      if (auto stored = checkpoint_values(*with, *newest))
        outcome.values = std::move(*stored);
  if (failed)
    outcome.output = value::map({{"__error__", run.error}});
  else
    outcome.output = how ? output_of(outcome.values, how->interrupts()) : outcome.values;
  return store_end(hand, how, std::move(outcome), asked);
}

// Others may have changed the records since. The commit is refused then, and they are read.
run_service::end_records run_service::records_for_end(live_run& hand) const {
  if (auto begun = std::exchange(hand.as_begun, std::nullopt))
    return {std::move(begun->thread), hand.run, begun->run_revision};
  end_records read;
  read.thread = find_thread(hand.thread_id);
  read.run = find_run(hand.thread_id, hand.run_id, &read.run_revision);
  return read;
}

// No thread waits for the commit, so that the ends of many runs share one of the disk.
run_service::finishing run_service::store_end(const std::shared_ptr<live_run>& hand,
                                              const result<run_result>& how, run_outcome outcome,
                                              cancel_action asked) {
  auto& run = outcome.run;
  const bool undone = asked == cancel_action::rollback && run.status != run_status::success;
  const bool is_cancelled = asked != cancel_action::none && run.status != run_status::success;
  const bool waits = !undone && has_next(*hand, how);
  const bool is_temporary = run.flag("temporary");
  hand->is_ending = true;

  std::shared_ptr<live_run> next;
  std::shared_ptr<beginning> next_begins;
  std::int64_t wait_until = 0;
  auto [found, stored, revision] = records_for_end(*hand);
  if (stored && !is_same_claim(hand->run, *stored))
    return let_go(hand);
  std::vector<document_change> changes;
  if (stored || found) // else all of it was removed meanwhile
    changes = condition_of_owner(*hand);
  run.updated_at = time_text(now());
  run.followed = stored && stored->followed;
  run.output = is_temporary && run.followed ? outcome.output : value{};
  const bool leaves = undone || !found || (is_temporary && !run.followed);
  if (stored && leaves) {
    changes.push_back(removal_of(document_kind::run, run.document_id(), revision));
    changes.push_back(removal_of(document_kind::run_place, run.run_id));
  } else if (stored) {
    changes.push_back(change_to(document_kind::run, run.document_id(), run.body(), revision));
  }
  if (found) {
    auto& thread = found->thread;
    std::erase(thread.inflight, run.run_id);
    if (thread.running == run.run_id)
      thread.running.clear();
    thread.status = status_after(run.status, waits, !thread.inflight.empty());
    thread.error = !run.error.is_null() ? run.error
                   : is_cancelled       ? cancellation_form(asked)
                                        : value{};
    thread.had_runs = true;
    thread.updated_at = thread.state_updated_at = run.updated_at;
    auto first = drains_ ? next_run{} : pick_next(line_of(thread), now());
    wait_until = first.wait_until;
    if (!first.run_id.empty()) {
      std::uint64_t next_revision = 0;
      auto following = get_run(run.thread_id, first.run_id, &next_revision);
      begin_in(thread, following);
      next = make_live(following);
      next_begins = std::make_shared<beginning>(*this, next);
      changes.push_back(
        change_to(document_kind::run, following.document_id(), following.body(), next_revision));
      std::lock_guard lock{mutex_};
      next->run = following;
      next->as_begun = begun_records{{thread, found->revision + 1}, next_revision + 1};
    }
    bool goes = is_temporary && thread.inflight.empty();
    changes.push_back(
      goes ? removal_of(document_kind::thread, run.thread_id, found->revision)
           : change_to(document_kind::thread, run.thread_id, thread.body(), found->revision));
  }
  const bool is_early = hand->answer_waits_for > 0 && !hand->early_outcome && how && !is_cancelled
                        && !waits && !next && found && stored;
  if (is_early)
    hand->early_outcome = outcome;
  auto end = std::make_shared<const run_end>(
    run_end{hand, how, std::move(outcome), asked, std::move(next), wait_until});
  auto settle = [this, end, next_begins](const result<void>& committed) mutable {
    if (committed && end->next) { // at once: whoever sees the commit may ask this server for it
      std::lock_guard lock{mutex_};
      end->next->begun = true;
    }
    next_begins.reset();
    work_.post([this, end, committed] {
      go_on_finishing(end->hand, end->how, [&] { return settle_end(*end, committed); });
    });
  };
  if (!is_early) {
    documents_->commit(std::move(changes), std::move(settle));
    return finishing::on_its_way;
  }
  documents_->commit_soon(
    std::move(changes), commit_pace::gathers,
    [this, hand, settle](const result<void>& accepted) mutable {
      if (accepted)
        answer_early(hand);
      else
        settle(accepted);
    },
    settle);
  return finishing::on_its_way;
}

run_service::finishing run_service::settle_end(const run_end& end, const result<void>& committed) {
  const auto& run = end.outcome.run;
  if (!committed && committed.error().code() == errc::conflict) {
    const auto& owner = end.hand->run.owner;
    if (lease_ && !documents_->get(document_kind::server, owner).value())
      return let_go(end.hand);
    return store_end(end.hand, end.how, end.outcome, end.asked);
  }
  committed.value();
  if (end.how && end.hand->is_lost)
    throw lost_record(run.run_id); // it has another end
  if (run.flag("temporary"))
    if (const auto& saver = graphs_.machine().saver())
      if (auto gone = saver->delete_thread(run.thread_id); !gone)
        log_warning("remove the thread of run " + run.run_id + ": " + gone.error().message());
  forget_later(run);
  tell_ended(end.hand, end.outcome);
  if (end.next)
    carry_out(end.next);
  else if (end.wait_until > 0)
    advance(run.thread_id);
  if (options_.on_end)
    options_.on_end(end.outcome);
  return finishing::done;
}

// Events that no later reader may ask for, and records that were kept for readers elsewhere.
void run_service::forget_later(const run_record& run) {
  const bool is_gone = run.flag("temporary");
  if (run.flag("resumable") ? !is_gone : !run.followed)
    return;
  auto when = work_queue::clock::now();
  if (run.followed)
    when += limits::server_followed_kept;
  work_.post_at(when, [this, run] { forget(run); });
}

void run_service::forget(const run_record& run) {
  auto changes = removal_of_events(*documents_, run.run_id);
  if (run.flag("temporary")) {
    changes.push_back(removal_of(document_kind::run, run.document_id()));
    changes.push_back(removal_of(document_kind::run_place, run.run_id));
  }
  commit_all(*documents_, std::move(changes));
}

// The server stops: the next one takes the run up where it is.
run_service::finishing run_service::leave_for_later(const std::shared_ptr<live_run>& hand) {
  turns_.change(hand->thread_id, [&] {
    auto found = find_thread(hand->thread_id);
    std::uint64_t revision = 0;
    auto run = find_run(hand->thread_id, hand->run_id, &revision);
    if (!found || !run || !is_same_claim(hand->run, *run))
      return;
    run->status = run_status::pending;
    run->owner.clear();
    --run->attempt; // it did not take the server down
    ++run->left;
    found->thread.running.clear();
    commit_all(
      *documents_,
      {change_to(document_kind::run, run->document_id(), run->body(), revision),
       change_to(document_kind::thread, hand->thread_id, found->thread.body(), found->revision)});
  });
  hand->log->close(); // its readers come back to the next server
  return finishing::done;
}

// Observers of the thread first: others that hear of the end may start the next run.
void run_service::tell_ended(const std::shared_ptr<live_run>& hand, const run_outcome& outcome) {
  std::vector<std::function<void(const run_outcome&)>> waiting;
  {
    std::lock_guard lock{mutex_};
    if (hand->outcome)
      return hand->log->close();
    hand->outcome = outcome;
    waiting.swap(hand->waiting);
    recent_.push_front(outcome);
    if (recent_.size() > limits::server_recent_ends_max)
      recent_.pop_back();
    if (auto found = live_.find(hand->run_id); found != live_.end() && found->second == hand)
      live_.erase(found);
  }
  observers_of(hand->thread_id, [&](auto& o) {
    if (o.ended)
      o.ended(outcome);
  });
  hand->log->close();
  for (const auto& then : waiting) {
    try {
      then(outcome);
    } catch (const std::exception& e) { // the others, and the thread's next run, do not wait for it
      log_warning("tell the end of run " + hand->run_id + ": " + e.what());
    }
  }
}

} // namespace troupe::server
