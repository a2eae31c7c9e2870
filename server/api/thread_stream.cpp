// thread_stream: the past of a thread's runs from their logs, then the present.
//
// Invariants:
//  - the observer of the thread is there before the runs are listed, so no event is between; and
//    before the head leaves, so a client that has the head misses no run that it begins. The
//    thread is followed by then, so the observer sees runs of other servers, too.
//  - a run that is read from its log is read to its end, and the observer's events of it are left
//    out. So each event comes once, from one of the two.
//  - events of the observer wait until the past is told.
//  - the stream ends when a run begins on another thread, created under the id of the removed one.
#include "server/api/thread_stream.hpp"

#include "graph/plain_json.hpp"
#include "server/edge/events.hpp"
#include "server/rules/ids.hpp"
#include "server/rules/thread_position.hpp"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <optional>
#include <set>

namespace troupe::server {

namespace {

class thread_stream : public std::enable_shared_from_this<thread_stream> {
public:
  thread_stream(const thread_record& thread, bool only_lifecycle)
    : thread_created_at_{micros_of(thread.created_at)},
      only_lifecycle_{only_lifecycle} {}

  /// Owns:   the connection holds this, and this its readings, until the peer leaves.
  void begin(const rooms& with, const std::string& thread_id,
             const std::optional<thread_position>& after, const http_responder& to) {
    after_ = after;
    hold(with.runs.observe(thread_id, observer()));
    hold(with.runs.follow_thread(thread_id));
    out_.emplace(to, http_headers{});
    out_->when_gone([self = shared_from_this()] { self->drop(); });
    if (after)
      tell_past(with, thread_id, *after);
    tell_waiting();
  }

private:
  using work = std::function<void(thread_stream&)>;

  thread_observer observer();
  event_reader reader_of(const std::string& run_id);
  void tell_past(const rooms& with, const std::string& thread_id, const thread_position& after);
  void tell_waiting();
  void hold(std::shared_ptr<void> reading);
  void drop();
  void now_or_later(work what);
  bool had(const std::string& run_id, const run_event& event) const;
  void tell(const std::string& run_id, const run_event& event) const;
  void tell_end(const std::string& run_id);

  bool is_of_this_thread(const run_record& run) const noexcept {
    return run.thread_created_at == 0 || run.thread_created_at == thread_created_at_;
  }

