// A whole server over a socket: who may call, and what a caller may see.
#include "server/rules/records.hpp"
#include "tests/fixtures/raw_client.hpp"
#include "tests/persistence/postgres/postgres_server.hpp"

#include <troupe/server.hpp>

#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>
#include <utility>

namespace troupe::server::test {
namespace {

using troupe::test::raw_client;

compiled_graph adder() {
  state_graph<> g{{{"n", sum}}};
  g.add_node("add", [] { return state_update{{"n", 1}}; });
  g.add_edge(START, "add");
  return g.compile({.name = "adder"});
}

server_options options_with_graph() {
  return {.graphs = {{"adder", adder()}}, .port = 0};
}

struct heard_answer {
  int status = 0;
  value body = {};
};

heard_answer ask(const agent_server& server, const std::string& method, const std::string& path,
                 const std::string& headers = "", const std::string& body = "") {
  raw_client client{server.port()};
  client.say(method + ' ' + path + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" + headers
             + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  auto all = client.hear_all();
  auto end = all.find("\r\n\r\n");
  BOOST_REQUIRE(end != all.npos);
  heard_answer out{.status = std::stoi(all.substr(9, 3))};
  auto text = all.substr(end + 4);
  if (all.find("hunked") < end) // one object, between the sizes of chunks
    text = text.substr(text.find('{'), text.rfind('}') - text.find('{') + 1);
  if (auto read = from_json(text, json_form::plain))
    out.body = *read;
  return out;
}

// A folder that is removed at the end.
struct server_folder {
  std::filesystem::path path = std::filesystem::temp_directory_path()
                               / ("troupe-server-" + std::to_string(::getpid()));
  server_folder() { std::filesystem::create_directory(path); }
  ~server_folder() { std::filesystem::remove_all(path); }
  std::filesystem::path write(const char* name, const std::string& text) const {
    std::ofstream{path / name} << text;
    return path / name;
  }
};

// of "foo"
constexpr const char* hash_line =
  "sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae site\n";

// Callers by the header x-user; each sees its own documents.
server_options owned_options() {
  auto out = options_with_graph();
  out.authenticate = [](const request_head& head) -> result<caller> {
    auto name = head.header("x-user");
    if (name.empty())
      return error{errc::invalid_value, "no user"};
    return caller{.identity = std::string{name}};
  };
  out.authorise = [](const access_question& asked) -> access_verdict {
    if (asked.what.resource == "store") {
      const auto& space = asked.body["namespace"]; // a list, or a text in a query
      auto owner = value(asked.who.identity);
      return {.is_allowed = space == owner || (space.size() == 1 && space[0] == owner)};
    }
    if (asked.what.resource == "assistants")
      return {};
    return {.filter = value::map({{"owner", asked.who.identity}})};
  };
  return out;
}

constexpr const char* as_ann = "x-user: ann\r\n";
constexpr const char* as_bob = "x-user: bob\r\n";

// As owned_options(), and assistants have owners, too.
server_options all_owned_options() {
  auto out = owned_options();
  out.authorise = [](const access_question& asked) -> access_verdict {
    return {.is_allowed = asked.who.identity != "guest" || asked.what.resource == "threads",
            .filter = value::map({{"owner", asked.who.identity}})};
  };
  return out;
}

constexpr const char* as_guest = "x-user: guest\r\n";

// A message of JSON-RPC to MCP or an agent of A2A.
value ask_rpc(const agent_server& server, const std::string& path, const std::string& as,
              const std::string& method, const value& params = value::map()) {
  auto body = value::map({{"jsonrpc", "2.0"}, {"id", 1}, {"method", method}, {"params", params}});
  auto answer = ask(server, "POST", path, as, to_json(body));
  BOOST_TEST(answer.status == 200);
  return answer.body;
}

// Data for the graph that adds.
value sent_number(const value& more = value::map()) {
  auto part = value::map({{"kind", "data"}, {"data", value::map({{"n", 1}})}});
  auto message = value::map({{"role", "user"}, {"messageId", "m"}, {"parts", value::list({part})}});
  for (const auto& e : more.entries())
    message = message.with(e.key(), e.val);
  return value::map({{"message", message}});
}

std::string text_of_member(const value& body, std::string_view name) {
  BOOST_REQUIRE(body[name].is_string());
  return std::string{body[name].as_string()};
}

} // namespace

BOOST_AUTO_TEST_SUITE(server_server)

BOOST_AUTO_TEST_CASE(a_server_with_a_file_of_keys_serves_their_holders_alone) {
  server_folder folder;
  auto options = options_with_graph();
  options.api_keys = folder.write("keys", hash_line);
  agent_server server{options};
  BOOST_TEST(ask(server, "GET", "/ok").status == 200);
  BOOST_TEST(ask(server, "POST", "/threads", "", "{}").status == 401);
  BOOST_TEST(ask(server, "POST", "/threads", "x-api-key: bar\r\n", "{}").status == 401);
  BOOST_TEST(ask(server, "POST", "/threads", "x-api-key: foo\r\n", "{}").status == 200);
  folder.write("keys", "# nobody\n"); // the server looks at the file once a second
  int tries = 0;
  while (ask(server, "POST", "/threads", "x-api-key: foo\r\n", "{}").status != 401)
    BOOST_REQUIRE(++tries < 1'000'000);
}

BOOST_AUTO_TEST_CASE(a_data_directory_has_one_server) {
  server_folder folder;
  auto options = options_with_graph();
  options.data_dir = (folder.path / "data").string();
  std::optional<agent_server> first{options};
  BOOST_CHECK_EXCEPTION(agent_server{options}, error, [&](const error& why) {
    return why.code() == errc::storage_locked
           && why.message().find(options.data_dir) != std::string::npos;
  });
  BOOST_TEST(ask(*first, "GET", "/ok").status == 200);
  first.reset();
  agent_server next{options};
  BOOST_TEST(ask(next, "GET", "/ok").status == 200);
}

BOOST_AUTO_TEST_CASE(wrong_options_throw_before_anything_is_opened) {
  server_folder folder;
  auto message_of = [](server_options options) {
    try {
      agent_server server{std::move(options)};
      return std::string{"no error"};
    } catch (const error& e) {
      BOOST_TEST((e.code() == errc::invalid_config));
      return e.message();
    }
  };
  auto with = [](auto&& change) {
    auto out = options_with_graph();
    change(out);
    return out;
  };
  auto names = [](const std::string& text, std::string_view word) {
    return text.find(word) != text.npos;
  };
  auto data = (folder.path / "data").string();
  auto missing = folder.path / "missing";
  BOOST_TEST(names(message_of(with([&](auto& o) {
                     o.data_dir = data;
                     o.api_keys = missing;
                   })),
                   missing.string()));
  BOOST_TEST(!std::filesystem::exists(data));
  auto malformed = folder.write("malformed", "\nfoo bar\n");
  auto complaint = message_of(with([&](auto& o) { o.api_keys = malformed; }));
  BOOST_TEST(names(complaint, "line 2"));
  BOOST_TEST(names(complaint, malformed.string()));
  auto open_secret = folder.write("secret", std::string(40, 's'));
  std::filesystem::permissions(open_secret, std::filesystem::perms{0644});
  BOOST_TEST(
    names(message_of(with([&](auto& o) { o.tokens = token_rules{.secret_file = open_secret}; })),
          "chmod 600"));
  auto short_secret = folder.write("short", "s\n");
  std::filesystem::permissions(short_secret, std::filesystem::perms{0600});
  BOOST_TEST(
    names(message_of(with([&](auto& o) { o.tokens = token_rules{.secret_file = short_secret}; })),
          "32 bytes"));
  for (const char* place : {"http://127.0.0.1/keys", "https://10.0.0.1/keys", "https://"})
    BOOST_TEST(names(message_of(with([&](auto& o) { o.tokens = token_rules{.jwks = place}; })),
                     "keys of tokens"),
               place);
  auto no_set = folder.write("jwks", "{}");
  BOOST_TEST(
    names(message_of(with([&](auto& o) { o.tokens = token_rules{.jwks = no_set.string()}; })),
          no_set.string()));
  BOOST_TEST(names(message_of(with([&](auto& o) {
                     o.tls_certificate = missing;
                     o.tls_key = missing;
                   })),
                   missing.string()));
}

BOOST_AUTO_TEST_CASE(a_rate_bounds_requests) {
  auto options = options_with_graph();
  options.rate = {.per_second = 0.001, .burst = 2};
  agent_server server{options};
  BOOST_TEST(ask(server, "GET", "/info").status == 200);
  BOOST_TEST(ask(server, "GET", "/info").status == 200);
  BOOST_TEST(ask(server, "GET", "/info").status == 429);
}

BOOST_AUTO_TEST_CASE(switched_off_paths_are_missing) {
  auto options = options_with_graph();
  options.disabled = {.store = true, .meta = true};
  agent_server server{options};
  BOOST_TEST(ask(server, "GET", "/info").status == 404);
  BOOST_TEST(ask(server, "POST", "/store/items/search", "", "{}").status == 404);
  BOOST_TEST(ask(server, "POST", "/threads", "", "{}").status == 200);
}

BOOST_AUTO_TEST_CASE(a_filter_hides_what_others_own) {
  agent_server server{owned_options()};
  BOOST_TEST(ask(server, "POST", "/threads", "", "{}").status == 401);
  auto made = ask(server, "POST", "/threads", as_ann, R"({"metadata":{"owner":"bob","n":1}})");
  BOOST_REQUIRE(made.status == 200);
  BOOST_TEST(made.body["metadata"]["owner"] == value("ann")); // the filter wins
  auto id = text_of_member(made.body, "thread_id");
  auto path = "/threads/" + id;
  BOOST_TEST(ask(server, "GET", path, as_ann).status == 200);

  const std::string run = R"({"assistant_id":"adder","input":{"n":1}})";
  for (auto [method, at, body] :
       {std::tuple{"GET", path, std::string{}},
        {"GET", path + "/state", std::string{}},
        {"POST", path + "/history", std::string{"{}"}},
        {"PATCH", path, std::string{R"({"metadata":{"owner":"bob"}})"}},
        {"POST", path + "/copy", std::string{}},
        {"POST", path + "/runs/wait", run},
        {"POST", path + "/runs/stream", run},
        {"GET", path + "/runs", std::string{}},
        {"POST", path + "/commands", std::string{R"({"id":1,"method":"run.start","params":{}})"}},
        {"POST", path + "/stream/events", std::string{R"({"channels":["values"]})"}},
        {"GET", path + "/stream", std::string{}},
        {"DELETE", path, std::string{}}})
    BOOST_TEST(ask(server, method, at, as_bob, body).status == 404, method << ' ' << at);
  BOOST_TEST(ask(server, "POST", "/threads", as_bob,
                 R"({"if_exists":"do_nothing","thread_id":")" + id + "\"}")
               .status
             == 409);
  auto pruned = ask(server, "POST", "/threads/prune", as_bob, R"({"thread_ids":[")" + id + "\"]}");
  BOOST_TEST(pruned.body["pruned_count"] == value(0));
  BOOST_TEST(ask(server, "GET", path, as_ann).status == 200); // it is still there
}

