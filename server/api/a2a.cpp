// a2a: assistants as agents of A2A: their cards, messages and tasks.
#include "graph/plain_json.hpp"
#include "server/api/a2a_tasks.hpp"
#include "server/api/filtered_routes.hpp"
#include "server/api/kept_events.hpp"
#include "server/api/rooms.hpp"
#include "server/api/rpc_answer.hpp"
#include "server/protocol/a2a_forms.hpp"
#include "server/protocol/a2a_versions.hpp"
#include "server/rules/ids.hpp"

#include <troupe/uuid.hpp>

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>

namespace troupe::server {
namespace {

// The request that a method answers.
struct a2a_call {
  const rooms& with;
  const api_call& call;
  const http_responder& to;
  value id; ///< of the request
  value params;
  a2a_version version;

  std::string new_name() const { return new_id(with.runs.now()); }
  std::string time() const { return time_text(with.runs.now()); }
};

struct known_agent {
  assistant_record assistant;
  compiled_graph graph;
};

// Agents are known by ids alone, as their cards have them. One that the filter hides is unknown.
known_agent agent_at(const rooms& with, const std::string& assistant_id, const value& filter) {
  auto failed = [&](const std::string& why) {
    return a2a_problem{a2a_code::wrong_params,
                       "Failed to get assistant '" + assistant_id + "': " + why};
  };
  if (!read_uuid(assistant_id))
    throw failed("Invalid assistant ID: must be a UUID");
  auto found = find_assistant(with, assistant_id);
  if (found && !fits_filter(filter, found->metadata))
    found.reset();
  auto graph = found ? with.graphs.find(found->graph_id) : std::nullopt;
  if (!graph)
    throw failed("it is not known");
  return {std::move(*found), graph->graph()};
}

value refused_form(const value& id, const a2a_problem& no) {
  return rpc_error(id, static_cast<std::int64_t>(no.code()), no.what());
}

// ---- cards ------------------------------------------------------------------------------------

// The address that the client used.
std::string url_of_server(const api_call& call) {
  auto host = call.request.header("host");
  auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')
           || std::string_view{".:-_[]"}.find(c) != std::string_view::npos;
  };
  if (host.empty() || !std::ranges::all_of(host, fits))
    throw refusal{400, "the header Host is missing, or is not a host"};
  bool is_secure = call.request.header("x-forwarded-proto") == "https";
  return std::string{is_secure ? "https://" : "http://"}.append(host);
}

value card_of_agent(const known_agent& agent, const api_call& call) {
  return agent_card(agent.assistant, agent.graph.input_jsonschema(),
                    url_of_server(call) + "/a2a/" + agent.assistant.assistant_id);
}

http_whole card_at(const rooms& with, const api_call& call, const std::string& assistant_id) {
  try {
    return json_answer(card_of_agent(agent_at(with, assistant_id, call.filter), call));
  } catch (const a2a_problem& no) {
    return json_answer(value::map({{"error", refused_form({}, no)["error"]}}), 400);
  }
}

http_whole card_of_path(const rooms& with, const api_call& call) {
  return card_at(with, call, call.parameters[0]);
}

http_whole card_of_query(const rooms& with, const api_call& call) {
  auto id = call.query.text("assistant_id");
  if (!id)
    throw refusal{422, "assistant_id: the parameter is required"};
  return card_at(with, call, *id);
}

// ---- tasks ------------------------------------------------------------------------------------

void answer(const a2a_call& with, const value& result) {
  answer_rpc(with.call, with.to, to_plain_json(rpc_result(with.id, result)));
}

history_choice choice_of(const a2a_call& with, const value& length) {
  return read_history_choice(length, with.call.request.header(history_scope_header));
}

// The form in which a version answers a method: a2a_form, or a2a_payload for messages.
using form_in_version = value (*)(const value& form, a2a_version version);

// Answers a request whose task has ended.
struct answer_at_end {
  const rooms& with;
  value id;
  a2a_version version;
  a2a_task_id task;
  history_choice choice;
  form_in_version shown;
  std::shared_ptr<rpc_answer> answer;

