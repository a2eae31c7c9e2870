// Where troupe is known to differ from the specification. In a run of the fuzzer the interpreter
// does there what troupe does, or gives no answer, so that what is found is new.
#pragma once

#include <string>
#include <vector>

namespace troupe::fuzz {

/// True: the interpreter follows troupe. Fix troupe, and take the member away.
struct known_differences {
  /// The output of a run (and of a graph within another) is what the channels hold at its end; by
  /// streaming.md section 4 it is the last `values` event, which a step without output does not
  /// make.
  bool output_is_the_state_at_the_end = true;

  /// The first step behind a fork that a replay made has its tasks in the order of the graph, not
  /// by name: the loaded list of updated channels is lost (engine.md 8.2). Seen in which of several
  /// failures is reported, and in the order of questions.
  bool fork_forgets_what_was_updated = true;

  /// The goto of a command on a fresh thread is lost; by traces.md T15 it is followed, besides the
  /// entry edges. Avoided.
  bool fresh_command_goes_nowhere = true;

  /// A plain answer that was taken in a graph within another, or by a task that then went to the
  /// parent graph, is offered again, unasked, to the next run without a command (H6; troupe's own
  /// rule is "used once"): it is compared with the stored answers of this graph's tasks. Avoided.
  bool some_answers_are_used_again = true;

  /// A plain answer that no task of the run's first step took answers a question of a later step,
  /// also of a run with new input; the reference forgets it with the step (engine.md 8.3: clear
  /// pending writes). Avoided.
  bool answers_outlive_their_step = true;

  /// A task that ran before at the same checkpoint, or an update as a node that has finished there:
  /// writes at positions that the first ones have are not stored, so that a delta channel, which is
  /// made of them, misses what the output shows. By design.md H3 and H4 each write belongs to the
  /// checkpoint that consumed it. Avoided.
  bool second_delta_writes_are_lost = true;

  /// Durability exit or async: a breakpoint or the recursion limit before a step of several tasks,
  /// behind a step whose only task ran inline, crashes. Avoided.
  bool end_behind_an_inline_step_crashes = true;

  /// Strict resume also holds at a superseded checkpoint; by since-1.2.11.md B8.2 it does not.
  bool strict_at_superseded_checkpoints = true;
};

/// The names of the members.
std::vector<std::string> names_of_known_differences();

/// The interpreter follows the specification in `name`; false when there is no such difference.
bool follow_specification(known_differences& known, const std::string& name);

} // namespace troupe::fuzz