BOOST_AUTO_TEST_CASE(a_filter_narrows_searches) {
  agent_server server{owned_options()};
  ask(server, "POST", "/threads", as_ann, R"({"metadata":{"n":1}})");
  ask(server, "POST", "/threads", as_bob, R"({"metadata":{"n":1}})");
  auto found = ask(server, "POST", "/threads/search", as_ann, R"({"metadata":{"n":1}})");
  BOOST_REQUIRE(found.body.size() == 1u);
  BOOST_TEST(found.body[0]["metadata"]["owner"] == value("ann"));
  BOOST_TEST(ask(server, "POST", "/threads/count", as_bob, "{}").body == value(1));
  // A search for another owner finds nothing, rather than the caller's own.
  auto others = ask(server, "POST", "/threads/search", as_ann, R"({"metadata":{"owner":"bob"}})");
  BOOST_TEST(others.body.empty());
  BOOST_TEST(ask(server, "POST", "/threads/count", as_ann, R"({"metadata":{"owner":"bob"}})").body
             == value(0));
}

BOOST_AUTO_TEST_CASE(runs_of_a_filtered_caller_are_its_own) {
  agent_server server{owned_options()};
  const std::string body =
    R"({"assistant_id":"adder","input":{"n":1},"if_not_exists":"create","on_completion":"keep"})";
  auto id = std::string{"7b0d7c9c-31a1-4f5f-8a38-0d5a2a3f2b11"};
  auto run = ask(server, "POST", "/threads/" + id + "/runs/wait", as_ann, body);
  BOOST_TEST(run.body["n"] == value(2));
  BOOST_TEST(ask(server, "GET", "/threads/" + id, as_ann).status == 200);
  BOOST_TEST(ask(server, "GET", "/threads/" + id, as_bob).status == 404);
  auto all = ask(server, "GET", "/threads/" + id + "/runs", as_ann);
  BOOST_REQUIRE(all.body.size() == 1u);
  BOOST_TEST(all.body[0]["metadata"]["owner"] == value("ann"));
  auto run_id = text_of_member(all.body[0], "run_id");
  BOOST_TEST(ask(server, "GET", "/runs/" + run_id + "/join", as_bob).status == 404);
  BOOST_TEST(ask(server, "GET", "/runs/" + run_id + "/join", as_ann).status == 200);
}

