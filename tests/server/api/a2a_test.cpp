// Assistants as agents of A2A.
#include "server/protocol/a2a_forms.hpp"
#include "tests/server/served_rooms.hpp"

#include <boost/test/data/test_case.hpp>

namespace troupe::server::test {
namespace {

namespace data = boost::unit_test::data;

std::string agent_path(const char* graph = "chat") {
  return "/a2a/" + default_assistant_id(graph);
}

std::string rpc_text(const char* method, const value& params) {
  return to_json(
    value::map({{"jsonrpc", "2.0"}, {"id", "7"}, {"method", method}, {"params", params}}));
}

value said(const std::string& text, const value& more = value::map()) {
  auto part = value::map({{"kind", "text"}, {"text", text}});
  auto message =
    value::map({{"role", "user"}, {"messageId", "m-" + text}, {"parts", value::list({part})}});
  for (const auto& e : more.entries())
    message = message.with(e.key(), e.val);
  return value::map({{"message", message}});
}

value a2a(const served_rooms& server, const char* method, const value& params,
          const std::string& headers = {}) {
  auto answer = server.ask("POST", agent_path(), rpc_text(method, params), headers);
  BOOST_TEST(answer.status == 200);
  return answer.json();
}

value task_of(const value& answer) {
  BOOST_REQUIRE_MESSAGE(answer["result"].is_map(), to_json(answer));
  return answer["result"];
}

value by_id(const value& task) {
  return value::map({{"id", task["id"]}});
}

std::string texts_of_history(const value& task) {
  std::string out;
  for (const auto& one : task["history"].items())
    out += one["role"].as<std::string>() + ':' + one["parts"][0]["text"].as<std::string>() + ' ';
  return out;
}

std::vector<value> results_in(const std::string& body) {
  std::vector<value> out;
  for (auto at = body.find("data: "); at != body.npos; at = body.find("data: ", at + 1)) {
    auto end = body.find('\n', at);
    auto one = from_json(body.substr(at + 6, end - at - 6), json_form::plain).value();
    BOOST_TEST(one["id"] == value("7")); // the request's
    out.push_back(one["result"]);
  }
  return out;
}

struct refused_rpc {
  const char* body;
  int status;
  int code;
};
std::ostream& operator<<(std::ostream& out, const refused_rpc& c) {
  return out << c.body;
}
const std::vector<refused_rpc> refused_rpcs{
  {"{", 400, -32700},
  {"[]", 400, -32600},
  {R"({"jsonrpc":"2.0","method":"tasks/get"})", 400, -32600},
  {R"({"jsonrpc":"1.0","id":1,"method":"tasks/get"})", 200, -32600},
  {R"({"jsonrpc":"2.0","id":1,"method":"nope"})", 200, -32601},
  {R"({"jsonrpc":"2.0","id":1,"method":"message/send"})", 200, -32602},
  {R"({"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{}})", 200, -32602},
  {R"({"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":"x"}})", 200, -32001},
  {R"({"jsonrpc":"2.0","id":1,"method":"tasks/cancel","params":{"id":"x"}})", 200, -32001},
  {R"({"jsonrpc":"2.0","id":1,"method":"tasks/pushNotificationConfig/set"})", 200, -32003},
  {R"({"jsonrpc":"2.0","id":1,"method":"CreateTaskPushNotificationConfig"})", 200, -32003},
  {R"({"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{"contextId":1}})", 200, -32602},
  {R"({"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{"status":"done"}})", 200, -32602},
  {R"({"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{"pageSize":0}})", 200, -32602},
  {R"({"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{"pageSize":101}})", 200, -32602},
  {R"({"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{"pageToken":"-1"}})", 200, -32602},
  {R"({"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{"historyLength":-1}})", 200, -32602},
  {R"({"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{"statusTimestampAfter":"x"}})", 200,
   -32602}};

} // namespace

BOOST_AUTO_TEST_SUITE(server_a2a)