  value result() const {
    auto stored = stored_task_at(with, task);
    if (!stored)
      return refused_form(id, {a2a_code::unknown_task, "Task not found: " + task.text()});
    return rpc_result(id, shown(form_at_end(*stored, choice, with.runs.now()), version));
  }
  void operator()() const { answer->finish(to_plain_json(result())); }
};

// A short callback for the end of a task. The answer to the request follows on a thread that may
// read documents.
std::function<void()> answering_at_end(const a2a_call& with, a2a_task_id task,
                                       history_choice choice, form_in_version shown) {
  answer_at_end finish{with.with,
                       with.id,
                       with.version,
                       std::move(task),
                       choice,
                       shown,
                       std::make_shared<rpc_answer>(with.call, with.to)};
  return [&rooms = with.with, finish] { rooms.runs.later(finish); };
}

// The task that a message began, with this message alone.
value submitted_task(const a2a_call& with, const run_record& run, const a2a_message& message) {
  a2a_task_id id{run.thread_id, run.run_id};
  auto sent = message.sent.with("kind", "message")
                .with("role", "user")
                .with("messageId", message.id)
                .with("taskId", id.text())
                .with("contextId", id.thread_id);
  return a2a_task_form(id, status_form("submitted", with.time()), value::list({sent}));
}

// ---- messages ---------------------------------------------------------------------------------

bool waits_for_answer(const rooms& with, const known_agent& agent, const std::string& thread_id) {
  if (!with.documents->get(document_kind::thread, thread_id).value())
    return false;
  auto graph = with.graphs.find(agent.assistant.graph_id);
  return graph && !graph->get_state({.thread_id = thread_id}).interrupts.empty();
}

void check_takes_message(const rooms& with, const known_agent& agent, const a2a_task_id& task) {
  auto stored = stored_task_at(with, task);
  if (!stored || stored->run.assistant_id != agent.assistant.assistant_id)
    throw a2a_problem{a2a_code::unknown_task, "Task not found: " + task.text()};
  if (auto state = stored->state();
      state == "completed" || state == "failed" || state == "canceled")
    throw a2a_problem{a2a_code::task_is_over, "A terminal task cannot accept another message"};
}

// A message to a run that asked is the answer to its question.
run_record begin_task(const a2a_call& with, a2a_message& message, value stream_mode,
                      kept_events& events) {
  auto filter = with.call.filter_for({"threads", "create_run"});
  auto agent = agent_at(with.with, with.call.parameters[0],
                        with.call.filter_for({"assistants", "read"}));
  if (message.thread_id.empty())
    message.thread_id = with.new_name();
  else if (!may_see_thread(with.with, message.thread_id, filter))
    throw a2a_problem{a2a_code::wrong_params, "Context not found: " + message.thread_id};
  if (message.task)
    check_takes_message(with.with, agent, *message.task);
  auto body = value::map({{"assistant_id", agent.assistant.assistant_id},
                          {"if_not_exists", "create"},
                          {"metadata", with_filter(filter, value::map())},
                          {"stream_mode", std::move(stream_mode)}});
  if (waits_for_answer(with.with, agent, message.thread_id))
    body = body.with("command", value::map({{"resume", answer_of_message(message)}}));
  else
    body = body.with("input",
                     input_of_message(message, agent.assistant, agent.graph.input_jsonschema()));
  return with.with.runs.create(message.thread_id, read_run_request(body), agent.assistant,
                               [&](event_log& log) { events.watch(log); });
}

void send_message(const a2a_call& with) {
  auto message = read_a2a_message(with.params, with.new_name());
  const auto& configuration = with.params["configuration"];
  auto choice = choice_of(with, configuration["historyLength"]);
  auto events = std::make_shared<kept_events>();
  auto run = begin_task(with, message, "values", *events);
  if (configuration["blocking"] == value(false)
      || configuration["returnImmediately"] == value(true)) {
    events->begin({});
    return answer(with, a2a_payload(submitted_task(with, run, message), with.version));
  }
  events->begin(
    {.event = {}, .end = answering_at_end(with, {run.thread_id, run.run_id}, choice, a2a_payload)});
}

// ---- streams ----------------------------------------------------------------------------------

// The text of the agent's message so far, of an event; empty for other events.
std::string growing_text(const run_event& event) {
  if (event.name != "messages/partial")
    return {};
  auto read = from_json(event.data, json_form::plain);
  const auto message = read ? value((*read)[0]) : value{};
  return message["type"] == value("ai") && message["content"].is_string()
           ? std::string{message["content"].as_string()}
           : std::string{};
}

// An event stream with the events of a task. The peer's end does not end the task.
class task_stream : public std::enable_shared_from_this<task_stream> {
public:
  task_stream(const a2a_call& of, a2a_task_id task)
    : with_{of.with},
      id_(of.id),
      version_{of.version},
      task_{std::move(task)},
      out_{of.to, {}} {}

