// thread_states: states and histories of threads, and updates from outside.
#include "server/api/rooms.hpp"
#include "server/rules/ids.hpp"
#include "server/rules/run_request.hpp"
#include "server/rules/state_forms.hpp"
#include "server/runs/document_changes.hpp"

namespace troupe::server {

namespace {

std::string text_or_empty(const value& v) {
  return v.is_string() ? std::string{v.as_string()} : std::string{};
}

// The checkpoint that a body names, by `checkpoint` or `checkpoint_id`.
run_config place_of(const thread_record& thread, const checked_body& body) {
  checked_body checkpoint{body.map("checkpoint")};
  run_config out{.thread_id = thread.thread_id,
                 .checkpoint_id = checkpoint.text("checkpoint_id").value_or(""),
                 .checkpoint_ns = checkpoint.text("checkpoint_ns").value_or("")};
  if (auto id = body.text("checkpoint_id"))
    out.checkpoint_id = *id;
  if (auto other = checkpoint.text("thread_id").value_or("");
      !other.empty() && other != thread.thread_id)
    throw refusal{422, "checkpoint.thread_id: the checkpoint is of another thread"};
  return out;
}

value state_at(const rooms& with, const thread_record& thread, const run_config& place,
               bool subgraphs) {
  auto graph = graph_of_state(with, thread);
  state_snapshot state;
  state.values = value::map();
  if (graph)
    state = graph->get_state(place, subgraphs);
  state.config.checkpoint_id = state.created_at.empty() ? place.checkpoint_id
                                                        : state.config.checkpoint_id;
  return state_form(state, thread.thread_id);
}

http_whole get_state(const rooms& with, const api_call& call) {
  auto thread = thread_at(with, call.parameters[0]).thread;
  run_config place{.thread_id = thread.thread_id};
  if (call.parameters.size() > 1)
    place.checkpoint_id = call.parameters[1];
  auto form = state_at(with, thread, place, call.query.flag("subgraphs", false));
  if (!place.checkpoint_id.empty()) // as the reference answers this path
    form = form.with("checkpoint", form["checkpoint"].without("checkpoint_ns"));
  return json_answer(form);
}

http_whole post_state_at_checkpoint(const rooms& with, const api_call& call) {
  auto thread = thread_at(with, call.parameters[0]).thread;
  checked_body body{json_body(call.request)};
  const auto& subgraphs = body["subgraphs"]; // JS sends "true"
  auto open = subgraphs == value(true) || subgraphs == value("true");
  return json_answer(
    selected_state(state_at(with, thread, place_of(thread, body), open), body.texts("select")));
}

app<> graph_for_update(const rooms& with, const thread_record& thread) {
  if (auto graph = graph_of_state(with, thread))
    return *graph;
  throw refusal{400,
                "Thread '" + thread.thread_id
                  + "' has no assigned graph ID. This usually occurs when no runs have been made "
                    "on this particular thread. This operation requires a graph ID."};
}

optional_update update_values(const checked_body& body) {
  const auto& values = body["values"];
  if (values.is_null())
    return std::nullopt;
  if (!values.is_map())
    throw refusal{400, "Expected dict, got " + to_json(values)};
  return update_of(values, "values");
}

void check_at_rest(const thread_record& thread) {
  if (!thread.inflight.empty())
    throw refusal{409, "Thread is busy: it has pending or running runs"};
}

// Updates at the same time come one after the other.
checkpoint_ref update_thread_state(const rooms& with, const app<>& graph, const run_config& place,
                                   const optional_update& values, const std::string& as_node) {
  try {
    return without_conflict([&] {
      check_at_rest(thread_at(with, place.thread_id).thread);
      return graph.update_state(place, values, as_node);
    });
  } catch (const error& why) {
    if (why.code() == errc::invalid_update || why.code() == errc::invalid_value)
      throw refusal{400, why.text()};
    throw;
  }
}

http_whole update_state(const rooms& with, const api_call& call) {
  checked_body body{json_body(call.request)};
  auto found = thread_at(with, call.parameters[0]);
  auto& thread = found.thread;
  check_at_rest(thread);
  auto graph = graph_for_update(with, thread);
  auto place = place_of(thread, body);
  place.metadata =
    value::map({{"graph_id", thread.metadata["graph_id"]}, {"thread_id", thread.thread_id}});
  place.whole_metadata = true;
  if (!place.checkpoint_id.empty())
    place.metadata = place.metadata.with("checkpoint_id", place.checkpoint_id);
  // Else a state of its own would begin: the checkpoint is unknown, or of another thread.
  if (!place.checkpoint_id.empty() && graph.get_state(place).created_at.empty())
    throw refusal{404,
                  "Checkpoint " + place.checkpoint_id + " not found on thread " + thread.thread_id};
  auto as_node = body.text("as_node").value_or("");
  auto at = update_thread_state(with, graph, place, update_values(body), as_node);
  at.thread_id = thread.thread_id;
  for (;;) {
    auto state = graph.get_state({.thread_id = thread.thread_id});
    thread.had_runs = true;
    if (thread.inflight.empty())
      thread.status = state.next.empty() ? thread_status::idle : thread_status::interrupted;
    thread.error = {};
    thread.updated_at = thread.state_updated_at = time_text(with.runs.now());
    auto stored = with.documents->commit_and_wait(
      {{document_kind::thread, thread.thread_id, thread.body(), found.revision}});
    if (!stored && stored.error().code() != errc::conflict)
      throw stored.error();
    if (stored)
      break;
    found = thread_at(with, thread.thread_id);
  }
  auto made = checkpoint_form(at, graph
                                    .get_state({.thread_id = at.thread_id,
                                                .checkpoint_id = at.checkpoint_id,
                                                .checkpoint_ns = at.checkpoint_ns})
                                    .metadata);
  return json_answer(value::map(
    {{"checkpoint", made}, {"configurable", made}, {"checkpoint_id", at.checkpoint_id}}));
}

// A checkpoint id as a text, {checkpoint_id} or {configurable: {checkpoint_id}}.
std::optional<std::string> before_of(const value& given) {
  if (given.is_null())
    return std::nullopt;
  auto id = text_or_empty(given);
  if (id.empty())
    id = text_or_empty(given["checkpoint_id"]);
  if (id.empty())
    id = text_or_empty(given["configurable"]["checkpoint_id"]);
  if (id.empty())
    throw refusal{422, "before: " + to_json(given) + " names no checkpoint"};
  return id;
}

http_whole history_of(const rooms& with, const thread_record& thread, const run_config& place,
                      const history_options& options, const std::vector<std::string>& select) {
  std::vector<value> out;
  if (auto graph = graph_of_state(with, thread))
    for (const auto& state : graph->get_state_history(place, options))
      out.push_back(selected_state(state_form(state, thread.thread_id), select));
  return json_answer(value::list(std::move(out)));
}

http_whole post_history(const rooms& with, const api_call& call) {
  auto thread = thread_at(with, call.parameters[0]).thread;
  checked_body body{json_body(call.request)};
  return history_of(
    with, thread, place_of(thread, body),
    {.filter = body.map("metadata"), .before = before_of(body["before"]), .limit = limit_in(body)},
    body.texts("select"));
}

http_whole get_history(const rooms& with, const api_call& call) {
  auto thread = thread_at(with, call.parameters[0]).thread;
  return history_of(with, thread, {.thread_id = thread.thread_id},
                    {.before = call.query.text("before"), .limit = limit_in(call.query)}, {});
}

} // namespace

void add_thread_states(router& to, const rooms& with) {
  constexpr std::string_view all = "threads";
  to.add({"GET", "/threads/{thread_id}/state", answering(with, get_state), {all, "read"}});
  to.add({"POST", "/threads/{thread_id}/state", answering(with, update_state), {all, "update"}});
  to.add({"POST",
          "/threads/{thread_id}/state/checkpoint",
          answering(with, post_state_at_checkpoint),
          {all, "read"}});
  to.add({"GET",
          "/threads/{thread_id}/state/{checkpoint_id}",
          answering(with, get_state),
          {all, "read"}});
  to.add({"POST", "/threads/{thread_id}/history", answering(with, post_history), {all, "read"}});
  to.add({"GET", "/threads/{thread_id}/history", answering(with, get_history), {all, "read"}});
}

} // namespace troupe::server