BOOST_AUTO_TEST_CASE(a_card_names_the_address_that_the_client_used) {
  served_rooms server;
  auto path = agent_path();
  auto card = server.ask("GET", path + "/.well-known/agent-card.json").json();
  BOOST_TEST(card["url"] == value("http://here:80" + path));
  auto same = "/.well-known/agent-card.json?assistant_id=" + default_assistant_id("chat");
  BOOST_TEST(server.ask("GET", same).json() == card);
  for (const auto& other : {path, path + "/.well-known/agent.json"})
    BOOST_TEST(server.ask("GET", other).json() == card);
  for (const char* method : {"GetExtendedAgentCard", "agent/getAuthenticatedExtendedCard"})
    BOOST_TEST(task_of(a2a(server, method, value::map())) == card);
  auto secure = server.ask("GET", same, "", "X-Forwarded-Proto: https\r\n").json();
  BOOST_TEST(secure["url"] == value("https://here:80" + path));
}

BOOST_AUTO_TEST_CASE(a_card_of_no_assistant_is_refused) {
  served_rooms server;
  for (const auto& id : {std::string{"chat"}, new_id(1)}) {
    auto answer = server.ask("GET", "/a2a/" + id + "/.well-known/agent-card.json");
    BOOST_TEST(answer.status == 400);
    BOOST_TEST(answer.json()["error"]["code"] == value(-32602));
  }
  BOOST_TEST(server.ask("GET", "/.well-known/agent-card.json").status == 422);
}

BOOST_AUTO_TEST_CASE(a_message_is_answered_with_its_finished_task) {
  served_rooms server;
  auto task = task_of(a2a(server, "message/send", said("hi")));
  BOOST_TEST(task["kind"] == value("task"));
  BOOST_TEST(task["status"]["state"] == value("completed"));
  BOOST_TEST(texts_of_history(task) == "user:hi agent:Hello there ");
  BOOST_TEST(task["history"][0]["messageId"] == value("m-hi"));
  BOOST_TEST(task["artifacts"][0]["parts"][0]["text"] == value("Hello there"));
  auto known = task_of(a2a(server, "tasks/get", by_id(task)));
  BOOST_TEST(known["status"]["state"] == value("completed"));
  BOOST_TEST(known["history"] == task["history"]);
}

BOOST_AUTO_TEST_CASE(a_context_is_a_conversation) {
  served_rooms server;
  auto first = task_of(a2a(server, "message/send", said("one")));
  auto same = value::map({{"contextId", first["contextId"]}});
  auto second = task_of(a2a(server, "message/send", said("two", same)));
  BOOST_TEST(second["contextId"] == first["contextId"]);
  BOOST_TEST(second["id"] != first["id"]);
  BOOST_TEST(texts_of_history(second) == "user:one agent:Hello there user:two agent:Hello there ");
  auto alone =
    task_of(a2a(server, "tasks/get", by_id(second), "LangGraph-A2A-History-Scope: task\r\n"));
  BOOST_TEST(texts_of_history(alone) == "user:two agent:Hello there ");
  auto last = task_of(a2a(server, "tasks/get", by_id(second).with("historyLength", 1)));
  BOOST_TEST(texts_of_history(last) == "agent:Hello there ");
}

BOOST_AUTO_TEST_CASE(a_task_that_asks_is_resumed_by_the_next_message) {
  served_rooms server;
  auto asking = task_of(a2a(server, "message/send", said("ask")));
  BOOST_TEST(asking["status"]["state"] == value("input-required"));
  BOOST_TEST(asking["status"]["message"]["parts"][0]["text"] == value("are you sure?"));
  BOOST_TEST(!asking.contains("artifacts"));
  BOOST_TEST(task_of(a2a(server, "tasks/get", by_id(asking)))["status"]["state"]
             == value("input-required"));
  auto answered =
    task_of(a2a(server, "message/send", said("yes", value::map({{"taskId", asking["id"]}}))));
  BOOST_TEST(answered["contextId"] == asking["contextId"]);
  BOOST_TEST(answered["status"]["state"] == value("completed"));
  BOOST_TEST(texts_of_history(answered) == "user:ask agent:yes agent:Hello there ");
}