  void say(const value& form) const {
    out_.event("message", to_plain_json(rpc_result(id_, a2a_payload(form, version_))));
  }
  event_reader reader() {
    return {
      .event = [self = shared_from_this()](const run_event& event) { self->take(event); },
      .end = [self = shared_from_this()] { self->with_.runs.later([self] { self->end(); }); }};
  }

private:
  void take(const run_event& event) const {
    auto text = growing_text(event);
    if (text.empty())
      return;
    auto now = with_.runs.now();
    auto message = agent_message(text_parts(text), new_id(now), task_, true);
    say(status_update(task_, status_form("working", time_text(now), message), false));
  }
  void end() const {
    auto now = with_.runs.now();
    if (auto task = stored_task_at(with_, task_)) {
      if (task->state() == "completed")
        say(
          artifact_update(task_, artifact_form(task->values, new_id(now), task->run.assistant_id)));
      if (is_over(task->run.status)) // else this server ends, and the next one resumes the run
        say(status_update(task_, status_of(*task, now), true));
    }
    out_.end();
  }

  const rooms& with_;
  const value id_;
  const a2a_version version_;
  const a2a_task_id task_;
  const event_writer out_;
};

void stream_message(const a2a_call& with) {
  auto message = read_a2a_message(with.params, with.new_name());
  auto events = std::make_shared<kept_events>();
  auto run = begin_task(with, message, value::list({"messages", "values"}), *events);
  auto stream = std::make_shared<task_stream>(with, a2a_task_id{run.thread_id, run.run_id});
  stream->say(submitted_task(with, run, message));
  events->begin(stream->reader());
}

// ---- known tasks ------------------------------------------------------------------------------

// `action`: what the method does to the task's thread.
stored_task known_task(const a2a_call& with, std::string_view action) {
  auto filter = with.call.filter_for({"threads", action});
  const auto& given = with.params["id"];
  if (!given.is_string())
    throw a2a_problem{a2a_code::wrong_params, "id: the task's id is missing"};
  auto id = a2a_task_id::of(given.as_string());
  auto found = id ? stored_task_at(with.with, *id) : std::nullopt;
  if (!found || found->run.assistant_id != with.call.parameters[0]
      || !may_see_thread(with.with, id->thread_id, filter))
    throw a2a_problem{a2a_code::unknown_task, "Task not found: " + given.as<std::string>()};
  return std::move(*found);
}

value form_of_known(const a2a_call& with, const stored_task& task, const history_choice& choice) {
  auto now = with.with.runs.now();
  auto status = status_of(task, now);
  if (task.state() == "completed")
    status = status.with("message", agent_message(text_parts("Task completed successfully"),
                                                  new_id(now), task.id, false));
  return form_of(task, std::move(status), choice);
}

void get_task(const a2a_call& with) {
  auto choice = choice_of(with, with.params["historyLength"]);
  auto task = known_task(with, "read");
  auto form = with.version == a2a_version::v1_0 && task.is_newest
                ? form_at_end(task, choice, with.with.runs.now())
                : form_of_known(with, task, choice);
  answer(with, a2a_form(form, with.version));
}

void list_tasks(const a2a_call& with) {
  auto filter = with.call.filter_for({"threads", "read"});
  auto agent = agent_at(with.with, with.call.parameters[0],
                        with.call.filter_for({"assistants", "read"}));
  auto selection = read_task_selection(with.params, with.call.request.header(history_scope_header));
  selection.assistant_id = agent.assistant.assistant_id;
  auto list = task_list(with.with, selection, [&](const std::string& thread_id) {
    return may_see_thread(with.with, thread_id, filter);
  });
  std::vector<value> tasks;
  for (const auto& one : list["tasks"].items())
    tasks.push_back(a2a_form(one, with.version));
  answer(with, list.with("tasks", value::list(std::move(tasks))));
}

void show_card(const a2a_call& with) {
  auto filter = with.call.filter_for({"assistants", "read"});
  answer(with, card_of_agent(agent_at(with.with, with.call.parameters[0], filter), with.call));
}

void cancel_task(const a2a_call& with) {
  auto task = known_task(with, "update");
  auto& runs = with.with.runs;
  if (is_over(task.run.status)
      || !runs.cancel(task.id.thread_id, task.id.run_id, cancel_action::interrupt))
    throw a2a_problem{a2a_code::not_cancelable, "Task is over: it cannot be canceled"};
  auto at_end = answering_at_end(with, task.id, choice_of(with, {}), a2a_form);
  runs.when_ended(task.id.thread_id, task.id.run_id, [at_end](const run_outcome&) { at_end(); });
}

void follow_task(const a2a_call& with) {
  auto task = known_task(with, "read");
  auto events = std::make_shared<kept_events>();
  events->hold(
    with.with.runs.read(task.id.thread_id, task.id.run_id, std::nullopt, events->reader()));
  auto stream = std::make_shared<task_stream>(with, task.id);
  stream->say(form_of_known(with, task, {}));
  events->begin(stream->reader());
}

// ---- the route --------------------------------------------------------------------------------

void answer_method(const a2a_call& with, a2a_action action) {
  switch (action) {
    case a2a_action::send_message: return send_message(with);
    case a2a_action::stream_message: return stream_message(with);
    case a2a_action::get_task: return get_task(with);
    case a2a_action::list_tasks: return list_tasks(with);
    case a2a_action::cancel_task: return cancel_task(with);
    case a2a_action::follow_task: return follow_task(with);
    case a2a_action::show_card: return show_card(with);
    case a2a_action::notify: break;
  }
  throw a2a_problem{a2a_code::no_push, "Push notifications are not supported"};
}

void post_a2a(const rooms& with, const api_call& call, const http_responder& to) {
  value id;
  try {
    auto message = from_json(call.request.body, json_form::plain);
    if (!message)
      throw a2a_problem{a2a_code::no_json, "Invalid JSON"};
    id = (*message)["id"];
    if (!message->is_map() || (*message)["jsonrpc"] != value("2.0")
        || !(*message)["method"].is_string() || !(id.is_string() || id.is_int()))
      throw a2a_problem{a2a_code::no_request, "Invalid Request: not a request of JSON-RPC 2.0"};
    auto name = (*message)["method"].as<std::string>();
    auto method = a2a_method_of(name);
    if (!method)
      throw a2a_problem{a2a_code::unknown_method, "Method not found: " + name};
    const auto& params = (*message)["params"];
    answer_method({with, call, to, id, params.is_map() ? params : value::map(), method->version},
                  method->action);
  } catch (const a2a_problem& no) {
    bool is_known = id.is_string() || id.is_int();
    to.send(json_answer(refused_form(is_known ? id : value{}, no), is_known ? 200 : 400));
  }
}

} // namespace

void add_a2a(router& to, const rooms& with) {
  auto post = [&with](const api_call& call, const http_responder& responder) {
    post_a2a(with, call, responder);
  };
  to.add({"POST", "/a2a/{assistant_id}", post});
  for (const char* path : {"/a2a/{assistant_id}", "/a2a/{assistant_id}/.well-known/agent-card.json",
                           "/a2a/{assistant_id}/.well-known/agent.json"})
    to.add({"GET", path, answering(with, card_of_path), {"assistants", "read"}});
  to.add({"GET",
          "/.well-known/agent-card.json",
          answering(with, card_of_query),
          {"assistants", "read"}});
}

} // namespace troupe::server
