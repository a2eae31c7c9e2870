// exit_writes, for durability exit: collects the writes to delta channels of all steps, until the
// run stores its one checkpoint at its end. Pure.
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

/// The id under which a write of the run's first super-step, or of the null task, is stored. It is
/// the task's id with the step in front. The task's own id would make the task count as finished.
/// Shape:  `task_id` is a UUID text; so is the result, except for a step below 0 or above 8 digits.
/// Units:  `step` in super-steps, from -1: of the checkpoint that the step makes.
/// Source: the reference's behaviour (tests/conformance).
std::string exit_task_id(std::int64_t step, std::string_view task_id);
/// The id and path of writes of later super-steps: they sort after all others, by step.
std::string late_task_id(std::int64_t step, std::string_view task_id);
std::string late_task_path(std::int64_t step, std::string_view task_path);

/// Order:  the result of take() sorts by path and id in the order in which the steps ran.
class exit_writes {
public:
  /// A run begins. `stored`: the writes that the checkpoint it starts from has already.
  void begin(const graph_plan& plan, std::span<const pending_write> stored);

  /// Collects the writes of a task of a super-step; the null task has its id and an empty path.
  void collect(std::int64_t step, const std::string& task_id, const std::string& task_path,
               const task_write_list& writes);

  /// A super-step was applied: the first one is over.
  void end_step() noexcept { first_ = false; }

  bool empty() const noexcept { return kept_.empty(); }

  /// Forces the values of all collected channels to be stored, for a run that started at a
  /// checkpoint with other children. Afterwards take() has nothing.
  template <class Book> void give_up(Book& book) {
    for (const auto& task : kept_)
      book.force(task.writes);
    kept_.clear();
  }

  /// The writes to store with the parent of the checkpoint that holds the values of `stored`: those
  /// to all other channels. Empties the collection.
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
