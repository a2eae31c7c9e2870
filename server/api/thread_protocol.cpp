// thread_protocol: commands and events of threads, which current React hooks speak.
#include "graph/plain_json.hpp"
#include "server/api/filtered_routes.hpp"
#include "server/api/filtered_subscription.hpp"
#include "server/api/rooms.hpp"
#include "server/api/thread_stream.hpp"
#include "server/edge/events.hpp"
#include "server/protocol/socket_commands.hpp"
#include "server/protocol/thread_hub.hpp"
#include "server/rules/ids.hpp"
#include "server/rules/state_forms.hpp"

#include <troupe/server/limits.hpp>

#include <set>

namespace troupe::server {

namespace {

value success(const value& id, value result, std::uint64_t seq) {
  return value::map({{"type", "success"},
                     {"id", id},
                     {"result", std::move(result)},
                     {"meta", value::map({{"applied_through_seq", seq}})}});
}

value failure(const value& id, const char* code, std::string message) {
  return value::map(
    {{"type", "error"}, {"id", id}, {"error", code}, {"message", std::move(message)}});
}

// A failure of the server, as the client hears it; the log has it, too.
value failure_of_server(const rooms& with, const value& id, const std::string& thread_id,
                        const std::exception& why) {
  with.log("a command of thread " + thread_id + ": " + why.what());
  return failure(id, "unknown_error", why.what());
}

void collect_questions(const state_snapshot& state, std::set<std::string>& ids) {
  for (const auto& task : state.tasks) {
    for (const auto& one : task.interrupts)
      ids.insert(one.id);
    if (task.state)
      collect_questions(*task.state, ids);
  }
}

// Those of a thread and its nested graphs that wait for an answer. A run that is there already took
// them: it answers them, or leaves them for other input.
std::set<std::string> questions_of(const rooms& with, const std::string& thread_id) {
  std::set<std::string> out;
  auto found = with.documents->get(document_kind::thread, thread_id).value();
  if (!found)
    return out;
  auto thread = thread_record::of(found->body);
  if (!thread.inflight.empty())
    return out;
  if (auto graph = graph_of(with, thread))
    collect_questions(graph->get_state({.thread_id = thread_id}, true), out);
  return out;
}

run_record start_run(const rooms& with, const std::string& thread_id, value body) {
  body = body.with("if_not_exists", "create")
           .with("stream_subgraphs", true)
           .with("stream_resumable", true)
           .with("stream_mode",
                 value::list({"values", "updates", "messages-tuple", "custom", "tasks", "tools"}));
  auto request = read_run_request(body);
  request.is_followed = true;
  request.kwargs = request.kwargs.with("whole_state", true);
  with.hubs->at(thread_id); // sees the run from its beginning
  auto assistant = assistant_of_run(with, request.assistant_id);
  check_graph(with, assistant.graph_id);
  return with.runs.create(thread_id, request, assistant);
}

value run_start(const rooms& with, const std::string& thread_id, const value& id,
                const value& params) {
  if (!params["assistant_id"].is_string())
    return failure(id, "invalid_argument", "run.start requires an assistant_id.");
  auto body = value::map(
    {{"assistant_id", params["assistant_id"]},
     {"config", params["config"]},
     {"metadata", params["metadata"]},
     {"multitask_strategy", params["multitaskStrategy"].is_null() ? params["multitask_strategy"]
                                                                  : params["multitaskStrategy"]}});
  auto hub = with.hubs->at(thread_id);
  auto answering = hub->answer();
  if (!params["input"].is_null() && !questions_of(with, thread_id).empty())
    body = body.with("command", value::map({{"resume", params["input"]}}));
  else
    body = body.with("input", params["input"]);
  auto run = start_run(with, thread_id, body);
  return success(id, value::map({{"run_id", run.run_id}}), 0);
}

value input_respond(const rooms& with, const std::string& thread_id, const value& id,
                    const value& params) {
  auto given = params["responses"].is_list() ? params["responses"] : value::list({params});
  if (given.empty())
    return failure(id, "invalid_argument", "input.respond requires at least one response.");
  if (!with.documents->get(document_kind::thread, thread_id).value())
    return failure(id, "no_such_run", "No interrupted run is bound to this thread.");
  auto hub = with.hubs->at(thread_id);
  auto answering = hub->answer();
  auto waiting = questions_of(with, thread_id);
  auto answers = value::map();
  for (const auto& one : given.items()) {
    if (!one["interrupt_id"].is_string())
      return failure(id, "invalid_argument", "input.respond requires an interrupt_id.");
    std::string question{one["interrupt_id"].as_string()};
    if (!waiting.contains(question))
      return failure(id, "no_such_interrupt", "Unknown or already-consumed interrupt: " + question);
    answers = answers.with(question, one["response"]);
  }
  auto thread = thread_at(with, thread_id).thread;
  auto command = value::map({{"resume", answers}});
  for (const char* member : {"update", "goto"})
    if (!params[member].is_null())
      command = command.with(member, params[member]);
  const auto seq = hub->last_seq(); // the client must not skip events of the new run
  start_run(with, thread_id,
            value::map({{"assistant_id", thread.metadata["assistant_id"]},
                        {"command", command},
                        {"config", params["config"]},
                        {"metadata", params["metadata"]}}));
  return success(id, value::map(), seq);
}

value state_get(const rooms& with, const std::string& thread_id, const value& id,
                const value& params) {
  auto thread = thread_at(with, thread_id).thread;
  auto graph = graph_of_state(with, thread);
  std::string ns;
  for (const auto& one : params["namespace"].items())
    ns += (ns.empty() ? "" : "|") + std::string{one.as_string()};
  auto state = graph ? graph->get_state({.thread_id = thread_id, .checkpoint_ns = ns})
                     : state_snapshot{};
  auto form = state_form(state, thread_id);
  return success(
    id,
    value::map({{"values", form["values"]},
                {"checkpoint", value::map({{"id", form["checkpoint_id"]}, {"ns", ns}})}}),
    with.hubs->at(thread_id)->last_seq());
}

// The answer to a command; nullopt for one that has no integer id and method.
std::optional<value> answer_command(const rooms& with, const std::string& thread_id,
                                    const value& command) {
  const auto& id = command["id"];
  if (!command.is_map() || !id.is_int() || !command["method"].is_string())
    return std::nullopt;
  std::string method{command["method"].as_string()};
  auto params = command["params"].is_map() ? command["params"] : value::map();
  try {
    if (method == "run.start")
      return run_start(with, thread_id, id, params);
    if (method == "input.respond")
      return input_respond(with, thread_id, id, params);
    if (method == "state.get")
      return state_get(with, thread_id, id, params);
    if (method == "agent.getTree")
      return failure(id, "no_such_run", "No active run is bound to this thread.");
    if (method == "subscription.unsubscribe") // subscriptions of a socket, which answers itself
      return failure(id, "no_such_subscription",
                     "Unknown subscription: " + to_json(params["subscription_id"]));
    if (method == "subscription.subscribe")
      return success(
        id, value::map({{"subscription_id", new_id(with.runs.now())}, {"replayed_events", 0}}), 0);
    return failure(id, "unknown_command", "Unknown protocol command: " + method);
  } catch (const refusal& no) {
    return failure(id, "unknown_error", std::to_string(no.status()) + ": " + no.detail());
  } catch (const error& why) {
    return failure_of_server(with, id, thread_id, why);
  }
}

value malformed(const value& command) {
  return failure(command["id"], "invalid_argument",
                 "Protocol commands must include an integer id and string method.");
}

http_whole post_command(const rooms& with, const api_call& call) {
  auto thread_id = checked_id(call.parameters[0], "thread");
  auto command = from_json(call.request.body, json_form::plain);
  if (!command)
    throw refusal{400, "Invalid JSON body"};
  if (auto answer = answer_command(with, thread_id, *command))
    return json_answer(*answer);
  return json_answer(malformed(*command), 400);
}

// Errors: throws refusal{400}.
subscription subscription_of(const value& given) {
  subscription out;
  if (!given.is_map() || !given["channels"].is_list() || given["channels"].empty())
    throw refusal{400, "channels is required and must be a non-empty array"};
  for (const auto& one : given["channels"].items())
    if (one.is_string())
      out.channels.emplace_back(one.as_string());
  for (const auto& prefix : given["namespaces"].items()) {
    auto& into = out.namespaces.emplace_back();
    for (const auto& one : prefix.items())
      into.emplace_back(one.is_string() ? std::string{one.as_string()} : std::string{});
  }
  if (given["depth"].is_int() && given["depth"].as_int() >= 0)
    out.depth = static_cast<std::size_t>(given["depth"].as_int());
  if (given["since"].is_int() && given["since"].as_int() > 0)
    out.since = static_cast<std::uint64_t>(given["since"].as_int());
  return out;
}

// An event stream holds it as long as its peer is there.
struct held_reading {
  std::mutex mutex;
  std::shared_ptr<void> reading;
  bool gone = false;

