// run_answers: a run's events and its end, as answers to requests.
#pragma once

#include "server/api/rooms.hpp"
#include "server/edge/events.hpp"

#include <troupe/server/limits.hpp>

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace troupe::server {

/// "/threads/T/runs/R", or "/runs/R" for a stateless one.
std::string run_path(const run_record& run, bool stateless);

/// Which events a reader gets: all without modes; `metadata` and `error` always.
class event_filter {
public:
  explicit event_filter(std::vector<std::string> modes = {}) : modes_{std::move(modes)} {}
  bool lets_pass(std::string_view event) const;

private:
  std::vector<std::string> modes_;
};

/// The events of a run as the answer of one request. Events may come before begin(): they are kept
/// until then.
/// Owns:   a reader of the log holds it. It is gone with the log's reading.
class run_events : public std::enable_shared_from_this<run_events> {
public:
  run_events(http_responder to, event_filter filter)
    : to_{std::move(to)},
      filter_{std::move(filter)} {}

  /// Begins the answer, with the run's place in its headers.
  void begin(const run_record& run, bool stateless);
  /// Calls `gone` when the peer leaves. Before begin(), which notices a peer that has left already.
  void when_gone(std::function<void()> gone);
  /// Reads from the log.
  void follow(event_log& log, std::optional<std::uint64_t> after);
  event_reader reader();
  /// Keeps a reading alive as long as this answer.
  void hold(std::shared_ptr<void> reading);

private:
  void take(const run_event& event);
  void end();

  const http_responder to_;
  const event_filter filter_;
  std::mutex mutex_;
  std::optional<event_writer> out_;
  std::vector<run_event> early_;
  bool shows_ids_ = false;
  bool ended_ = false;
  std::function<void()> gone_;
  std::shared_ptr<void> reading_;
};

/// The output of a run as the answer of one request, when the run is over. From begin() on a line
/// feed goes out every limits::server_heartbeat until then; without begin() all goes out at once.
/// Thread: any.
class run_output {
public:
  explicit run_output(http_responder to) : to_{std::move(to)} {}

  void begin(const run_record& run, bool stateless);
  void end(const run_outcome& outcome, bool stateless);

private:
  const http_responder to_;
  std::mutex mutex_;
  bool has_begun_ = false;
};

} // namespace troupe::server