/// Asks for the WebSocket of a thread. Returns: the status.
std::string open_socket(raw_client& client, const std::string& thread, const std::string& who) {
  client.say("GET /threads/" + thread + "/stream/events HTTP/1.1\r\nHost: x\r\n"
             + "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
             + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n" + who + "\r\n");
  return client.hear("\r\n\r\n").substr(9, 3);
}

/// A short text of a WebSocket, under a mask of zeros.
std::string masked_text(const std::string& text) {
  return std::string{'\x81', static_cast<char>(0x80 | text.size())} + std::string(4, '\0') + text;
}

BOOST_AUTO_TEST_CASE(a_socket_obeys_the_filter_at_each_command) {
  agent_server server{owned_options()};
  const std::string id = "7b0d7c9c-31a1-4f5f-8a38-0d5a2a3f2b12";
  raw_client bob{server.port()};
  BOOST_TEST(open_socket(bob, id, as_bob) == "101"); // the thread is nobody's yet
  ask(server, "POST", "/threads", as_ann, R"({"thread_id":")" + id + "\"}");
  const std::string command = R"({"id":1,"method":"state.get","params":{}})";
  bob.say(masked_text(command));
  BOOST_TEST(bob.hear(R"("id":1)").find("permission_denied") != std::string::npos);
  bob.say(
    masked_text(R"({"id":2,"method":"subscription.subscribe","params":{"channels":["values"]}})"));
  BOOST_TEST(bob.hear(R"("id":2)").find("permission_denied") != std::string::npos);
  raw_client late{server.port()};
  BOOST_TEST(open_socket(late, id, as_bob) == "404");
}

