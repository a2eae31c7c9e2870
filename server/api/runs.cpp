// runs: they are created, streamed, waited for, joined, listed and cancelled.
#include "graph/plain_json.hpp"
#include "server/api/rooms.hpp"
#include "server/api/run_answers.hpp"
#include "server/edge/event_frame.hpp"
#include "server/rules/run_request.hpp"

#include <troupe/uuid.hpp>

#include <algorithm>
#include <array>

namespace troupe::server {

namespace {

// Those that a client may select, as in the recorded server.
constexpr std::array<std::string_view, 10> run_members{
  "run_id", "thread_id", "assistant_id", "created_at",         "updated_at",
  "status", "metadata",  "kwargs",       "multitask_strategy", "langsmith_session_name"};
constexpr std::array<std::string_view, 3> cancel_statuses{"pending", "running", "all"};

// A request for a run: of the body, with its assistant.
struct asked_run {
  std::string thread_id; ///< empty: stateless
  run_request request;
  assistant_record assistant;
};

asked_run asked_of(const rooms& with, const value& body, const std::string& thread_id) {
  asked_run out{.thread_id = thread_id.empty() ? thread_id : checked_id(thread_id, "thread"),
                .request = read_run_request(body),
                .assistant = {}};
  if (thread_id.empty() && !out.request.kwargs["command"]["resume"].is_null())
    throw refusal{400, "You must provide a thread_id when resuming."};
  if (!out.request.webhook.empty() && with.check_webhook)
    with.check_webhook(out.request.webhook);
  out.assistant = assistant_of_run(with, out.request.assistant_id);
  check_graph(with, out.assistant.graph_id);
  return out;
}

std::string thread_parameter(const api_call& call) {
  return call.parameters.empty() ? std::string{} : call.parameters[0];
}

http_whole create_run(const rooms& with, const api_call& call) {
  auto asked = asked_of(with, json_body(call.request), thread_parameter(call));
  auto run = with.runs.create(asked.thread_id, asked.request, asked.assistant);
  return json_answer(public_form(run.body()), 200,
                     {{"Content-Location", run_path(run, asked.thread_id.empty())}});
}

// Cancels a run whose reader is gone.
std::function<void()> cancelling(const rooms& with, const run_record& run) {
  return [&with, thread = run.thread_id, id = run.run_id] {
    with.runs.later(
      [&with, thread, id] { with.runs.cancel(thread, id, cancel_action::interrupt); });
  };
}

void stream_run(const rooms& with, const api_call& call, const http_responder& to) {
  auto asked = asked_of(with, json_body(call.request), thread_parameter(call));
  auto sink = std::make_shared<run_events>(to, event_filter{});
  auto run = with.runs.create(asked.thread_id, asked.request, asked.assistant,
                              [&](event_log& log) { sink->follow(log, std::nullopt); });
  if (asked.request.cancels_on_disconnect)
    sink->when_gone(cancelling(with, run));
  sink->begin(run, asked.thread_id.empty());
}

void wait_for_run(const rooms& with, const api_call& call, const http_responder& to) {
  auto asked = asked_of(with, json_body(call.request), thread_parameter(call));
  auto answer = std::make_shared<run_output>(to);
  run_waiter waiter{.known = [answer](const run_record& run) { answer->begin(run, false); },
                    .ended = [answer](const run_outcome& outcome) { answer->end(outcome, false); }};
  auto run = with.runs.create(asked.thread_id, asked.request, asked.assistant, {}, {}, &waiter);
  if (asked.request.cancels_on_disconnect)
    to.when_gone(cancelling(with, run));
}

http_whole create_batch(const rooms& with, const api_call& call) {
  auto body = from_json(call.request.body, json_form::plain);
  if (!body || !body->is_list() || body->empty())
    throw refusal{422, "the body is not a list of at least one run"};
  std::vector<asked_run> all; // all are checked before the first one is made
  for (const auto& one : body->items())
    all.push_back(asked_of(with, one, {}));
  std::vector<value> out;
  for (const auto& one : all)
    out.push_back(public_form(with.runs.create({}, one.request, one.assistant).body()));
  return json_answer(value::list(std::move(out)));
}

// ---- known runs

run_record run_at(const rooms& with, const std::string& thread, const std::string& run) {
  auto id = checked_id(run, "run");
  auto found =
    with.documents->get(document_kind::run, checked_id(thread, "thread") + '/' + id).value();
  if (!found)
    throw refusal{404, "Run not found"};
  return run_record::of(found->body);
}

// The run of a path /threads/{t}/runs/{r}/… or /runs/{r}/….
run_record run_of(const rooms& with, const api_call& call) {
  if (call.parameters.size() > 1)
    return run_at(with, call.parameters[0], call.parameters[1]);
  auto place =
    with.documents->get(document_kind::run_place, checked_id(call.parameters[0], "run")).value();
  if (!place)
    throw refusal{404, "Run not found"};
  return run_at(with, std::string{place->body["thread_id"].as_string()}, call.parameters[0]);
}

http_whole get_run(const rooms& with, const api_call& call) {
  return json_answer(public_form(run_of(with, call).body()));
}

http_whole list_runs(const rooms& with, const api_call& call) {
  auto thread = thread_at(with, call.parameters[0]).thread;
  document_query query{.kind = document_kind::run,
                       .id_prefix = thread.thread_id + '/',
                       .order_by = "created_at",
                       .descending = true,
                       .offset = offset_in(call.query),
                       .limit = limit_in(call.query)};
  if (auto status = call.query.text("status"))
    query.equal.emplace_back("status", *status);
  auto select = call.query.list("select");
  for (const auto& one : select)
    if (std::ranges::find(run_members, one) == run_members.end())
      throw refusal{422, "select: " + to_json(one) + " is not a member of a run"};
  std::vector<value> out;
  for (const auto& one : with.documents->search(query).value().documents)
    out.push_back(selected(public_form(one.body), select));
  return json_answer(value::list(std::move(out)));
}

http_whole delete_run(const rooms& with, const api_call& call) {
  auto run = run_of(with, call);
  with.runs.remove(run.thread_id, run.run_id);
  return {.status = 204};
}

void join_run(const rooms& with, const api_call& call, const http_responder& to) {
  auto run = run_of(with, call);
  if (call.query.flag("cancel_on_disconnect", false))
    to.when_gone(cancelling(with, run));
  auto answer = std::make_shared<run_output>(to);
  const bool is_stateless = call.parameters.size() == 1;
  answer->begin(run, is_stateless);
  with.runs.when_ended(run.thread_id, run.run_id,
                       [answer, is_stateless](const run_outcome& outcome) {
                         answer->end(outcome, is_stateless);
                       });
}

void join_stream(const rooms& with, const api_call& call, const http_responder& to) {
  auto run = run_of(with, call);
  auto sink = std::make_shared<run_events>(to, event_filter{call.query.list("stream_mode")});
  if (call.query.flag("cancel_on_disconnect", false))
    sink->when_gone(cancelling(with, run));
  sink->begin(run, call.parameters.size() == 1);
  sink->hold(with.runs.read(run.thread_id, run.run_id,
                            position_after(call.request.header("last-event-id")), sink->reader()));
}

// ---- ends that are asked for

cancel_action action_of(const api_call& call) {
  auto given = call.query.text("action").value_or("interrupt");
  if (auto action = parse_cancel_action(given))
    return *action;
  throw refusal{422, "action: \"" + given + "\" is not interrupt or rollback"};
}

void cancel_run(const rooms& with, const api_call& call, const http_responder& to) {
  auto waits = call.query.flag("wait", false);
  auto thread = checked_id(call.parameters[0], "thread");
  auto id = checked_id(call.parameters[1], "run");
  auto found = with.documents->get(document_kind::run, thread + '/' + id).value();
  if (!found || is_over(run_record::of(found->body).status))
    throw refusal{
      404, "No matching runs to cancel. Please verify the thread ID and run IDs are correct, "
           "and the runs haven't been deleted or completed."};
  auto action = action_of(call);
  if (waits)
    with.runs.when_ended(thread, id, [to, run = run_record::of(found->body)](const run_outcome&) {
      auto path = run_path(run, false);
      to.send(
        json_answer(value::map(), 200, {{"Content-Location", path}, {"Location", path + "/join"}}));
    });
  with.runs.cancel(thread, id, action);
  if (!waits)
    to.send({.status = 202});
}

http_whole cancel_runs(const rooms& with, const api_call& call) {
  checked_body body{json_body(call.request)};
  if (body.has("status") == body.has("run_ids"))
    throw refusal{422, "the body has either run_ids or status"};
  auto action = action_of(call);
  std::vector<run_record> those;
  if (auto status = body.one_of("status", cancel_statuses)) {
    for (auto wanted : {run_status::pending, run_status::running}) {
      if (*status != "all" && *status != to_string(wanted))
        continue;
      document_query query{.kind = document_kind::run,
                           .equal = {{"status", value(to_string(wanted))}}};
      if (auto thread = body.id("thread_id", "thread"))
        query.id_prefix = *thread + '/';
      if (!call.filter.is_null())
        query.contains = value::map({{"metadata", filter_as_metadata(call.filter)}});
      for (const auto& one : with.documents->search(query).value().documents)
        those.push_back(run_record::of(one.body));
    }
  } else {
    auto thread = body.id("thread_id", "thread");
    if (!thread)
      throw refusal{422, "thread_id: the member is required with run_ids"};
    for (const auto& id : body.texts("run_ids"))
      if (auto found =
            with.documents->get(document_kind::run, *thread + '/' + checked_id(id, "run")).value())
        those.push_back(run_record::of(found->body));
  }
  // Those that wait come first: the end of one that runs would begin them.
  std::ranges::stable_partition(those, [](const run_record& run) {
    return run.status == run_status::pending;
  });
  std::size_t cancelled = 0;
  for (const auto& run : those)
    cancelled += with.runs.cancel(run.thread_id, run.run_id, action) ? 1 : 0;
  if (cancelled == 0)
    throw refusal{404, "No runs found to cancel."};
  return {.status = 204};
}

} // namespace

void add_runs(router& to, const rooms& with) {
  constexpr std::string_view all = "threads";
  auto streaming = [&with](auto answer) {
    return [&with, answer](const api_call& call, const http_responder& responder) {
      answer(with, call, responder);
    };
  };
  to.add({"POST", "/threads/{thread_id}/runs", answering(with, create_run), {all, "create_run"}});
  to.add({"POST", "/threads/{thread_id}/runs/stream", streaming(stream_run), {all, "create_run"}});
  to.add({"POST", "/threads/{thread_id}/runs/wait", streaming(wait_for_run), {all, "create_run"}});
  to.add({"POST", "/runs", answering(with, create_run), {all, "create_run"}});
  to.add({"POST", "/runs/stream", streaming(stream_run), {all, "create_run"}});
  to.add({"POST", "/runs/wait", streaming(wait_for_run), {all, "create_run"}});
  to.add({"POST", "/runs/batch", answering(with, create_batch), {all, "create_run"}});
  to.add({"POST", "/runs/cancel", answering(with, cancel_runs), {all, "update"}});
  to.add({"GET", "/runs/{run_id}/stream", streaming(join_stream), {all, "read"}});
  to.add({"GET", "/runs/{run_id}/join", streaming(join_run), {all, "read"}});
  to.add({"GET", "/threads/{thread_id}/runs", answering(with, list_runs), {all, "read"}});
  to.add({"GET", "/threads/{thread_id}/runs/{run_id}", answering(with, get_run), {all, "read"}});
  to.add(
    {"DELETE", "/threads/{thread_id}/runs/{run_id}", answering(with, delete_run), {all, "delete"}});
  to.add({"GET", "/threads/{thread_id}/runs/{run_id}/join", streaming(join_run), {all, "read"}});
  to.add(
    {"GET", "/threads/{thread_id}/runs/{run_id}/stream", streaming(join_stream), {all, "read"}});
  to.add(
    {"POST", "/threads/{thread_id}/runs/{run_id}/cancel", streaming(cancel_run), {all, "update"}});
}

} // namespace troupe::server
