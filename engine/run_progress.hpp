// run_progress: what a run knows of its thread and of itself; a run begins with an empty one.
#pragma once

#include "engine/entry_choice.hpp"
#include "engine/stored_writes.hpp"
#include "tasks/nested.hpp"

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

/// Where in its thread a run stands.
struct thread_position {
  std::string checkpoint_id = {}; // the current one, saved or not
  std::string saved_id = {};      // the last one that was handed to the saver, or loaded
  std::string parent_id = {};     // of the current one
  std::string source = {};        // of the loaded checkpoint
  value metadata = {};
  std::int64_t step = -1;  // of the checkpoint that the open step makes
  std::int64_t stop = 0;   // the step at which the recursion limit ends the run
  bool moved_here = false; // the loaded checkpoint is of another namespace
  bool made_here = false;  // the current checkpoint is this run's, not loaded
  std::optional<std::vector<channel_index>> updated = std::nullopt; // by the last step
};

/// The inputs that a run has taken, and the outcome it ends with.
struct run_progress {
  // entry
  entry_choice entry = {};
  stored_writes pending = {}; // of the checkpoint the run began from, until the first step ended
  task_write_list first_gotos =
    {}; // of a command on a fresh thread: followed beside the entry edges
  std::vector<std::string> input_order = {}; // the keys of the input, when it has an order
  bool answer_given = false; // the plain answer may be taken, and that it was is not stored yet
  bool entered = false;      // the run got as far as its first step
  bool first_step = true;

  // steps
  std::map<channel_index, std::chrono::nanoseconds> waiting_since = {};  // joins with a time-out
  std::optional<std::vector<channel_index>> exit_updated = std::nullopt; // durability exit: of the
                                                                         // checkpoint not saved yet

  // the end
  /// The output is what was shown last. It is kept only where channels lose their value without a
  /// write; elsewhere it is read from the state at the end.
  std::optional<std::pair<value, state_update>> last_shown = std::nullopt;
  bool forgets_output = false; // such channels are shown
  bool values_shown = false;
  bool rests = false; // what is saved from now on puts the thread to rest
  std::vector<interrupt> questions = {};
  std::vector<std::string> next = {};
  std::string drained = {};
  bool stopped = false; // the run pauses
  std::optional<result<run_result>> outcome = std::nullopt;
  std::optional<command> upward = std::nullopt; // of the outcome: for a graph further out
};

} // namespace troupe