BOOST_AUTO_TEST_CASE(a_socket_that_awaits_a_thread_shows_it_to_its_owner_alone) {
  agent_server server{owned_options()};
  const std::string id = "7b0d7c9c-31a1-4f5f-8a38-0d5a2a3f2b15";
  raw_client ann{server.port()}, bob{server.port()};
  for (auto [client, who] : {std::pair{&ann, as_ann}, {&bob, as_bob}}) {
    BOOST_TEST(open_socket(*client, id, who) == "101");
    client->say(masked_text(
      R"({"id":1,"method":"subscription.subscribe","params":{"channels":["lifecycle"]}})"));
    client->hear(R"("id":1)");
  }
  auto run = ask(server, "POST", "/threads/" + id + "/runs/wait", as_ann,
                 R"({"assistant_id":"adder","input":{"n":1},"if_not_exists":"create"})");
  BOOST_TEST(run.status == 200);
  BOOST_TEST(ann.hear("completed").find("running") != std::string::npos);
  bob.say(masked_text(R"({"id":2,"method":"state.get","params":{}})"));
  auto heard = bob.hear(R"("id":2)");
  BOOST_TEST(heard.find("permission_denied") != std::string::npos);
  BOOST_TEST(heard.find("lifecycle") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(commands_of_a_socket_are_answered_in_their_order) {
  agent_server server{owned_options()};
  const std::string id = "7b0d7c9c-31a1-4f5f-8a38-0d5a2a3f2b13";
  ask(server, "POST", "/threads", as_ann, R"({"thread_id":")" + id + "\"}");
  raw_client ann{server.port()};
  BOOST_TEST(open_socket(ann, id, as_ann) == "101");
  constexpr int commands = 100;
  std::string all;
  for (int n = 1; n <= commands; ++n) // the first of two reads the disk
    all += masked_text(R"({"id":)" + std::to_string(n) + R"(,"method":")"
                       + (n % 2 != 0 ? "state.get" : "agent.getTree") + R"(","params":{}})");
  ann.say(all);
  auto heard = ann.hear(R"("id":)" + std::to_string(commands) + ',');
  std::size_t at = 0;
  for (int n = 1; n <= commands; ++n) {
    at = heard.find(R"("id":)" + std::to_string(n) + ',', at);
    BOOST_REQUIRE_MESSAGE(at != std::string::npos, "the answer to command " << n);
  }
}

