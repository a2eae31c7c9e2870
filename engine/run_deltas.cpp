// A run's records about the delta channels of its graph.
#include "engine/run_deltas.hpp"

#include "graph/names.hpp"

namespace troupe {

void run_deltas::begin(const graph_plan& plan, const thread_state& state, const thread_entry& how) {
  book_.begin(plan, how.saved ? how.saved->metadata : value{}, how.history);
  branch_ = false;
  earlier_.clear();
  if (!active())
    return;
  base_id_ = how.checkpoint_id;
  fresh_ = !how.saved || how.moved_here;
  branch_ = how.superseded || how.moved_here;
  addressed_ = how.addressed;
  at_exit_ = how.at_exit;
  exit_.begin(plan, fresh_ ? std::span<const pending_write>{} : how.saved->pending_writes);
  if (how.saved && !how.reapplies) {
    book_.force(how.saved->pending_writes);
    for (const auto& w : how.saved->pending_writes)
      earlier_.insert(w.task_id);
  }
  if (how.moved_here)
    book_.force_all(state);
}

void run_deltas::command_wrote(std::int64_t step, const task_write_list& writes, bool carried) {
  if (at_exit_ && !carried)
    exit_.collect(step, std::string{names::null_task_id}, std::string{names::command_path}, writes);
  else if (carried || fresh_ || branch_)
    book_.force(writes);
}

void run_deltas::applied(std::int64_t step, const std::string& task_id,
                         const std::string& task_path, const task_write_list& writes) {
  book_.force_overwritten(writes);
  if (branch_ || earlier_.contains(task_id)) // the stored writes of this task differ from these
    book_.force(writes);
  if (at_exit_)
    exit_.collect(step, task_id, task_path, writes);
}

void run_deltas::made(const std::vector<channel_index>* updated) {
  book_.count(updated);
  branch_ = false;
  earlier_.clear();
}

std::vector<task_writes> run_deltas::take_exit_writes(const thread_state& state) {
  if (addressed_)
    exit_.give_up(book_);
  return exit_.take(book_.due(state));
}

std::optional<std::string> run_deltas::stub_id() const {
  return fresh_ ? std::optional{base_id_} : std::nullopt;
}

} // namespace troupe
