// a2a_tasks: stored runs as tasks of A2A, alone and in lists.
#pragma once

#include "server/api/rooms.hpp"
#include "server/protocol/a2a_forms.hpp"
#include "server/rules/records.hpp"

#include <troupe/server/limits.hpp>
#include <troupe/value.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace troupe::server {

/// A run as it is stored.
/// Shape:  `values`: of its thread, which may have gone on; `questions`: null unless the thread has
///         not. `is_newest`: it has not.
struct stored_task {
  a2a_task_id id;
  run_record run;
  value values = value::map();
  value questions = value::list();
  bool is_newest = false;

  std::string_view state() const { return task_state_of(run.status, !questions.empty()); }
};

/// Shape:  nullopt for a run that was removed.
/// Blocks: reads the run and its thread.
std::optional<stored_task> stored_task_at(const rooms& with, const a2a_task_id& id);

/// The status of a task, with the reason of its state where there is one.
/// Shape:  `now`: microseconds since 1970.
value status_of(const stored_task& task, std::int64_t now);
/// The form of a task of 0.3.
value form_of(const stored_task& task, value status, const history_choice& choice);
/// The same, with its status and its artifacts.
value form_at_end(const stored_task& task, const history_choice& choice, std::int64_t now);

/// The choice of a list of tasks.
/// Shape:  `thread_id`: of one context. `changed_after`: microseconds since 1970. `offset` and
///         `most`: a page of the newest limits::server_a2a_tasks_max tasks.
struct task_selection {
  std::string assistant_id = {};
  std::optional<std::string> thread_id = std::nullopt;
  std::optional<std::string_view> state = std::nullopt;
  std::optional<std::int64_t> changed_after = std::nullopt;
  std::size_t offset = 0;
  std::size_t most = 50;
  history_choice history = {};
  bool with_artifacts = false;
};

/// Errors: throws a2a_problem{wrong_params}, which names the parameter.
/// Source: a2a-protocol.org, 1.0, ListTasksRequest.
task_selection read_task_selection(const value& params, std::string_view scope);

/// Shape:  {tasks, totalSize, pageSize, nextPageToken}; the tasks are forms of 0.3.
/// Order:  the last changed first.
/// Blocks: reads runs and threads. `shows`: whether the caller may see a thread.
value task_list(const rooms& with, const task_selection& selection,
                const std::function<bool(const std::string& thread_id)>& shows);

} // namespace troupe::server