BOOST_AUTO_TEST_CASE(tools_of_mcp_are_the_assistants_that_a_filter_lets_pass) {
  agent_server server{all_owned_options()};
  BOOST_TEST(ask_rpc(server, "/mcp", as_ann, "tools/list")["result"]["tools"].empty());
  ask(server, "POST", "/assistants", as_ann, R"({"graph_id":"adder","name":"of_ann"})");
  auto hers = ask_rpc(server, "/mcp", as_ann, "tools/list")["result"]["tools"];
  BOOST_REQUIRE(hers.size() == 1u);
  BOOST_TEST(hers[0]["name"] == value("of_ann"));
  BOOST_TEST(ask_rpc(server, "/mcp", as_bob, "tools/list")["result"]["tools"].empty());
  auto call = value::map({{"name", "of_ann"}, {"arguments", value::map({{"n", 1}})}});
  auto answer = ask_rpc(server, "/mcp", as_ann, "tools/call", call);
  BOOST_TEST(answer["result"]["content"][0]["text"] == value("{'n': 2}"));
  BOOST_TEST(ask_rpc(server, "/mcp", as_bob, "tools/call", call)["error"]["code"] == value(-32602));
  BOOST_TEST(ask_rpc(server, "/mcp", as_guest, "ping")["result"] == value::map());
  auto listing = R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})";
  BOOST_TEST(ask(server, "POST", "/mcp", as_guest, listing).status == 403);
}

BOOST_AUTO_TEST_CASE(agents_of_a2a_are_the_assistants_that_a_filter_lets_pass) {
  agent_server server{all_owned_options()};
  auto made = ask(server, "POST", "/assistants", as_ann, R"({"graph_id":"adder"})");
  auto id = text_of_member(made.body, "assistant_id");
  auto root = "/.well-known/agent-card.json?assistant_id=" + id;
  for (const auto& card : {"/a2a/" + id + "/.well-known/agent-card.json", root}) {
    BOOST_TEST(ask(server, "GET", card, as_ann).status == 200);
    BOOST_TEST(ask(server, "GET", card, as_bob).status == 400);
  }
  auto sent = ask_rpc(server, "/a2a/" + id, as_ann, "message/send", sent_number());
  BOOST_TEST(sent["result"]["status"]["state"] == value("completed"));
  BOOST_TEST(ask_rpc(server, "/a2a/" + id, as_bob, "message/send", sent_number())["error"]["code"]
             == value(-32602));
}

