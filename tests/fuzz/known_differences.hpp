// Where troupe is known to differ from the specification. What is true here, the interpreter does
// as troupe does, so that the fuzzer finds what is new. Fix troupe, and make it false.
#pragma once

namespace troupe::fuzz::known {

/// The output of a run (and of a graph within another) is what the channels hold at its end; by
/// streaming.md section 4 it is the last `values` event, which a step without output does not make.
inline constexpr bool output_is_the_state_at_the_end = true;

/// Durability exit: a step whose writes are refused leaves a checkpoint with some of them applied;
/// it should be the one before the step, with all of them pending. Not modelled: avoided.
inline constexpr bool exit_stores_half_a_refused_step = true;

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

/// A plain answer that a graph within another took is offered again, unasked, when the run goes on
/// without input (H6; troupe's own rule is "used once"). Avoided.
inline constexpr bool inner_answers_are_used_again = true;

/// A plain answer that no task of the run's first step took answers a question of a later step; the
/// reference forgets it with the step (engine.md 8.3: clear pending writes).
inline constexpr bool answers_outlive_their_step = true;

} // namespace troupe::fuzz::known