  void hold(std::shared_ptr<void> one) {
    std::lock_guard lock{mutex};
    if (!gone)
      reading = std::move(one);
  }
  void drop() {
    std::shared_ptr<void> dropped;
    std::lock_guard lock{mutex};
    gone = true;
    dropped.swap(reading);
  }
};

void stream_events(const rooms& with, const api_call& call, const http_responder& to) {
  auto thread_id = checked_id(call.parameters[0], "thread");
  auto asked = from_json(call.request.body, json_form::plain);
  if (!asked)
    throw refusal{400, "Invalid JSON body"};
  auto what = subscription_of(*asked);
  auto hub = with.hubs->at(thread_id); // before the head: it keeps the events from here on
  auto out = std::make_shared<event_writer>(to);
  auto held = std::make_shared<held_reading>();
  out->when_gone([held] { held->drop(); });
  std::shared_ptr<void> follows; // until the subscription is dropped
  try {
    follows = with.hubs->follow(thread_id); // after the head: what came before it is replayed
  } catch (const error& e) {
    with.log("follow thread " + thread_id + ": " + e.message());
    return out->end(); // the database is lost: the client comes again
  }
  auto take = [out, follows](const numbered_event& event) {
    out->event(event.event.method, event.json, std::to_string(event.seq));
  };
  held->hold(subscribe_filtered(with, hub,
                                {.thread_id = thread_id,
                                 .filter = call.filter,
                                 .what = std::move(what),
                                 .take = std::move(take),
                                 .refused = [out] { out->end(); }}));
}

// ---- the same over a WebSocket

struct socket_session {
  socket_session(const rooms& w, std::string id, value f)
    : with{w},
      thread_id{std::move(id)},
      filter(std::move(f)) {}