BOOST_AUTO_TEST_CASE(tasks_of_a2a_are_their_senders_own) {
  agent_server server{owned_options()};
  const auto agent = "/a2a/" + default_assistant_id("adder");
  auto task = ask_rpc(server, agent, as_ann, "message/send", sent_number())["result"];
  BOOST_TEST(task["status"]["state"] == value("completed"));
  auto context = text_of_member(task, "contextId");
  BOOST_TEST(ask(server, "GET", "/threads/" + context, as_ann).status == 200);
  BOOST_TEST(ask(server, "GET", "/threads/" + context, as_bob).status == 404);
  auto by_id = value::map({{"id", task["id"]}});
  BOOST_TEST(ask_rpc(server, agent, as_ann, "tasks/get", by_id)["result"]["id"] == task["id"]);
  for (const char* method : {"tasks/get", "tasks/cancel", "tasks/resubscribe"})
    BOOST_TEST(ask_rpc(server, agent, as_bob, method, by_id)["error"]["code"] == value(-32001),
               method);
  auto same = sent_number(value::map({{"contextId", context}}));
  BOOST_TEST(ask_rpc(server, agent, as_bob, "message/send", same)["error"]["code"]
             == value(-32602));
  BOOST_TEST(ask_rpc(server, agent, as_ann, "message/send", same)["result"]["contextId"]
             == value(context));
}

/// The questions of requests to an authoriser that allows everything.
struct counted_questions {
  std::mutex mutex;
  std::string all;
  agent_server server{options()};

  server_options options() {
    auto out = owned_options();
    out.authorise = [this](const access_question& asked) -> access_verdict {
      std::lock_guard lock{mutex};
      all += std::string{asked.what.resource} + ':' + std::string{asked.what.action} + ' ';
      return {.filter = value::map({{"owner", asked.who.identity}})};
    };
    return out;
  }
  std::string taken() {
    std::lock_guard lock{mutex};
    return std::exchange(all, {});
  }
};

BOOST_FIXTURE_TEST_CASE(an_authoriser_is_asked_once_for_what_a_message_touches, counted_questions) {
  auto made = ask(server, "POST", "/assistants", as_ann, R"({"graph_id":"adder","name":"adds"})");
  auto id = text_of_member(made.body, "assistant_id");
  BOOST_TEST(taken() == "assistants:create ");

  for (const char* method : {"initialize", "ping"})
    ask_rpc(server, "/mcp", as_ann, method);
  BOOST_TEST(ask(server, "GET", "/mcp", as_ann).status == 405);
  BOOST_TEST(ask(server, "DELETE", "/mcp", as_ann).status == 404);
  BOOST_TEST(taken() == "");
  ask_rpc(server, "/mcp", as_ann, "tools/list");
  BOOST_TEST(taken() == "assistants:search ");
  auto call = value::map({{"name", "adds"}, {"arguments", value::map({{"n", 1}})}});
  auto called = ask_rpc(server, "/mcp", as_ann, "tools/call", call);
  BOOST_TEST(called["result"]["content"][0]["text"] == value("{'n': 2}"));
  BOOST_TEST(taken() == "assistants:search threads:create_run ");

  const auto agent = "/a2a/" + id;
  BOOST_TEST(ask(server, "GET", agent + "/.well-known/agent-card.json", as_ann).status == 200);
  BOOST_TEST(taken() == "assistants:read ");
  auto task = ask_rpc(server, agent, as_ann, "message/send", sent_number())["result"];
  BOOST_TEST(task["status"]["state"] == value("completed"));
  BOOST_TEST(taken() == "threads:create_run assistants:read ");
  auto by_id = value::map({{"id", task["id"]}});
  ask_rpc(server, agent, as_ann, "tasks/get", by_id);
  BOOST_TEST(taken() == "threads:read ");
  ask_rpc(server, agent, as_ann, "tasks/cancel", by_id);
  BOOST_TEST(taken() == "threads:update ");
  ask_rpc(server, agent, as_ann, "nothing");
  BOOST_TEST(taken() == "");
}