  std::optional<event_writer> out_; // there before anything is told
  const std::int64_t thread_created_at_;
  const bool only_lifecycle_;
  std::optional<thread_position> after_; // constant after the begin
  std::mutex mutex_;
  std::vector<std::shared_ptr<void>> readings_;
  std::set<std::string> read_runs_;  // from their logs
  std::set<std::string> ended_runs_; // those of the past whose end was told
  std::vector<work> waiting_;        // of the observer
  bool is_past_told_ = false;
  bool is_gone_ = false;
};

thread_observer thread_stream::observer() {
  auto weak = weak_from_this();
  return {.began =
            [weak](const run_record& run) {
              auto self = weak.lock();
              if (self && !self->is_of_this_thread(run))
                self->now_or_later([](thread_stream& s) { s.out_->end(); });
            },
          .event =
            [weak](const run_record& run, const run_event& event) {
              auto self = weak.lock();
              if (self && self->is_of_this_thread(run))
                self->now_or_later([run_id = run.run_id, event](thread_stream& s) {
                  if (!s.read_runs_.contains(run_id) && !s.had(run_id, event))
                    s.tell(run_id, event);
                });
            },
          .ended =
            [weak](const run_outcome& outcome) {
              auto self = weak.lock();
              if (self && self->is_of_this_thread(outcome.run))
                self->now_or_later(
                  [run_id = outcome.run.run_id](thread_stream& s) { s.tell_end(run_id); });
            }};
}

event_reader thread_stream::reader_of(const std::string& run_id) {
  auto weak = weak_from_this();
  return {.event =
            [weak, run_id](const run_event& event) {
              if (auto self = weak.lock()) {
                std::lock_guard lock{self->mutex_};
                self->tell(run_id, event);
              }
            },
          .end =
            [weak, run_id] {
              if (auto self = weak.lock()) {
                std::lock_guard lock{self->mutex_};
                self->tell_end(run_id);
              }
            }};
}

void thread_stream::tell_past(const rooms& with, const std::string& thread_id,
                              const thread_position& after) {
  if (after.is_at_end) {
    std::lock_guard lock{mutex_};
    ended_runs_.insert(after.run_id);
  }
  auto page =
    with.documents->search({.kind = document_kind::run, .id_prefix = thread_id + '/'}).value();
  std::vector<run_record> all;
  for (const auto& one : page.documents)
    all.push_back(run_record::of(one.body));
  for (const auto& run : runs_after(std::move(all), after)) {
    const bool is_here = run.run_id == after.run_id;
    if (!run.flag("resumable")) {
      std::lock_guard lock{mutex_};
      if (is_here && is_over(run.status))
        tell_end(run.run_id);
      continue;
    }
    {
      std::lock_guard lock{mutex_};
      read_runs_.insert(run.run_id);
    }
    try {
      hold(with.runs.read(thread_id, run.run_id, is_here ? after.seq : 0, reader_of(run.run_id)));
    } catch (const refusal&) {
      continue; // it was removed meanwhile
    }
  }
}

void thread_stream::tell_waiting() {
  std::lock_guard lock{mutex_};
  for (const auto& what : std::exchange(waiting_, {}))
    what(*this);
  is_past_told_ = true;
}

void thread_stream::now_or_later(work what) {
  std::lock_guard lock{mutex_};
  if (is_past_told_)
    what(*this);
  else
    waiting_.push_back(std::move(what));
}

void thread_stream::hold(std::shared_ptr<void> reading) {
  std::lock_guard lock{mutex_};
  if (!is_gone_ && reading)
    readings_.push_back(std::move(reading));
}

void thread_stream::drop() {
  std::vector<std::shared_ptr<void>> dropped; // without the lock
  std::lock_guard lock{mutex_};
  is_gone_ = true;
  dropped.swap(readings_);
}

// Another server may have stored earlier events of a run in flight.
bool thread_stream::had(const std::string& run_id, const run_event& event) const {
  return after_ && after_->run_id == run_id && event.seq <= after_->seq;
}

void thread_stream::tell(const std::string& run_id, const run_event& event) const {
  if (!only_lifecycle_ || event.name == "metadata")
    out_->event(event.name, event.data, to_string(thread_position{run_id, event.seq}));
}

// The log and the observer may both report the end of a run of the past.
void thread_stream::tell_end(const std::string& run_id) {
  if (ended_runs_.contains(run_id))
    return;
  if (!is_past_told_ || read_runs_.contains(run_id))
    ended_runs_.insert(run_id);
  out_->event("metadata", to_plain_json(value::map({{"status", "run_done"}, {"run_id", run_id}})),
              to_string(thread_position{.run_id = run_id, .is_at_end = true}));
}

} // namespace

void stream_thread(const rooms& with, const api_call& call, const http_responder& to) {
  auto thread = thread_at(with, call.parameters[0]).thread;
  auto modes = call.query.list("stream_modes");
  for (const auto& mode : modes)
    if (mode != "run_modes" && mode != "lifecycle" && mode != "state_update")
      throw refusal{422,
                    "stream_modes: \"" + mode + "\" is not run_modes, lifecycle or state_update"};
  // The SDKs' name of it. The recorded server ignores it, so an unknown mode is not refused.
  std::ranges::copy(call.query.list("stream_mode"), std::back_inserter(modes));
  const bool only_lifecycle = !modes.empty() && std::ranges::all_of(modes, [](const auto& mode) {
    return mode == "lifecycle";
  });
  std::make_shared<thread_stream>(thread, only_lifecycle)
    ->begin(with, thread.thread_id, thread_position_after(call.request.header("last-event-id")),
            to);
}

} // namespace troupe::server
