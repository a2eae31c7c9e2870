// run_service: records of runs, and who is next on a thread.
#include "server/runs/run_service.hpp"

#include "actors/log.hpp"
#include "server/edge/refusal.hpp"
#include "server/rules/ids.hpp"
#include "server/rules/run_rules.hpp"
#include "server/rules/state_forms.hpp"
#include "server/rules/wire_form.hpp"
#include "server/runs/live_run.hpp"

#include <troupe/server/limits.hpp>

#include <algorithm>
#include <utility>

namespace troupe::server {

namespace {

constexpr int commit_tries_max = 32; // of a change that others make at the same time

std::string event_prefix(const std::string& run_id) {
  return run_id + '/';
}

document_change put(document_kind kind, std::string id, value body,
                    std::optional<std::uint64_t> expected = std::nullopt) {
  return {kind, std::move(id), std::move(body), expected};
}
document_change removal(document_kind kind, std::string id,
                        std::optional<std::uint64_t> expected = std::nullopt) {
  return {kind, std::move(id), std::nullopt, expected};
}

value with_members(const value& base, const value& over) {
  auto out = base;
  for (const auto& e : over.entries())
    out = out.with(e.key(), e.val);
  return out;
}

refusal no_run(const std::string& run_id) {
  return {404, "Run " + run_id + " not found"};
}
work_queue::clock::time_point time_point_of(std::int64_t micros) {
  return work_queue::clock::time_point{std::chrono::microseconds{micros}};
}

// Does `change` until no other change came between its reads and its commit.
template <class F> auto without_conflict(F&& change) {
  for (int tries = 1;; ++tries) {
    try {
      return change();
    } catch (const error& e) {
      if (e.code() != errc::conflict || tries == commit_tries_max)
        throw;
    }
  }
}

void commit(document_store& documents, std::vector<document_change> changes) {
  documents.commit_and_wait(std::move(changes)).value();
}

} // namespace

run_service::run_service(graph_set& graphs, std::shared_ptr<document_store> documents,
                         run_service_options options)
  : graphs_{graphs},
    documents_{std::move(documents)},
    options_{std::move(options)},
    work_{options_.threads} {
  if (!options_.now)
    options_.now = [] {
      return std::chrono::duration_cast<std::chrono::microseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
    };
}

run_service::~run_service() {
  drain(limits::server_drain_wait);
}

// ---- records

std::optional<run_service::read_thread>
run_service::find_thread(const std::string& thread_id) const {
  auto found = documents_->get(document_kind::thread, thread_id).value();
  if (!found)
    return std::nullopt;
  return read_thread{thread_record::of(found->body), found->revision};
}

run_record run_service::get_run(const std::string& thread_id, const std::string& run_id,
                                std::uint64_t* revision) const {
  auto found = documents_->get(document_kind::run, thread_id + '/' + run_id).value();
  if (!found)
    throw no_run(run_id);
  if (revision)
    *revision = found->revision;
  return run_record::of(found->body);
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
  run.owner = options_.server_id;
  ++run.attempt;
  run.updated_at = time_text(now());
  thread.running = run.run_id;
  thread.status = thread_status::busy;
  thread.updated_at = run.updated_at;
}

// ---- new runs

run_record run_service::create(const std::string& thread_id, const run_request& request,
                               const assistant_record& assistant,
                               const std::function<void(event_log&)>& watch) {
  const bool is_stateless = thread_id.empty();
  auto id = is_stateless ? new_id(now()) : thread_id;
  run_record run{.run_id = new_id(now()),
                 .thread_id = id,
                 .assistant_id = assistant.assistant_id,
                 .kwargs = with_assistant(request.kwargs, assistant)
                             .with("temporary", is_stateless && !request.keeps_thread),
                 .multitask_strategy = std::string{to_string(request.strategy)},
                 .graph_id = assistant.graph_id};
  auto hand = make_live(run);
  if (watch)
    watch(*hand->log);

  std::vector<run_record> dropped; // pending runs that end here
  std::string cancelled;           // the running one that shall end
  bool starts = false;
  auto accept = [&] {
    dropped.clear();
    cancelled.clear();
    auto time = now();
    auto found = is_stateless ? std::nullopt : find_thread(id);
    if (!found && !is_stateless && !request.creates_thread)
      throw refusal{404, "Thread or assistant not found."};
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
    if (effect.others != cancel_action::none)
      for (const auto& other_id : std::vector{thread.inflight}) {
        std::uint64_t revision = 0;
        auto other = get_run(id, other_id, &revision);
        other.cancel = effect.others;
        if (other_id == thread.running) {
          cancelled = other_id;
          changes.push_back(put(document_kind::run, other.document_id(), other.body(), revision));
          continue;
        }
        std::erase(thread.inflight, other_id);
        other.status = run_status::interrupted;
        dropped.push_back(other);
        if (effect.others == cancel_action::rollback) {
          changes.push_back(removal(document_kind::run, other.document_id()));
          changes.push_back(removal(document_kind::run_place, other_id));
        } else {
          changes.push_back(put(document_kind::run, other.document_id(), other.body(), revision));
        }
      }
    auto waiting = thread.running.empty() ? line_of(thread) : std::vector<waiting_run>{};
    starts = thread.running.empty() && request.after_micros == 0 && !drains_
             && pick_next(waiting, time).run_id.empty();
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
    }
    changes.push_back(put(document_kind::thread, id, thread.body(), found ? found->revision : 0));
    changes.push_back(put(document_kind::run, run.document_id(), as_stored.body(), 0));
    changes.push_back(
      put(document_kind::run_place, run.run_id, value::map({{"thread_id", id}}), 0));
    commit(*documents_, std::move(changes));
  };
  try {
    without_conflict(accept);
  } catch (...) {
    hand->log->close();
    std::lock_guard lock{mutex_};
    live_.erase(run.run_id);
    throw;
  }
  for (const auto& other : dropped)
    if (auto one = live(other.run_id))
      tell_ended(one, {other});
  if (auto one = cancelled.empty() ? nullptr : live(cancelled)) {
    one->cancel = request.strategy == double_texting::rollback ? cancel_action::rollback
                                                               : cancel_action::interrupt;
    one->control.cancel();
  }
  if (starts)
    carry_out(hand);
  else
    advance(id); // sets a timer, or begins what became free meanwhile
  run.status = run_status::pending;
  return run;
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
    begin_in(thread, run);
    auto hand = live(run.run_id);
    if (!hand)
      hand = make_live(run);
    commit(*documents_, {put(document_kind::thread, thread_id, thread.body(), found->revision),
                         put(document_kind::run, run.document_id(), run.body(), revision)});
    std::lock_guard lock{mutex_};
    hand->run = run;
    hand->begun = true;
    begun = hand;
  };
  try {
    without_conflict(change);
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
  bool is_known = without_conflict([&] {
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
      commit(*documents_, {put(document_kind::run, run.document_id(), run.body(), revision)});
      return true;
    }
    std::erase(thread.inflight, run_id);
    run.status = run_status::interrupted;
    thread.status = thread.inflight.empty() ? thread_status::idle : thread_status::busy;
    thread.updated_at = run.updated_at;
    std::vector<document_change> changes{
      put(document_kind::thread, thread_id, thread.body(), found->revision)};
    if (action == cancel_action::rollback) {
      changes.push_back(removal(document_kind::run, run.document_id()));
      changes.push_back(removal(document_kind::run_place, run_id));
    } else {
      changes.push_back(put(document_kind::run, run.document_id(), run.body(), revision));
    }
    commit(*documents_, std::move(changes));
    ended = run;
    return true;
  });
  auto hand = live(run_id);
  if (!is_known || !hand)
    return is_known;
  if (ended) {
    tell_ended(hand, {*ended});
    return true;
  }
  hand->cancel = action;
  hand->control.cancel();
  return true;
}