  const rooms& with;
  const std::string thread_id;
  const value filter; // of its caller, for each command
  std::mutex mutex;
  std::optional<http_socket> socket;
  std::map<std::string, std::shared_ptr<void>> subscriptions;
  socket_commands commands; ///< that were not heard yet
  bool hears = false;       ///< one of them at a time

  void say(const value& what) {
    std::lock_guard lock{mutex};
    if (socket)
      socket->send(to_plain_json(what));
  }
  bool may_subscribe() {
    std::lock_guard lock{mutex};
    return subscriptions.size() < limits::server_socket_subscriptions_max;
  }
};

// The answer to a command that is beyond a limit of its socket.
value refused_by_limit(const value& id, const std::string& too_many, std::string_view limit) {
  return failure(id, "unknown_error", "429: " + too_many + " (" + std::string{limit} + ')');
}

// The command under the caller's filter; nullopt for one that was answered, since the caller may
// not see the thread.
std::optional<value> allowed_command(socket_session& session, const value& command) {
  try {
    return filtered_command(session.with, session.filter, session.thread_id, command);
  } catch (const refusal& no) {
    session.say(failure(command["id"], "permission_denied", no.detail()));
  } catch (const error& why) {
    session.say(failure_of_server(session.with, command["id"], session.thread_id, why));
  }
  return std::nullopt;
}

void subscribe(const std::shared_ptr<socket_session>& session, const value& id,
               const value& params) {
  if (!session->may_subscribe())
    return session->say(refused_by_limit(id, "too many subscriptions of this socket",
                                         "server_socket_subscriptions_max"));
  try {
    auto what = subscription_of(params);
    auto name = new_id(session->with.runs.now());
    auto hub = session->with.hubs->at(session->thread_id); // before the answer, as above
    auto follows = session->with.hubs->follow(session->thread_id);
    auto take = [weak = std::weak_ptr{session}, follows](const numbered_event& event) {
      if (auto open = weak.lock()) {
        std::lock_guard lock{open->mutex};
        if (open->socket)
          open->socket->send(event.json);
      }
    };
    // A client may pause its subscriptions soon after a run's end: kept events follow at once.
    auto begins = [&] {
      session->say(success(id, value::map({{"subscription_id", name}, {"replayed_events", 0}}), 0));
    };
    auto reading = subscribe_filtered(session->with, hub,
                                      {.thread_id = session->thread_id,
                                       .filter = session->filter,
                                       .what = std::move(what),
                                       .take = std::move(take)},
                                      begins);
    std::lock_guard lock{session->mutex};
    session->subscriptions[name] = std::move(reading);
  } catch (const refusal& no) {
    session->say(failure(id, "invalid_argument", no.detail()));
  } catch (const error& why) {
    session->say(failure_of_server(session->with, id, session->thread_id, why));
  }
}

void hear(const std::shared_ptr<socket_session>& session, const std::string& text) {
  auto read = from_json(text, json_form::plain);
  if (!read)
    return session->say(failure(nullptr, "invalid_argument", "Invalid JSON"));
  auto command = allowed_command(*session, *read);
  if (!command)
    return;
  const auto& id = (*command)["id"];
  if (id.is_int() && (*command)["method"] == value("subscription.subscribe"))
    return subscribe(session, id, (*command)["params"]);
  if (id.is_int() && (*command)["method"] == value("subscription.unsubscribe")) {
    const auto& name = (*command)["params"]["subscription_id"];
    if (!name.is_string())
      return session->say(
        failure(id, "invalid_argument", "subscription.unsubscribe requires a subscription_id."));
    std::shared_ptr<void> dropped;
    {
      std::lock_guard lock{session->mutex};
      auto found = session->subscriptions.find(std::string{name.as_string()});
      if (found != session->subscriptions.end()) {
        dropped = std::move(found->second);
        session->subscriptions.erase(found);
      }
    }
    return session->say(dropped ? success(id, value::map(), 0)
                                : failure(id, "no_such_subscription", "Unknown subscription"));
  }
  auto answer = answer_command(session->with, session->thread_id, *command);
  session->say(answer ? *answer : malformed(*command));
}

// Commands are heard in their order: a client may start a run right after it subscribed. Those that
// were kept are heard even when the client has left.
void hear_next(const std::shared_ptr<socket_session>& session) {
  session->with.runs.later([session] { // commands may read the disk
    std::string text;
    {
      std::lock_guard lock{session->mutex};
      text = session->commands.next();
    }
    try {
      hear(session, text);
    } catch (const std::exception& e) {
      session->say(failure_of_server(session->with, command_id(text), session->thread_id, e));
    }
    {
      std::lock_guard lock{session->mutex};
      session->hears = !session->commands.empty();
      if (!session->hears)
        return;
    }
    hear_next(session); // others have their turn between
  });
}

void hear_later(const std::shared_ptr<socket_session>& session, std::string text) {
  std::string_view exceeded;
  bool begins = false;
  {
    std::lock_guard lock{session->mutex};
    exceeded = session->commands.add(text);
    begins = exceeded.empty() && !std::exchange(session->hears, true);
  }
  if (!exceeded.empty())
    return session->say(
      refused_by_limit(command_id(text), "too many commands of this socket wait", exceeded));
  if (begins)
    hear_next(session);
}

void open_socket(const rooms& with, const api_call& call, const http_responder& to) {
  auto session = std::make_shared<socket_session>(with, checked_id(call.parameters[0], "thread"),
                                                  call.filter);
  if (!call.request.wants_socket)
    throw refusal{405, "Method Not Allowed"};
  to.upgrade({.opened =
                [session](http_socket socket) {
                  std::lock_guard lock{session->mutex};
                  session->socket = std::move(socket);
                },
              .text = [session](std::string text) { hear_later(session, std::move(text)); },
              .gone =
                [session] {
                  std::map<std::string, std::shared_ptr<void>> dropped;
                  std::lock_guard lock{session->mutex};
                  session->socket.reset();
                  dropped.swap(session->subscriptions);
                }});
}

} // namespace

void add_thread_protocol(router& to, const rooms& with) {
  constexpr std::string_view all = "threads";
  auto streaming = [&with](auto answer) {
    return [&with, answer](const api_call& call, const http_responder& responder) {
      answer(with, call, responder);
    };
  };
  to.add(
    {"POST", "/threads/{thread_id}/commands", answering(with, post_command), {all, "create_run"}});
  to.add({"POST", "/threads/{thread_id}/stream/events", streaming(stream_events), {all, "read"}});
  // Commands come through the socket, too: to read is not enough.
  to.add(
    {"GET", "/threads/{thread_id}/stream/events", streaming(open_socket), {all, "create_run"}});
  to.add({"GET", "/threads/{thread_id}/stream", streaming(stream_thread), {all, "read"}});
}

} // namespace troupe::server
