// stored_writes: what the stored writes of a checkpoint say about its tasks. The one reading for
// execution, state, history, updates and the checkpoints stream. Pure.
// Source: the reference's behaviour (tests/conformance).
#pragma once

#include "graph/task_write.hpp"

#include <troupe/saver.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe {

class name_places;    // engine/name_places.hpp
struct numbered_task; // persistence/checkpoint_page.hpp

/// The meaning of a write for its task.
enum class write_kind : std::uint8_t { output, error, questions, answers, handed_over };
/// By the channel of the write.
write_kind kind_of_write(std::string_view channel) noexcept;

/// One task as its stored writes show it.
struct task_record {
  task_write_list output;           // in stored order; empty: the task is not finished
  std::vector<value> answers;       // to its questions so far
  std::vector<interrupt> questions; // the latest ones, answered or not
  value error;                      // the first error, or null
  bool handed_over = false;         // it failed, and its node's error handler took over

  bool finished() const noexcept { return !output.empty(); }
  void clear() {
    output.clear();
    answers.clear();
    questions.clear();
    error = {};
    handed_over = false;
  }
  /// Questions that still wait for an answer.
  std::vector<interrupt> waiting() const {
    return finished() ? std::vector<interrupt>{} : questions;
  }
};

struct stored_writes {
  named<task_record> tasks;    // by task id
  task_write_list outside;     // the null task's, without answers
  std::optional<value> answer; // the null task's plain answer, unless a task took it

  void clear() {
    tasks.clear();
    outside.clear();
    answer.reset();
  }
  const task_record* find(std::string_view task_id) const;
  /// The questions of all waiting tasks, each once, in the order of their tasks' ids.
  std::vector<interrupt> waiting() const;
};

stored_writes read_stored(const graph_plan& plan, const std::vector<pending_write>& writes);
/// The same of writes with numbers for names, in the place of other writes.
void read_stored(std::span<const numbered_task> tasks, const name_places& places,
                 stored_writes& out);

/// A stored write in the form that this graph uses.
task_write restore_write(const graph_plan& plan, const std::string& channel, value v);

/// A task's writes in the form that a saver takes.
std::vector<std::pair<std::string, value>> store_writes(const graph_plan& plan,
                                                        const task_write_list& writes);
/// The same in the place of older writes.
void store_writes(const graph_plan& plan, const task_write_list& writes,
                  std::vector<std::pair<std::string, value>>& out);

/// Whether a resume value is a map of answers: a map whose keys are all interrupt ids.
bool is_answer_map(const value& resume);

/// The answer in such a map for a task that holds `answers` answers already.
std::optional<value> find_answer(const value& map, std::string_view task_ns, std::size_t answers);

} // namespace troupe
