// records: assistants, threads, runs and crons as the server stores them, and as clients see them.
// Pure.
//
// The body of a document is the JSON that clients see, and one more member, `server`, which only
// the server reads. public_form() leaves it out.
#pragma once

#include <troupe/error.hpp>
#include <troupe/value.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::server {

/// A document body as clients see it.
value public_form(const value& body);

/// Members of `body` that `select` names; all without names.
value selected(const value& body, const std::vector<std::string>& select);

/// An assistant: a graph with defaults for its runs.
/// Shape:  `config`: {tags, recursion_limit, configurable, …}; `created_at`: timestamp_text.
struct assistant_record {
  std::string assistant_id = {};
  std::string graph_id = {};
  std::int64_t version = 1;
  std::string name = {};
  value description = {};
  value config = value::map();
  value context = value::map();
  value metadata = value::map();
  std::string created_at = {};
  std::string updated_at = {};

  value body() const;
  static assistant_record of(const value& body);
};

/// The id of a graph's default assistant.
/// Source: langgraph_api, uuid5(6ba7b821-9dad-11d1-80b4-00c04fd430c8, graph_id).
std::string default_assistant_id(std::string_view graph_id);

enum class thread_status : std::uint8_t { idle, busy, interrupted, error };
std::string_view to_string(thread_status s) noexcept;
std::optional<thread_status> parse_thread_status(std::string_view name) noexcept;

/// A thread. Its values are in the saver; clients see those of the newest checkpoint.
/// Shape:  `inflight`: the pending and running runs, in the order in which they run. `running`: one
///         of them, or empty. `ttl_minutes`: the life of the thread since its last change.
struct thread_record {
  std::string thread_id = {};
  std::string created_at = {};
  std::string updated_at = {};
  std::string state_updated_at = {};
  value metadata = value::map();
  thread_status status = thread_status::idle;
  value config = value::map();
  value error = {};
  std::optional<double> ttl_minutes = std::nullopt;
  std::string ttl_strategy = "delete";
  // -- read by the server alone
  bool had_runs = false; ///< or updates: it has a state
  bool is_copy = false;
  std::string pruned_as_of = {}; ///< its `updated_at` when its checkpoints were pruned
  std::vector<std::string> inflight = {};
  std::string running = {};

  value body() const;
  static thread_record of(const value& body);
};

enum class run_status : std::uint8_t { pending, running, success, error, timeout, interrupted };
std::string_view to_string(run_status s) noexcept;
std::optional<run_status> parse_run_status(std::string_view name) noexcept;
bool is_over(run_status s) noexcept;

/// How a run is to be ended.
enum class cancel_action : std::uint8_t { none, interrupt, rollback };
std::string_view to_string(cancel_action a) noexcept;
std::optional<cancel_action> parse_cancel_action(std::string_view name) noexcept; ///< not none

/// A run.
/// Shape:  `kwargs`: what it was asked for (input, command, config, context, stream_mode, …).
struct run_record {
  std::string run_id = {};
  std::string thread_id = {};
  std::string assistant_id = {};
  std::string created_at = {};
  std::string updated_at = {};
  run_status status = run_status::pending;
  value metadata = value::map();
  value kwargs = value::map();
  std::string multitask_strategy = "enqueue";
  // -- read by the server alone
  std::string graph_id = {};
  std::string owner = {};                     ///< the server that runs it
  std::int64_t attempt = 0;                   ///< how often it began, without clean stops
  std::int64_t left = 0;                      ///< how often a server that stopped left it
  cancel_action cancel = cancel_action::none; ///< asked for while it runs
  std::int64_t begun_at = 0;                  ///< microseconds since 1970, of its first attempt
  std::int64_t thread_created_at = 0;         ///< likewise; 0: not known. An id may come again
  bool followed = false;                      ///< a reader is on another server than the run
  value error = {};                           ///< {error, message}, when it failed
  value output = {};                          ///< of a stateless run that is over and was followed

  std::string document_id() const { return thread_id + '/' + run_id; }
  bool began_before() const noexcept { return attempt + left > 1; }
  bool flag(std::string_view kwarg) const {
    return kwargs[kwarg].is_bool() && kwargs[kwarg].as_bool();
  }
  value body() const;
  static run_record of(const value& body);
};

/// A run that is started by the clock.
struct cron_record {
  std::string cron_id = {};
  std::string assistant_id = {};
  value thread_id = {}; ///< null: each run has a thread of its own
  std::string schedule = {};
  value timezone = {};
  value end_time = {};
  bool enabled = true;
  value payload = value::map(); ///< the body of the runs
  value metadata = value::map();
  value on_run_completed = "delete"; ///< or "keep"; null for a cron of a thread
  value next_run_date = {};
  std::string created_at = {};
  std::string updated_at = {};

  value body() const;
  static cron_record of(const value& body);
};

} // namespace troupe::server