BOOST_AUTO_TEST_CASE(an_authoriser_sees_the_members_of_path_and_query) {
  auto options = owned_options();
  agent_server server{options};
  auto put = [&](const char* as, const char* space) {
    return ask(server, "PUT", "/store/items", as,
               std::string{R"({"namespace":[")"} + space + R"("],"key":"k","value":{}})")
      .status;
  };
  BOOST_TEST(put(as_ann, "ann") == 204);
  BOOST_TEST(put(as_bob, "ann") == 403);
  BOOST_TEST(ask(server, "GET", "/store/items?namespace=ann&key=k", as_ann).status == 200);
  BOOST_TEST(ask(server, "GET", "/store/items?namespace=ann&key=k", as_bob).status == 403);
  BOOST_TEST(ask(server, "GET", "/store/items?namespace=ann&namespace=bob&key=k", as_bob).status
             == 403);
}

BOOST_AUTO_TEST_CASE(a_filter_that_has_no_effect_is_an_error) {
  auto options = owned_options();
  options.authorise = [](const access_question&) -> access_verdict {
    return {.filter = value::map({{"owner", "ann"}})};
  };
  agent_server server{options};
  BOOST_TEST(ask(server, "GET", "/store/items?namespace=ann&key=k", as_ann).status == 500);
}

BOOST_AUTO_TEST_CASE(records_in_a_database_are_those_of_the_next_server) {
  auto options = options_with_graph();
  options.postgres = troupe::test::postgres_server::of_this_program().fresh_options();
  std::string path;
  {
    agent_server server{options};
    auto thread = ask(server, "POST", "/threads", "", "{}");
    path = "/threads/" + text_of_member(thread.body, "thread_id");
    auto run = ask(server, "POST", path + "/runs/wait", "",
                   R"({"assistant_id":"adder","input":{"n":1}})");
    BOOST_TEST(run.body["n"] == value(2));
    BOOST_TEST(
      ask(server, "PUT", "/store/items", "", R"({"namespace":["a"],"key":"k","value":{"v":1}})")
        .status
      == 204);
  }
  agent_server server{options};
  BOOST_TEST(ask(server, "GET", path + "/state").body["values"]["n"] == value(2));
  BOOST_TEST(ask(server, "GET", "/store/items?namespace=a&key=k").body["value"]["v"] == value(1));
}

BOOST_AUTO_TEST_CASE(new_threads_get_the_time_to_live_of_the_options) {
  auto options = options_with_graph();
  options.expiry = {.minutes = 60, .strategy = "keep_latest"};
  agent_server server{options};
  auto ttl_of = [&server](const std::string& body) {
    auto made = ask(server, "POST", "/threads", "", body);
    auto id = text_of_member(made.body, "thread_id");
    return to_json(ask(server, "GET", "/threads/" + id + "?include=ttl").body["ttl"]);
  };
  BOOST_TEST(ttl_of("{}") == R"({"strategy":"keep_latest","ttl":60.0})");
  BOOST_TEST(ttl_of(R"({"ttl":{"ttl":5}})") == R"({"strategy":"delete","ttl":5.0})");
}

BOOST_AUTO_TEST_CASE(a_graph_that_is_replaced_answers_new_runs_and_questions) {
  auto options = options_with_graph();
  options.graphs.emplace_back("other", adder());
  agent_server server{options};
  auto thread = text_of_member(ask(server, "POST", "/threads", "", "{}").body, "thread_id");
  auto run = [&] {
    auto body = R"({"assistant_id": "adder", "input": {}})";
    return ask(server, "POST", "/threads/" + thread + "/runs/wait", "", body).body["n"];
  };
  auto shown = [&](const std::string& graph, const std::string& what) {
    return to_json(ask(server, "GET", "/assistants/" + graph + '/' + what).body);
  };
  BOOST_TEST(run() == value(1));
  BOOST_TEST((shown("adder", "subgraphs") == "{}"));

  state_graph<> inner{{{"n", sum}}};
  inner.add_node("ten", [] { return state_update{{"n", 10}}; });
  inner.add_edge(START, "ten");
  state_graph<> g{{{"n", sum}, {"note", last_value}}};
  g.add_node("within", inner.compile({.name = "inner"}));
  g.add_edge(START, "within");
  server.replace_graph("adder", g.compile({.name = "adder"}));
  BOOST_TEST(run() == value(12)); // 1, which the inner graph adds to, and 1 of before
  for (const char* what : {"graph", "subgraphs"})
    BOOST_TEST((shown("adder", what).find("within") != std::string::npos), what);
  BOOST_TEST((shown("adder", "schemas").find("note") != std::string::npos));
  BOOST_TEST((shown("other", "graph").find("within") == std::string::npos));
  BOOST_CHECK_EXCEPTION(server.replace_graph("nothing", adder()), error,
                        [](const error& why) { return why.code() == errc::unknown_graph; });
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::server::test