void run_service::remove(const std::string& thread_id, const std::string& run_id) {
  auto run = get_run(thread_id, run_id);
  if (!is_over(run.status) && cancel(thread_id, run_id, cancel_action::rollback))
    return; // it goes with its end
  remove_checkpoints(run);
  std::vector<document_change> changes{removal(document_kind::run, run.document_id()),
                                       removal(document_kind::run_place, run_id)};
  for (const auto& event :
       documents_->search({.kind = document_kind::stream_event, .id_prefix = event_prefix(run_id)})
         .value()
         .documents)
    changes.push_back(removal(document_kind::stream_event, event.id));
  commit(*documents_, std::move(changes));
}

bool run_service::remove_thread(const std::string& thread_id,
                                std::optional<std::uint64_t> expected) {
  auto found = find_thread(thread_id);
  if (!found)
    return false;
  std::vector<document_change> changes{removal(document_kind::thread, thread_id, expected)};
  std::vector<std::string> ids;
  for (const auto& one :
       documents_->search({.kind = document_kind::run, .id_prefix = thread_id + '/'})
         .value()
         .documents) {
    changes.push_back(removal(document_kind::run, one.id));
    ids.push_back(one.id.substr(thread_id.size() + 1));
  }
  for (const auto& id : ids) {
    changes.push_back(removal(document_kind::run_place, id));
    for (const auto& event :
         documents_->search({.kind = document_kind::stream_event, .id_prefix = event_prefix(id)})
           .value()
           .documents)
      changes.push_back(removal(document_kind::stream_event, event.id));
  }
  commit(*documents_, std::move(changes));
  for (const auto& id : ids)
    if (auto hand = live(id)) {
      hand->cancel = cancel_action::rollback;
      hand->control.cancel();
    }
  if (const auto& saver = graphs_.machine().saver())
    saver->delete_thread(thread_id).value();
  return true;
}

