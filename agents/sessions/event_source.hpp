// event_source: one invocation in progress: the run of a thread, with its parts as events.
//
// Invariants:
//  - nothing is read or run before the first event is asked for.
//  - the last event of each invocation is question, paused, finished or failed; after `failed` an
//    error follows, once.
//  - an invocation is in running_invocations from before it reads the thread until its reader has
//    got the end, or left.
#pragma once

#include "agents/sessions/agent_events.hpp"

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <variant>

namespace troupe {

/// The running invocations of a runner, by thread. Any thread.
class running_invocations {
public:
  /// Adds an invocation. Result: whether another one of its thread is running.
  bool enter(const std::string& thread_id, const void* who, const run_control& control);
  void leave(const std::string& thread_id, const void* who);
  std::size_t cancel(const std::string& thread_id);

private:
  std::mutex mutex_;
  std::multimap<std::string, std::pair<const void*, run_control>, std::less<>> running_;
};

/// The data that copies of a runner share.
class runner_core {
public:
  runner_core(runtime& rt, session_agent_ptr agent, agent_runner_options options);

  run_config config(const std::string& thread_id, const session_ref& session,
                    const std::string& invocation_id, const value& context) const;
  /// The invocation of a session's newest checkpoint; empty when that names none.
  static std::string invocation_of(const state_snapshot& now);

  session_agent_ptr agent;
  agent_runner_options options;
  std::string mark; // of said_part()
  std::shared_ptr<troupe::saver> saver;
  app<> graph;
  mutable running_invocations running;
};

/// The input with which an invocation begins or resumes.
struct new_message {
  value message;
};
struct new_answers {
  value answers;
};
struct go_on {};
using invocation_input = std::variant<new_message, new_answers, go_on>;

class event_source {
public:
  event_source(std::shared_ptr<const runner_core> core, session_ref session, invocation_input input,
               invocation_options with)
    : core_{std::move(core)},
      session_{std::move(session)},
      input_{std::move(input)},
      with_{std::move(with)},
      reader_{core_->agent->name(), core_->mark} {}
  event_source(const event_source&) = delete;
  event_source& operator=(const event_source&) = delete;
  ~event_source() { leave(); }

  result<std::optional<agent_event>> next();

private:
  void begin();
  run_input make_input(const state_snapshot& now, bool busy);
  void read_part();
  void fail(error why);
  void add(std::vector<agent_event> events);
  void leave();

  std::shared_ptr<const runner_core> core_;
  session_ref session_;
  invocation_input input_;
  invocation_options with_;
  event_reader reader_;
  run_control control_;
  std::string thread_id_; // set when it begins
  std::string run_;       // the beginning of its events' ids
  std::string invocation_id_;
  std::size_t told_ = 0;
  std::optional<part_stream> parts_;
  std::deque<agent_event> events_;
  std::optional<error> failure_; // not reported yet
  bool begun_ = false;
  bool ended_ = false;
};

} // namespace troupe