BOOST_AUTO_TEST_CASE(a_stream_has_the_growing_answer_and_the_end) {
  served_rooms server;
  auto answer = server.ask("POST", agent_path(), rpc_text("message/stream", said("hi")));
  BOOST_TEST(answer.has_header("Content-Type: text/event-stream"));
  std::vector<std::string> seen;
  for (const auto& one : results_in(answer.body)) {
    auto text = one["kind"].as<std::string>();
    if (one["status"].is_map())
      text += ' ' + one["status"]["state"].as<std::string>();
    if (one["status"]["message"].is_map())
      text += ' ' + one["status"]["message"]["parts"][0]["text"].as<std::string>();
    seen.push_back(text + (one["final"] == value(true) ? " final" : ""));
  }
  std::vector<std::string> expected{"task submitted", "status-update working Hello ",
                                    "status-update working Hello there", "artifact-update",
                                    "status-update completed final"};
  BOOST_TEST(seen == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_task_that_is_not_awaited_can_be_asked_for_followed_and_cancelled) {
  served_rooms server;
  auto begun = task_of(a2a(server, "message/send",
                           said("wait").with("configuration", value::map({{"blocking", false}}))));
  BOOST_TEST(begun["status"]["state"] == value("submitted"));
  BOOST_TEST(texts_of_history(begun) == "user:wait ");
  server.at->wait_for(1);
  auto now = task_of(a2a(server, "tasks/get", by_id(begun)));
  BOOST_TEST(now["status"]["state"] == value("working"));

  troupe::test::raw_client follower{server.edge->port()};
  follower.say(
    server.text_of("POST", agent_path(), rpc_text("tasks/resubscribe", by_id(begun)), ""));
  follower.hear(R"("state":"working")");
  troupe::test::raw_client canceller{server.edge->port()};
  canceller.say(server.text_of("POST", agent_path(), rpc_text("tasks/cancel", by_id(begun)), ""));
  canceller.hear("HTTP/1.1 200"); // it waits for the end
  server.at->open();
  canceller.hear(R"("state":"canceled")");
  follower.hear(R"("final":true)");
  auto again = a2a(server, "tasks/cancel", by_id(begun));
  BOOST_TEST(again["error"]["code"] == value(-32002));
}

BOOST_AUTO_TEST_CASE(a_cancelled_task_is_read_by_the_threads_of_runs) {
  served_rooms server;
  auto options = server.logging();
  options.handler_threads = 1; // its answers follow each other
  router routes;
  for (const auto& one : server.all_routes)
    routes.add(one);
  http_edge edge{options, std::move(routes)};
  auto unawaited = value::map({{"blocking", false}});
  auto running =
    task_of(a2a(server, "message/send", said("wait").with("configuration", unawaited)));
  server.at->wait_for(1);
  auto context = value::map({{"contextId", running["contextId"]}});
  auto pending =
    task_of(a2a(server, "message/send", said("hi", context).with("configuration", unawaited)));
  troupe::test::raw_client canceller{edge.port()};
  {
    held_threads held{server};
    canceller.say(
      server.text_of("POST", agent_path(), rpc_text("tasks/cancel", by_id(pending)), ""));
    canceller.hear("HTTP/1.1 200");
    troupe::test::raw_client next{edge.port()};
    next.say(server.text_of("GET", "/ok", "", ""));
    next.hear("HTTP/1.1 200");
    BOOST_TEST(edge.load().streams == 1u); // the answer waits, though the run is over
  }
  canceller.hear(R"("state":"canceled")");
}

BOOST_AUTO_TEST_CASE(a_finished_task_is_followed_to_its_end_at_once) {
  served_rooms server;
  auto task = task_of(a2a(server, "message/send", said("hi")));
  auto answer = server.ask("POST", agent_path(), rpc_text("tasks/resubscribe", by_id(task)));
  auto results = results_in(answer.body);
  BOOST_REQUIRE(results.size() == 3u);
  BOOST_TEST(results[0]["kind"] == value("task"));
  BOOST_TEST(results[1]["kind"] == value("artifact-update"));
  BOOST_TEST(results[2]["final"] == value(true));
}

BOOST_AUTO_TEST_CASE(a_failed_run_is_a_failed_task_with_its_error) {
  served_rooms server;
  auto part = value::map({{"kind", "data"}, {"data", value::map({{"n", 1}})}});
  auto message = value::map({{"role", "user"}, {"parts", value::list({part})}});
  auto answer = server.ask("POST", agent_path("fail"),
                           rpc_text("message/send", value::map({{"message", message}})));
  auto task = task_of(answer.json());
  BOOST_TEST(task["status"]["state"] == value("failed"));
  BOOST_TEST(task["status"]["message"]["parts"][0]["text"] == value("ValueError: boom happened"));
}

BOOST_AUTO_TEST_CASE(a_task_of_another_assistant_is_not_known) {
  served_rooms server;
  auto task = task_of(a2a(server, "message/send", said("hi")));
  auto other = server.ask("POST", agent_path("plain"), rpc_text("tasks/get", by_id(task)));
  BOOST_TEST(other.json()["error"]["code"] == value(-32001));
}

BOOST_AUTO_TEST_CASE(a_message_to_a_task_that_is_over_or_of_another_is_refused) {
  served_rooms server;
  auto done = task_of(a2a(server, "message/send", said("hi")));
  auto more = said("more", value::map({{"taskId", done["id"]}}));
  for (const char* method : {"message/send", "message/stream"})
    BOOST_TEST(a2a(server, method, more)["error"]["code"] == value(-32004));
  auto other = server.ask("POST", agent_path("plain"), rpc_text("message/send", more));
  BOOST_TEST(other.json()["error"]["code"] == value(-32001));
  auto gone = value::map(
    {{"taskId", a2a_task_id{default_assistant_id("x"), default_assistant_id("x")}.text()}});
  BOOST_TEST(a2a(server, "message/send", said("hi", gone))["error"]["code"] == value(-32001));
}

BOOST_AUTO_TEST_CASE(a_text_to_a_graph_without_messages_is_refused) {
  served_rooms server;
  auto answer = server.ask("POST", agent_path("plain"), rpc_text("message/send", said("hi")));
  BOOST_TEST(answer.json()["error"]["code"] == value(-32602));
  BOOST_TEST(server.post("/threads/count", value::map()).body == "0"); // it left nothing
}

BOOST_AUTO_TEST_CASE(the_newer_version_has_its_own_forms) {
  served_rooms server;
  auto sent = task_of(a2a(server, "SendMessage", said("hi")))["task"];
  BOOST_TEST(sent["status"]["state"] == value("TASK_STATE_COMPLETED"));
  BOOST_TEST(texts_of_history(sent) == "ROLE_USER:hi ROLE_AGENT:Hello there ");
  BOOST_TEST(!sent["history"][0]["parts"][0].contains("kind"));
  BOOST_TEST(!sent.contains("kind"));
  auto known = task_of(a2a(server, "GetTask", by_id(sent)));
  BOOST_TEST(known["history"] == sent["history"]);
  BOOST_TEST(known["artifacts"][0]["parts"] == sent["artifacts"][0]["parts"]);
  BOOST_TEST(a2a(server, "CancelTask", by_id(sent))["error"]["code"] == value(-32002));
  auto at_once = said("hi").with("configuration", value::map({{"returnImmediately", true}}));
  BOOST_TEST(task_of(a2a(server, "SendMessage", at_once))["task"]["status"]["state"]
             == value("TASK_STATE_SUBMITTED"));
}

BOOST_AUTO_TEST_CASE(a_stream_of_the_newer_version_names_its_events) {
  served_rooms server;
  auto answer = server.ask("POST", agent_path(), rpc_text("SendStreamingMessage", said("hi")));
  std::string seen;
  for (const auto& one : results_in(answer.body)) {
    BOOST_TEST(one.size() == 1u);
    seen.append(one.entries()[0].key()).append(" ");
  }
  BOOST_TEST(seen == "task statusUpdate statusUpdate artifactUpdate statusUpdate ");
  auto last = results_in(answer.body).back()["statusUpdate"];
  BOOST_TEST(last["status"]["state"] == value("TASK_STATE_COMPLETED"));
  BOOST_TEST(!last.contains("final"));
  auto task = value::map({{"id", last["taskId"]}});
  auto followed = server.ask("POST", agent_path(), rpc_text("SubscribeToTask", task));
  BOOST_TEST(results_in(followed.body).front()["task"]["id"] == task["id"]);
}

BOOST_AUTO_TEST_CASE(tasks_are_listed_the_last_changed_first) {
  served_rooms server;
  auto sent = [&server](const std::string& text, const value& more = value::map()) {
    return task_of(a2a(server, "SendMessage", said(text, more)))["task"];
  };
  auto listed = [&server](const std::string& params) {
    return task_of(a2a(server, "ListTasks", from_json(params, json_form::plain).value()));
  };
  auto first = sent("one");
  auto context = value::map({{"contextId", first["contextId"]}});
  auto second = sent("two", context);
  auto asking = sent("ask");
  server.ask("POST", agent_path("fail"), rpc_text("SendMessage", said("of another")));

  auto all = listed("{}");
  BOOST_TEST(all["totalSize"] == value(3));
  BOOST_TEST(all["tasks"][0]["id"] == asking["id"]);
  BOOST_TEST(all["tasks"][0]["status"]["state"] == value("TASK_STATE_INPUT_REQUIRED"));
  BOOST_TEST(all["tasks"][2]["id"] == first["id"]);
  BOOST_TEST(!all["tasks"][2].contains("artifacts"));
  BOOST_TEST(all["nextPageToken"] == value(""));

  auto of_context = R"({"includeArtifacts":true,"historyLength":1,"contextId":")"
                    + first["contextId"].as<std::string>() + "\"}";
  auto both = listed(of_context);
  BOOST_TEST(both["totalSize"] == value(2));
  BOOST_TEST(both["tasks"][0]["artifacts"][0]["parts"][0]["text"] == value("Hello there"));
  BOOST_TEST(texts_of_history(both["tasks"][0]) == "ROLE_AGENT:Hello there ");

  BOOST_TEST(listed(to_json(value::map({{"contextId", std::string(5000, 'x')}})))["totalSize"]
             == value(0));
  BOOST_TEST(listed(R"({"status":"TASK_STATE_COMPLETED"})")["totalSize"] == value(2));
  BOOST_TEST(listed(R"({"status":"TASK_STATE_UNSPECIFIED"})")["totalSize"] == value(3));
  auto asked = listed(R"({"status":"TASK_STATE_INPUT_REQUIRED"})");
  BOOST_TEST(asked["totalSize"] == value(1));
  BOOST_TEST(asked["tasks"][0]["id"] == asking["id"]);
  BOOST_TEST(listed(R"({"status":"TASK_STATE_FAILED"})")["totalSize"] == value(0));
  BOOST_TEST(listed(R"({"statusTimestampAfter":"2999-01-01T00:00:00Z"})")["totalSize"] == value(0));
}

