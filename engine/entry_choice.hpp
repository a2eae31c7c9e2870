// entry_choice: how a run enters a thread, decided from a few facts. Pure.
// Source: langgraph/pregel/_loop.py, PregelLoop._first.
#pragma once

#include <optional>
#include <string_view>

namespace troupe {

/// The facts that decide.
struct entry_facts {
  bool nested = false;
  bool started = false;    // the loaded state has taken an input before
  bool superseded = false; // the checkpoint was addressed by its id, and is not the newest
  bool addressed = false;  // by its id, or by the time travel of the run above
  bool named = false;      // nested: the caller named this namespace
  bool has_input = false;  // a value or an update, not a command and not nothing
  bool same_run = false;   // the input repeats the run id of the loaded checkpoint
  bool answers = false;    // a command with an answer
  std::optional<bool> told_resuming = std::nullopt; // nested: the decision of the run above
  std::string_view source = {};                     // of the loaded checkpoint
  bool strict_resume = true;                        // run_config::strict_resume
};

struct entry_choice {
  bool resuming = false;   // the thread's next tasks run; else it starts with the input
  bool travelling = false; // back to a checkpoint by its id
  bool replaying = false;  // finished tasks of that checkpoint run again
  bool forks = false;      // the first checkpoint is a copy, the beginning of a new branch
  bool strict = true;      // an answer must match a question
  bool is_branch = false;  // the loaded checkpoint began a branch: an update or a fork
};

/// Errors: none.
constexpr entry_choice choose_entry(const entry_facts& facts) noexcept {
  const auto& told = facts.told_resuming;
  entry_choice out;
  out.resuming = facts.started && (told ? *told : !facts.has_input || facts.same_run);
  bool named = facts.nested && facts.named;
  out.travelling = facts.addressed && (named || !(facts.answers || told.value_or(false)));
  out.replaying = out.travelling || facts.superseded;
  out.strict = facts.strict_resume && !facts.superseded;
  out.is_branch = facts.source == "update" || facts.source == "fork";
  out.forks = out.resuming && out.travelling && (!out.is_branch || facts.superseded);
  return out;
}

} // namespace troupe
