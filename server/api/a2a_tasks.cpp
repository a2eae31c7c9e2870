// a2a_tasks: reading runs and the states of their threads.
#include "server/api/a2a_tasks.hpp"

#include "server/protocol/a2a_versions.hpp"
#include "server/rules/checked_body.hpp"
#include "server/rules/ids.hpp"
#include "server/rules/state_forms.hpp"
#include "server/rules/wire_form.hpp"

#include <troupe/uuid.hpp>

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>
#include <vector>

namespace troupe::server {
namespace {

// The id of the message that began a run.
std::string first_message_of(const run_record& run) {
  const auto& messages = run.kwargs["input"]["messages"];
  const auto& id = messages.empty() ? messages : messages[0]["id"];
  return id.is_string() ? std::string{id.as_string()} : std::string{};
}

stored_task with_state(const rooms& with, run_record run) {
  stored_task out{.id = {run.thread_id, run.run_id}, .run = std::move(run)};
  auto graph = with.graphs.find(out.run.graph_id);
  if (!graph)
    return out;
  auto state = graph->get_state({.thread_id = out.id.thread_id});
  out.values = wire_form(state.values);
  out.is_newest = state.metadata["run_id"] == value(out.id.run_id);
  if (out.is_newest)
    out.questions = questions_form(state.interrupts);
  return out;
}

a2a_problem wrong_selection(std::string why) {
  return {a2a_code::wrong_params, std::move(why)};
}

std::size_t number_in(const value& given, std::size_t least, std::size_t most,
                      const std::string& name) {
  if (!given.is_int() || given.as_int() < static_cast<std::int64_t>(least)
      || given.as_int() > static_cast<std::int64_t>(most))
    throw wrong_selection(name + ": not a number from " + std::to_string(least) + " to "
                          + std::to_string(most));
  return static_cast<std::size_t>(given.as_int());
}

std::string text_in(const value& given, const std::string& name) {
  if (!given.is_null() && !given.is_string())
    throw wrong_selection(name + ": not a text");
  return given.is_string() ? std::string{given.as_string()} : std::string{};
}

// A page's token is the number of tasks before it.
std::size_t offset_of(const std::string& token) {
  std::size_t out = 0;
  auto [end, failed] = std::from_chars(token.data(), token.data() + token.size(), out);
  if (failed != std::errc{} || end != token.data() + token.size())
    throw wrong_selection("pageToken: not a token of this server");
  return out;
}

// The runs that a list may have, the last changed first.
std::vector<run_record> runs_of(const rooms& with, const task_selection& selection,
                                const std::function<bool(const std::string&)>& shows) {
  if (selection.thread_id && !read_uuid(*selection.thread_id))
    return {}; // no thread has such an id
  auto found =
    with.documents
      ->search({.kind = document_kind::run,
                .id_prefix = selection.thread_id ? *selection.thread_id + '/' : std::string{},
                .equal = {{"assistant_id", selection.assistant_id}},
                .order_by = "created_at",
                .descending = true,
                .limit = limits::server_a2a_tasks_max})
      .value();
  std::map<std::string, bool> shown;
  std::vector<run_record> out;
  for (const auto& one : found.documents) {
    auto run = run_record::of(one.body);
    auto [known, is_new] = shown.try_emplace(run.thread_id, false);
    if (is_new)
      known->second = shows(run.thread_id);
    if (known->second
        && (!selection.changed_after || micros_of(run.updated_at) >= *selection.changed_after))
      out.push_back(std::move(run));
  }
  std::ranges::stable_sort(out, std::ranges::greater{}, &run_record::updated_at);
  return out;
}

value with_artifact(const value& form, const stored_task& task, std::int64_t now) {
  auto artifact = artifact_form(task.values, new_id(now), task.run.assistant_id);
  return form.with("artifacts", value::list({artifact}));
}

} // namespace

std::optional<stored_task> stored_task_at(const rooms& with, const a2a_task_id& id) {
  auto found = with.documents->get(document_kind::run, id.thread_id + '/' + id.run_id).value();
  return found ? std::optional{with_state(with, run_record::of(found->body))} : std::nullopt;
}

value status_of(const stored_task& task, std::int64_t now) {
  auto state = task.state();
  value parts;
  if (state == "input-required")
    parts = parts_of_questions(task.questions);
  else if (state == "failed")
    parts = text_parts(task.run.error["error"].as<std::string>() + ": "
                       + task.run.error["message"].as<std::string>());
  return status_form(state, time_text(now),
                     parts.is_null() ? value{} : agent_message(parts, new_id(now), task.id, true));
}

value form_of(const stored_task& task, value status, const history_choice& choice) {
  return a2a_task_form(task.id, std::move(status),
                       history_form(task.values, task.id, first_message_of(task.run), choice));
}

value form_at_end(const stored_task& task, const history_choice& choice, std::int64_t now) {
  auto out = form_of(task, status_of(task, now), choice);
  return task.state() == "completed" ? with_artifact(out, task, now) : out;
}

task_selection read_task_selection(const value& params, std::string_view scope) {
  task_selection out{.history = read_history_choice(params["historyLength"], scope)};
  if (auto context = text_in(params["contextId"], "contextId"); !context.empty())
    out.thread_id = read_uuid(context) ? checked_id(context, "thread") : context;
  if (auto state = text_in(params["status"], "status");
      !state.empty() && state != "TASK_STATE_UNSPECIFIED") {
    out.state = a2a_state_of(state);
    if (!out.state)
      throw wrong_selection("status: not a state of tasks: " + state);
  }
  if (auto after = text_in(params["statusTimestampAfter"], "statusTimestampAfter");
      !after.empty()) {
    out.changed_after = parse_time(after);
    if (!out.changed_after)
      throw wrong_selection("statusTimestampAfter: not a time of ISO 8601");
  }
  if (!params["pageSize"].is_null())
    out.most = number_in(params["pageSize"], 1, limits::server_a2a_page_max, "pageSize");
  if (auto token = text_in(params["pageToken"], "pageToken"); !token.empty())
    out.offset = offset_of(token);
  out.with_artifacts = params["includeArtifacts"] == value(true);
  return out;
}

value task_list(const rooms& with, const task_selection& selection,
                const std::function<bool(const std::string&)>& shows) {
  auto runs = runs_of(with, selection, shows);
  std::vector<value> page;
  std::size_t total = 0;
  for (auto& run : runs) {
    auto place = total;
    bool is_on_page = place >= selection.offset && page.size() < selection.most;
    // A state is read only where it counts: a run that succeeded may have asked.
    if (!is_on_page && (!selection.state || run.status != run_status::success)) {
      total += !selection.state || task_state_of(run.status, false) == *selection.state;
      continue;
    }
    auto updated = run.updated_at;
    auto task = with_state(with, std::move(run));
    if (selection.state && task.state() != *selection.state)
      continue;
    ++total;
    if (!is_on_page)
      continue;
    auto form = form_of(task, status_form(task.state(), updated), selection.history);
    if (selection.with_artifacts && task.is_newest && task.state() == "completed")
      form = with_artifact(form, task, with.runs.now());
    page.push_back(std::move(form));
  }
  auto next = selection.offset + page.size();
  auto token = next < total ? std::to_string(next) : std::string{};
  auto size = static_cast<std::int64_t>(page.size());
  return value::map({{"tasks", value::list(std::move(page))},
                     {"totalSize", static_cast<std::int64_t>(total)},
                     {"pageSize", size},
                     {"nextPageToken", token}});
}

} // namespace troupe::server