BOOST_AUTO_TEST_CASE(a_list_has_the_newest_tasks_alone) {
  served_rooms server;
  const auto thread = new_id(1);
  std::vector<document_change> changes{
    {document_kind::thread, thread, thread_record{.thread_id = thread}.body(), 0}};
  for (std::size_t i = 0; i <= limits::server_a2a_tasks_max; ++i) {
    auto time = time_text(static_cast<std::int64_t>(i + 1));
    run_record run{.run_id = new_id(static_cast<std::int64_t>(i + 1)),
                   .thread_id = thread,
                   .assistant_id = default_assistant_id("chat"),
                   .created_at = time,
                   .updated_at = time,
                   .status = run_status::error,
                   .graph_id = "chat"};
    changes.push_back({document_kind::run, run.document_id(), run.body(), 0});
  }
  server.documents->commit_and_wait(std::move(changes)).value();
  auto list = task_of(a2a(server, "ListTasks", value::map({{"pageSize", 1}})));
  BOOST_TEST(list["totalSize"] == value(static_cast<std::int64_t>(limits::server_a2a_tasks_max)));
}

BOOST_AUTO_TEST_CASE(a_list_of_tasks_has_pages) {
  served_rooms server;
  for (const char* text : {"one", "two", "three"})
    a2a(server, "SendMessage", said(text));
  std::string pages, token;
  do {
    auto page =
      task_of(a2a(server, "ListTasks", value::map({{"pageSize", 2}, {"pageToken", token}})));
    BOOST_TEST(page["totalSize"] == value(3));
    token = page["nextPageToken"].as<std::string>();
    for (const auto& one : page["tasks"].items())
      pages += one["history"][0]["parts"][0]["text"].as<std::string>() + ' ';
    pages += "| ";
  } while (!token.empty());
  BOOST_TEST(pages == "three two | one | ");
}

BOOST_DATA_TEST_CASE(a_wrong_request_is_refused, data::make(refused_rpcs), one) {
  served_rooms server;
  auto answer = server.ask("POST", agent_path(), one.body);
  BOOST_TEST(answer.status == one.status);
  BOOST_TEST(answer.json()["error"]["code"] == value(one.code));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::server::test
