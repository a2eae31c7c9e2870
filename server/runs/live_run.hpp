// live_run: a run that this server has in hand. Only run_service's two sources include this.
#pragma once

#include "server/rules/part_frames.hpp"
#include "server/runs/run_service.hpp"

namespace troupe::server {

struct run_service::live_run {
  explicit live_run(run_record r, std::size_t events_kept_max)
    : run{std::move(r)},
      keeps_events{run.flag("resumable")},
      frames{wire_modes(run.kwargs)},
      log{std::make_shared<event_log>(keeps_events ? events_kept_max : 0)} {}

  run_record run; ///< changes before the engine has the run, and at its end
  const bool keeps_events;
  part_frames frames; ///< used by the one thread that takes the run's parts
  const std::shared_ptr<event_log> log;
  run_control control;
  std::string started_at;
  std::atomic<bool> has_values = false; ///< a state came, not with a question alone
  std::optional<run_stream> stream;
  std::atomic<cancel_action> cancel = cancel_action::none;
  std::uint64_t events = 0; ///< that a resumable run has had, with those of earlier attempts
  bool begun = false;       // under the service's mutex
  std::optional<run_outcome> outcome;                           // under the service's mutex
  std::vector<std::function<void(const run_outcome&)>> waiting; // under the service's mutex
};

} // namespace troupe::server
