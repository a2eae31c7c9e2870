// Durability exit: the writes of all steps of a run to delta channels, until the one checkpoint it
// stores at its end. Pure.
#pragma once

#include "graph/task_write.hpp"

#include <troupe/saver.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe {

/// The id under which a write of the run's first super-step, or of the null task, is stored: the
/// task's with the step in front. It is not the task's own, which would count as finished.
/// Shape:  `task_id` is a UUID text; so is the result, but for a step below 0 or above 8 digits.
/// Units:  `step` in super-steps, from -1: of the checkpoint the step makes.
/// Source: the reference's behaviour (tests/conformance).
std::string exit_task_id(std::int64_t step, std::string_view task_id);
/// The id and path of later super-steps: they sort behind all others, by step.
std::string late_task_id(std::int64_t step, std::string_view task_id);
std::string late_task_path(std::int64_t step, std::string_view task_path);

/// Order:  what take() gives sorts by path and id as the steps ran.
class exit_writes {
public:
  /// A run begins. `stored`: the writes of the checkpoint it starts from, which are there already.
  void begin(const graph_plan& plan, std::span<const pending_write> stored);

  /// What a task of a super-step wrote; the null task has its id and no path.
  void collect(std::int64_t step, const std::string& task_id, const std::string& task_path,
               const task_write_list& writes);

  /// A super-step was applied: the first one is over.
  void end_step() noexcept { first_ = false; }

  bool empty() const noexcept { return kept_.empty(); }

  /// Forces the value of everything that was collected to be stored, for a run that started at a
  /// checkpoint with other children: nothing is left to take.
  template <class Book> void give_up(Book& book) {
    for (const auto& task : kept_)
      book.force(task.writes);
    kept_.clear();
  }

  /// What is to be stored with the parent of the checkpoint that holds the values of `stored`: all
  /// writes to other channels. Nothing is kept.
  std::vector<task_writes> take(const std::vector<channel_index>& stored);

private:
  struct kept_task {
    std::string id;
    std::string path;
    task_write_list writes;
  };

  bool is_stored(const std::string& task_id, channel_index channel) const;

  const graph_plan* plan_ = nullptr;
  std::vector<std::pair<std::string, channel_index>> stored_; // of real tasks, sorted
  std::vector<kept_task> kept_;
  bool first_ = true;
};

} // namespace troupe
