// Decides what `troupe run` does with a thread, and what it advises after a failure. Pure.
#pragma once

#include "tools/troupe/exit_codes.hpp"

#include <troupe/runtime.hpp>

#include <string>

namespace troupe::cli {

/// How far a thread has come.
enum class thread_stage {
  fresh,      ///< nothing is stored of it
  unfinished, ///< its run was cut off, failed, or stopped at a breakpoint
  waiting,    ///< it waits for an answer
  finished,   ///< nothing is left to run
};

/// Not by `next`: a kill can fall between the last task of a step and its checkpoint.
inline thread_stage stage_of(const state_snapshot& now) {
  if (now.created_at.empty())
    return thread_stage::fresh;
  if (!now.interrupts.empty())
    return thread_stage::waiting;
  return now.tasks.empty() ? thread_stage::finished : thread_stage::unfinished;
}

/// The wishes of the flags.
struct run_wishes {
  bool has_input = false;  ///< --input
  bool has_answer = false; ///< --resume
  bool once = false;       ///< --once: the input is for a fresh thread only
  bool travels = false;    ///< --checkpoint: runs again from there
  bool is_named = true;    ///< --thread; else the thread is a new one
};

enum class run_move {
  begin,         ///< with the input, or with an empty one on a thread that nobody named
  begin_over,    ///< with the input; the thread had not finished what it was at
  resume,        ///< without an input
  answer,        ///< with the answer
  show_question, ///< nothing runs
  show_result,   ///< nothing runs
  refuse_fresh,  ///< there is nothing to resume, and no input to begin with
  refuse_answer, ///< nothing waits for an answer
};

/// A thread is begun only with an input that was given, or under a new name.
constexpr run_move next_move(thread_stage stage, const run_wishes& w) {
  if (w.has_answer) {
    if (stage == thread_stage::fresh)
      return run_move::refuse_fresh;
    return stage == thread_stage::waiting ? run_move::answer : run_move::refuse_answer;
  }
  if (stage == thread_stage::fresh)
    return w.has_input || !w.is_named ? run_move::begin : run_move::refuse_fresh;
  if (w.has_input && !w.once)
    return stage == thread_stage::finished || w.travels ? run_move::begin : run_move::begin_over;
  switch (stage) {
    case thread_stage::waiting: return w.travels ? run_move::resume : run_move::show_question;
    case thread_stage::finished: return run_move::show_result;
    default: return run_move::resume;
  }
}

/// The advice after a failed run.
enum class advice {
  none,
  resume,     ///< the same thread, without an input
  answer,     ///< likewise, with --resume: the question still waits
  same_again, ///< nothing of this run was stored: the same command
};

/// Shape:  `had_input`: this run began with one. `stored`: the thread's newest checkpoint is
///         another one than before this run.
constexpr advice advice_after(errc why, thread_stage after, bool had_input, bool stored) {
  if (why == errc::conflict) // another run has the thread, and resuming would take it away
    return advice::none;
  if (had_input && !stored)
    return exit_code_of(why) == exit_storage || exit_code_of(why) == exit_drained
             ? advice::same_again
             : advice::none;
  switch (after) {
    case thread_stage::waiting: return advice::answer;
    case thread_stage::unfinished: return advice::resume;
    default: return advice::none;
  }
}

/// The exit code of a run of a graph. A value that does not fit is a fault of the graph there:
/// flags and inputs were looked at before.
inline exit_code exit_code_of_run(errc why) noexcept {
  switch (why) {
    case errc::invalid_value:
    case errc::missing_key:
    case errc::invalid_graph:
    case errc::invalid_update: return exit_failed;
    case errc::invalid_resume: return exit_usage;
    default: return exit_code_of(why);
  }
}

/// Whether an error has the details of a model's failure, as model_facts documents them.
inline bool has_model_facts(const error& why) {
  const auto& facts = why.details();
  return facts["status"].is_int() && facts["kind"].is_string() && facts["may_try_again"].is_bool();
}

/// The same of an error that ended a run: a request that a model's provider refuses is not wrong
/// usage.
inline exit_code exit_code_of_run(const error& why) {
  return has_model_facts(why) ? exit_failed : exit_code_of_run(why.code());
}

} // namespace troupe::cli
