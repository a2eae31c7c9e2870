// state_forms: snapshots of threads as clients read them. Pure.
#pragma once

#include <troupe/runtime.hpp>
#include <troupe/saver.hpp>

#include <string>
#include <vector>

namespace troupe::server {

/// The JSON of a ThreadState. `thread_id`: of its checkpoints.
/// Shape:  {values, next, tasks, metadata, created_at, checkpoint, parent_checkpoint, interrupts,
///         checkpoint_id, parent_checkpoint_id}. A thread without checkpoints has a null
///         checkpoint.
value state_form(const state_snapshot& state, const std::string& thread_id);

/// {checkpoint_id, thread_id, checkpoint_ns}, and for a nested graph `checkpoint_map`: the
/// checkpoints around it, by namespace, which are the `parents` of its metadata, and its own.
value checkpoint_form(const checkpoint_ref& at, const value& metadata = {});

/// {task id: [{id, value}, …]} of the tasks that asked. `writes`: those of the checkpoint. They
/// have the questions of tasks that are not in the state, since a command's `goto` began them.
value interrupts_form(const state_snapshot& state, const std::vector<pending_write>& writes = {});
/// [{id, value}, …].
value questions_form(const std::vector<interrupt>& questions);

/// The answer of a run that is awaited: the values, with the questions that it asked. Several
/// questions come alone, as the recorded server sends them.
value output_form(const value& values, const std::vector<interrupt>& questions);

/// The members that `select` names: "values", or "values.KEY" for one of its members.
value selected_state(const value& state, const std::vector<std::string>& select);

} // namespace troupe::server
