// The graphs that several sections of workloads run.
#pragma once

#include "bench/harness.hpp"

#include <troupe/runtime.hpp>

#include <cstdint>
#include <string>

namespace troupe::bench {

inline constexpr std::uint32_t steps_unlimited = 1'000'000'000;

/// A thread id no run had before. Units: short enough to need no allocation.
std::string new_thread();

/// For a new thread without a step limit.
run_config new_run(durability d);

/// The input {counter: 0}.
run_input zero();

/// START → a → END or START → a → b → c → END; each adds one to `counter`.
compiled_graph single_step();
compiled_graph chain3(compile_options options = {});

/// One node that adds one to `counter`, again and again until it is `end`.
compiled_graph counter_loop(std::int64_t end);

/// One node that appends a text of 100 characters to `items`, until there are `end`.
compiled_graph append_loop(std::int64_t end);
run_input no_items();
/// Errors: throws wrong_result.
void expect_items(const value& output, std::int64_t end);

/// Invokes from {counter: 0}, each run on a thread of its own; `counter` must end up as `end`.
figure invoke_counter(const sampler& sample, const app<>& graph, durability d, std::int64_t end);

/// How many snapshots a saver holds. Errors: throws error.
std::size_t stored_checkpoints(saver& store);

/// The map of the wide graphs' first message, and of the codec's list.
/// Shape:  `outer` keys, each a map of `inner` keys, each a list of 25 leaves.
value nested_map(int outer, int inner);

} // namespace troupe::bench