// ---- readers

std::shared_ptr<void> run_service::read(const std::string& thread_id, const std::string& run_id,
                                        std::optional<std::uint64_t> after, event_reader reader) {
  if (auto hand = live(run_id); hand && hand->run.thread_id == thread_id)
    return hand->log->read(std::move(reader), after);
  auto run = get_run(thread_id, run_id);
  if (after && run.flag("resumable"))
    for (const auto& one :
         documents_
           ->search({.kind = document_kind::stream_event, .id_prefix = event_prefix(run_id)})
           .value()
           .documents) {
      auto seq = static_cast<std::uint64_t>(one.body["seq"].as_int());
      if (seq > *after)
        reader.event({seq, std::string{one.body["event"].as_string()},
                      std::string{one.body["data"].as_string()}});
    }
  if (reader.end)
    reader.end();
  return nullptr;
}

void run_service::when_ended(const std::string& thread_id, const std::string& run_id,
                             std::function<void(const run_outcome&)> then) {
  std::optional<run_outcome> over;
  {
    std::lock_guard lock{mutex_};
    auto found = live_.find(run_id);
    if (found != live_.end() && found->second->run.thread_id == thread_id) {
      if (!found->second->outcome) {
        found->second->waiting.push_back(std::move(then));
        return;
      }
      over = found->second->outcome;
    }
  }
  if (!over) {
    over = run_outcome{get_run(thread_id, run_id)};
    if (!over->run.error.is_null())
      over->output = value::map({{"__error__", over->run.error}});
    else if (auto with = graphs_.find(over->run.graph_id))
      over->output = wire_form(with->get_state({.thread_id = thread_id}).values);
  }
  then(*over);
}

std::shared_ptr<void> run_service::observe(const std::string& thread_id, thread_observer observer) {
  auto one = std::make_shared<thread_observer>(std::move(observer));
  std::lock_guard lock{mutex_};
  auto& list = observers_[thread_id];
  std::erase_if(list, [](const auto& weak) { return weak.expired(); });
  list.push_back(one);
  return one;
}

// ---- the beginning and the end of a server

void run_service::recover() {
  std::vector<std::string> threads;
  for (auto status : {run_status::running, run_status::pending})
    for (const auto& one :
         documents_
           ->search({.kind = document_kind::run, .equal = {{"status", value(to_string(status))}}})
           .value()
           .documents)
      threads.push_back(std::string{one.body["thread_id"].as_string()});
  std::ranges::sort(threads);
  threads.erase(std::ranges::unique(threads).begin(), threads.end());
  for (const auto& id : threads) {
    std::optional<run_record> given_up;
    without_conflict([&] {
      given_up.reset();
      auto found = find_thread(id);
      if (!found || found->thread.running.empty())
        return;
      auto& thread = found->thread;
      std::uint64_t revision = 0;
      auto run = get_run(id, thread.running, &revision);
      thread.running.clear();
      run.owner.clear();
      run.status = run_status::pending;
      if (run.attempt >= options_.attempts_max) {
        run.status = run_status::error;
        run.error = value::map(
          {{"error", "RunGivenUp"},
           {"message", "the server ended " + std::to_string(run.attempt)
                         + " times while this run was running (server_run_attempts_max)"}});
        std::erase(thread.inflight, run.run_id);
        thread.error = run.error;
        thread.status = thread.inflight.empty() ? thread_status::error : thread_status::busy;
        given_up = run;
      }
      commit(*documents_, {put(document_kind::thread, id, thread.body(), found->revision),
                           put(document_kind::run, run.document_id(), run.body(), revision)});
    });
    if (given_up)
      log_warning("run " + given_up->run_id + " of thread " + id + ": given up after "
                  + std::to_string(given_up->attempt) + " attempts");
    advance(id);
  }
}

bool run_service::drain(std::chrono::milliseconds at_most) {
  drains_ = true;
  std::unique_lock lock{mutex_};
  for (const auto& [id, hand] : live_)
    hand->control.request_drain();
  return emptied_.wait_for(lock, at_most, [this] { return carried_ == 0; });
}

std::size_t run_service::running() const {
  std::lock_guard lock{mutex_};
  return carried_;
}

std::shared_ptr<run_service::live_run> run_service::live(const std::string& run_id) const {
  std::lock_guard lock{mutex_};
  auto found = live_.find(run_id);
  return found == live_.end() ? nullptr : found->second;
}

std::shared_ptr<run_service::live_run> run_service::make_live(const run_record& run) {
  auto hand = std::make_shared<live_run>(run, options_.events_kept_max);
  std::lock_guard lock{mutex_};
  return live_.emplace(run.run_id, hand).first->second;
}

} // namespace troupe::server
