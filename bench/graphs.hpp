// graphs: the graphs that several sections of workloads run.
#pragma once

#include "bench/harness.hpp"

#include <troupe/runtime.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace troupe::bench {

inline constexpr std::uint32_t steps_unlimited = 1'000'000'000;

/// A new thread id. Units: short enough to need no allocation.
std::string new_thread();

/// A configuration for a new thread, without a step limit.
run_config new_run(durability d);

/// The input {counter: 0}.
run_input zero();

/// START → a → END or START → a → b → c → END; each adds one to `counter`.
compiled_graph single_step();
compiled_graph chain3(compile_options options = {});

/// One node that adds one to `counter`, repeated until `counter` is `end`.
compiled_graph counter_loop(std::int64_t end);

/// One node that appends a text of 100 characters to `items`, until there are `end` of them.
compiled_graph append_loop(std::int64_t end);
run_input no_items();
/// Checks the items of a run.
/// Errors: throws wrong_result.
void expect_items(const value& output, std::int64_t end);

/// Times runs from {counter: 0}, each on its own thread. At the end `counter` must be `end`.
figure invoke_counter(const sampler& sample, const app<>& graph, durability d, std::int64_t end);

/// Notes the final state of a run, or what stands for it.
void note_result(const value& state);

/// The options of a runtime that times workloads: with the scheduler's threads of --threads.
runtime_options with_saver(std::shared_ptr<saver> store = nullptr);
/// Sets the number of scheduler threads of with_saver(). Units: 0 is as many as cores.
void use_threads(std::size_t count);

/// The number of checkpoints in a saver. Errors: throws error.
std::size_t stored_checkpoints(saver& store);

/// The map of the wide graphs' first message, and of the codec's list.
/// Shape:  `outer` keys, each a map of `inner` keys, each a list of 25 leaves.
value nested_map(int outer, int inner);

} // namespace troupe::bench
