// run_answers: event streams and waits.
#include "server/api/run_answers.hpp"

#include "graph/plain_json.hpp"

#include <troupe/server/limits.hpp>

#include <algorithm>
#include <utility>

namespace troupe::server {

std::string run_path(const run_record& run, bool stateless) {
  return (stateless ? std::string{} : "/threads/" + run.thread_id) + "/runs/" + run.run_id;
}

bool event_filter::lets_pass(std::string_view event) const {
  auto mode = event.substr(0, event.find_first_of("|/"));
  if (modes_.empty() || mode == "metadata" || mode == "error")
    return true;
  return std::ranges::any_of(modes_, [mode](const std::string& one) {
    return one == mode || (one == "messages-tuple" && mode == "messages");
  });
}

void run_events::begin(const run_record& run, bool stateless) {
  auto path = run_path(run, stateless);
  std::lock_guard lock{mutex_};
  shows_ids_ = run.flag("resumable");
  out_.emplace(to_, http_headers{{"Content-Location", path}, {"Location", path + "/stream"}});
  for (const auto& event : std::exchange(early_, {}))
    out_->event(event.name, event.data, shows_ids_ ? std::to_string(event.seq) : std::string{});
  if (ended_)
    out_->end();
  else
    out_->when_gone([weak = weak_from_this()] {
      if (auto self = weak.lock()) {
        std::function<void()> gone;
        std::shared_ptr<void> reading;
        {
          std::lock_guard inner{self->mutex_};
          gone.swap(self->gone_);
          reading.swap(self->reading_);
        }
        if (gone)
          gone();
      }
    });
}

void run_events::when_gone(std::function<void()> gone) {
  std::lock_guard lock{mutex_};
  gone_ = std::move(gone);
}

void run_events::follow(event_log& log, std::optional<std::uint64_t> after) {
  hold(log.read(reader(), after));
}

event_reader run_events::reader() {
  return {.event = [self = shared_from_this()](const run_event& event) { self->take(event); },
          .end = [self = shared_from_this()] { self->end(); }};
}

void run_events::hold(std::shared_ptr<void> reading) {
  std::lock_guard lock{mutex_};
  if (!ended_)
    reading_ = std::move(reading);
}

void run_events::take(const run_event& event) {
  if (!filter_.lets_pass(event.name))
    return;
  std::lock_guard lock{mutex_};
  if (out_)
    out_->event(event.name, event.data, shows_ids_ ? std::to_string(event.seq) : std::string{});
  else
    early_.push_back(event);
}

void run_events::end() {
  std::shared_ptr<void> reading; // dropped without the lock
  std::lock_guard lock{mutex_};
  ended_ = true;
  gone_ = nullptr;
  reading.swap(reading_);
  if (out_)
    out_->end();
}

namespace {

http_headers headers_of(const run_record& run, bool stateless) {
  auto path = run_path(run, stateless);
  return {
    {"Content-Type", "application/json"}, {"Content-Location", path}, {"Location", path + "/join"}};
}

} // namespace

void run_output::begin(const run_record& run, bool stateless) {
  std::lock_guard lock{mutex_};
  if (std::exchange(has_begun_, true))
    return;
  to_.cut_unless_ended(); // a client would take it for an empty answer, and comes back to the run
  to_.start(200, headers_of(run, stateless),
            {.text = "\n", .every = limits::server_heartbeat, .is_steady = true});
}

void run_output::end(const run_outcome& outcome, bool stateless) {
  auto text = to_plain_json(outcome.output);
  std::lock_guard lock{mutex_};
  if (!std::exchange(has_begun_, true))
    return to_.send(
      {.status = 200, .headers = headers_of(outcome.run, stateless), .body = std::move(text)});
  to_.piece(std::move(text));
  to_.end();
}

} // namespace troupe::server
