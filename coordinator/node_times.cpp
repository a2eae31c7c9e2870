// node_times: durations of tasks, and the choice of a thread.
#include "coordinator/node_times.hpp"

#include <troupe/limits.hpp>

#include <algorithm>

namespace troupe {

namespace {

constexpr std::chrono::microseconds trivial_task{5}; // shorter ones are cheaper in the
                                                     // coordinator's turn than on another thread
constexpr std::chrono::milliseconds brief_task{1};   // a longer one is never long by accident
constexpr std::chrono::microseconds worth_a_try{50}; // a longer mean is due to the body
constexpr std::uint8_t tasks_per_try = 8;

} // namespace

bool is_trivial(std::uint32_t mean_ns) noexcept {
  return mean_ns != 0 && std::chrono::nanoseconds{mean_ns} < trivial_task;
}

std::uint32_t mean_duration(std::uint32_t before, std::chrono::nanoseconds took) noexcept {
  auto ns = static_cast<std::uint32_t>(
    std::clamp<std::int64_t>(took.count(), 1, std::int64_t{4'000'000'000}));
  return std::max<std::uint32_t>(before == 0 ? ns : before - before / 8 + ns / 8, 1);
}

void node_times::add(node_index node, std::chrono::nanoseconds took) {
  auto& times = nodes_[node];
  if (took < brief_task) {
    took = std::max(took, std::chrono::nanoseconds{1});
    std::chrono::nanoseconds last{times.last_ns.load(std::memory_order_relaxed)};
    times.last_ns.store(static_cast<std::uint32_t>(took.count()), std::memory_order_relaxed);
    if (last.count() == 0)
      return;
    took = std::min(took, last);
  }
  auto before = times.mean_ns.load(std::memory_order_relaxed);
  times.mean_ns.store(mean_duration(before, took), std::memory_order_relaxed);
}

void node_times::add_here(node_index node, std::chrono::nanoseconds took) {
  if (took < trivial_task && !trivial(node))
    nodes_[node].mean_ns.store(mean_duration(0, took), std::memory_order_relaxed);
  add(node, took);
}

bool node_times::runs_here(node_index node) {
  if (trivial(node))
    return true;
  auto& elsewhere = nodes_[node].elsewhere;
  auto count = elsewhere.load(std::memory_order_relaxed);
  if (count < tasks_per_try) {
    elsewhere.store(count + 1, std::memory_order_relaxed);
    return false;
  }
  elsewhere.store(0, std::memory_order_relaxed);
  return below(node, worth_a_try);
}

bool node_times::trivial(node_index node) const {
  return below(node, trivial_task);
}

bool node_times::below(node_index node, std::chrono::nanoseconds bound) const {
  auto mean = nodes_[node].mean_ns.load(std::memory_order_relaxed);
  return mean != 0 && std::chrono::nanoseconds{mean} < bound;
}

bool node_times::report_slow(node_index node, std::chrono::nanoseconds took) {
  return took > limits::slow_body && !nodes_[node].reported.exchange(true);
}

} // namespace troupe
