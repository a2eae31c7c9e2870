// run_deltas: a run's records about the delta channels of its graph. Pure.
//
// Invariants:
//  - For a graph without delta channels nothing is kept: callers check active() and skip the rest.
//  - Between the entry and the first checkpoint that the run makes, writes belong to a checkpoint
//    that may have other children. Then they are marked as a branch's own, and the values are
//    stored.
// Source: langgraph/pregel/_loop.py.
#pragma once

#include "engine/delta_book.hpp"
#include "engine/exit_writes.hpp"

#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace troupe {

/// How a run enters a thread.
struct thread_entry {
  std::string_view checkpoint_id = {}; // the checkpoint it starts from; need not exist
  const std::optional<checkpoint_tuple>& saved;
  bool reapplies = false;  // the finished tasks of that checkpoint are not run again
  bool superseded = false; // that checkpoint has a child
  bool moved_here = false; // it was loaded from another namespace
  bool addressed = false;  // it was addressed by its id
  bool at_exit = false;    // one checkpoint is stored, at the run's end
  store_history history = store_history::all;
};

class run_deltas {
public:
  /// A run enters a thread, which is loaded. `plan` must outlive the run.
  void begin(const graph_plan& plan, const thread_state& state, const thread_entry& how);

  bool active() const noexcept { return book_.active(); }

  /// A command made these writes. `carried`: they are taken into a fork and are stored nowhere
  /// else.
  void command_wrote(std::int64_t step, const task_write_list& writes, bool carried);

  /// Makes a task's path the one under which its writes are stored.
  void mark(std::string& task_path) const {
    if (branch_)
      task_path = branch_path(task_path);
  }

  /// A task's writes were applied; end_step() follows once a step. lost(): stored writes of a task
  /// that does not exist any more.
  void applied(std::int64_t step, const std::string& task_id, const std::string& task_path,
               const task_write_list& writes);
  void lost(const task_write_list& writes) { book_.force(writes); }
  void end_step() noexcept { exit_.end_step(); }

  /// A checkpoint was made, stored or not.
  void made(const std::vector<channel_index>* updated);

  /// The channels whose value the next stored checkpoint holds; counts them as stored.
  std::vector<channel_index> settle(thread_state& state) { return book_.settle(state); }
  bool needs_no_past() const noexcept { return book_.needs_no_past(); }
  value counted(value metadata) const { return book_.counted(std::move(metadata)); }

  /// Durability exit: the writes to store with the parent of the one checkpoint.
  std::vector<task_writes> take_exit_writes(const thread_state& state);
  /// The id of the checkpoint to store first when that parent does not exist.
  std::optional<std::string> stub_id() const;

private:
  delta_book book_;
  exit_writes exit_;
  std::string base_id_;
  std::set<std::string, std::less<>> earlier_; // tasks that run again although they have stored
                                               // writes
  bool fresh_ = false;
  bool branch_ = false;
  bool addressed_ = false;
  bool at_exit_ = false;
};

} // namespace troupe
