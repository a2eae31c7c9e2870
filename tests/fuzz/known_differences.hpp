// Where troupe is known to differ from the specification. What is true here, the interpreter does
// as troupe does, so that the fuzzer finds what is new. Fix troupe, and make it false.
#pragma once

namespace troupe::fuzz::known {

/// The output of a run (and of a graph within another) is what the channels hold at its end; by
/// streaming.md section 4 it is the last `values` event, which a step without output does not make.
inline constexpr bool output_is_the_state_at_the_end = true;

/// Durability exit: a step whose writes are refused leaves a checkpoint with some of them applied;
/// it should be the one before the step, with all of them pending. Not modelled: avoided.
inline constexpr bool exit_stores_half_a_refused_step = false;

/// The first step behind a fork that a replay made has its tasks in the order of the graph, not by
/// name: the loaded list of updated channels is lost (engine.md 8.2). Seen in which of several
/// failures is reported, and in the order of questions.
inline constexpr bool fork_forgets_what_was_updated = true;

/// The goto of a command on a fresh thread is lost; by traces.md T15 it is followed, besides the
/// entry edges. Avoided.
inline constexpr bool fresh_command_goes_nowhere = true;

/// A stored plain answer that nobody took is not offered in a run that begins with a command; by
/// since-1.2.11.md H6 a map of answers leaves it where it is.
inline constexpr bool command_hides_a_stored_answer = true;

/// A plain answer that was taken in a graph within another, or by a task that then went to the
/// parent graph, is offered again, unasked, to the next run without a command (H6; troupe's own
/// rule is "used once"): it is compared with the stored answers of this graph's tasks. Avoided.
inline constexpr bool some_answers_are_used_again = true;

/// A plain answer that no task of the run's first step took answers a question of a later step,
/// also of a run with new input; the reference forgets it with the step (engine.md 8.3: clear
/// pending writes). Avoided.
inline constexpr bool answers_outlive_their_step = true;

/// An update as a node that has finished already: writes at positions that its own have are not
/// stored, so that a delta channel, which is made of them, misses them. Avoided.
inline constexpr bool update_of_a_delta_channel_is_lost = true;

/// Durability exit or async: a breakpoint or the recursion limit before a step of several tasks,
/// behind a step whose only task ran inline, crashes: run_loop::launch_more goes on with the slots
/// of the step that did not open. Avoided.
inline constexpr bool end_behind_an_inline_step_crashes = true;

/// Strict resume also holds at a superseded checkpoint; by since-1.2.11.md B8.2 it does not.
inline constexpr bool strict_at_superseded_checkpoints = true;

} // namespace troupe::fuzz::known
