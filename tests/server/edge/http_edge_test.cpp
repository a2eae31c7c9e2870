// The edge over real sockets: who is asked, what is answered, and what happens when all is full.
#include "server/edge/authenticators.hpp"
#include "server/edge/events.hpp"
#include "server/edge/http_edge.hpp"
#include "server/edge/refusal.hpp"
#include "tests/fixtures/raw_client.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <poll.h>

#include <future>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace troupe::server::test {
namespace {

namespace data = boost::unit_test::data;
using namespace std::chrono_literals;
using troupe::test::raw_client;

// A server with some routes, and the lines of its log.
class edge_server {
public:
  explicit edge_server(edge_options options = {}) {
    options.log = [this](const std::string& line) {
      std::scoped_lock lock{mutex_};
      lines_.push_back(line);
    };
    router routes;
    auto add = [&routes](const char* method, const char* pattern, api_handler handle,
                         bool is_public = false) {
      routes.add({.method = method,
                  .pattern = pattern,
                  .handle = std::move(handle),
                  .access = {"things", "read"},
                  .is_public = is_public});
    };
    add(
      "GET", "/ok",
      [](const api_call&, const http_responder& to) {
        to.send(json_answer({{"ok", true}}));
      },
      true);
    add("POST", "/things/{id}", [](const api_call& call, const http_responder& to) {
      to.send(json_answer(value::map({{"id", call.parameters.at(0)},
                                      {"body", json_body(call.request)},
                                      {"limit", call.query.number("limit", 10, 1, 1000)},
                                      {"who", call.who.identity},
                                      {"filter", call.filter}})));
    });
    add("GET", "/fails/{how}", [](const api_call& call, const http_responder&) {
      const auto& how = call.parameters.at(0);
      if (how == "refusal")
        throw refusal{409, "Conflict"};
      if (how == "missing")
        throw error{errc::missing_key, "no such thing"};
      if (how == "disk")
        throw error{errc::storage_failed, "the disk is on fire"};
      if (how == "number")
        throw 7;
      throw std::runtime_error{"unexpected"};
    });
    add("GET", "/waits", [this](const api_call&, const http_responder& to) {
      waiting.set_value(to);
      release.get_future().wait();
    });
    add("GET", "/events", [this](const api_call&, const http_responder& to) {
      event_writer events{to, {{"Content-Location", "/x"}}, 1ms};
      events.event("metadata", "{}", "1");
      streaming.set_value(events);
    });
    add("GET", "/slow", [this](const api_call&, const http_responder& to) {
      json_writer answer{to, {}, 1ms};
      json.set_value(answer);
    });
    edge.emplace(std::move(options), std::move(routes));
  }

  std::string ask(const std::string& request) {
    raw_client client{edge->port()};
    client.say(request);
    return client.hear_all();
  }
  std::string log() {
    std::scoped_lock lock{mutex_};
    std::string out;
    for (const auto& line : lines_)
      out += line + "\n";
    return out;
  }

  std::promise<http_responder> waiting;
  std::promise<void> release;
  std::promise<event_writer> streaming;
  std::promise<json_writer> json;

private:
  std::mutex mutex_;
  std::vector<std::string> lines_;

public:
  std::optional<http_edge> edge;
};

std::string request(const std::string& method, const std::string& target,
                    const std::string& headers = "", const std::string& body = "") {
  return method + " " + target + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" + headers
         + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != text.npos;
}

edge_options with_keys() {
  caller ann{.identity = "ann", .is_authenticated = true};
  return {.authenticate = by_api_keys({{sha256_of("key-of-ann"), ann}})};
}

} // namespace

BOOST_AUTO_TEST_SUITE(server_http_edge)

BOOST_AUTO_TEST_CASE(a_request_reaches_its_handler_with_all_it_has) {
  edge_server server;
  auto answer =
    server.ask(request("POST", "/things/a%20b?limit=7", "x-request-id: mine\r\n", R"({"n":1})"));
  BOOST_TEST(answer.starts_with("HTTP/1.1 200 OK\r\n"), answer);
  BOOST_TEST(has(answer, "Content-Type: application/json\r\n"));
  BOOST_TEST(has(answer, "x-request-id: mine\r\n"));
  BOOST_TEST(answer.ends_with(R"({"body":{"n":1},"filter":null,"id":"a b","limit":7,"who":""})"),
             answer);
}

BOOST_AUTO_TEST_CASE(a_target_in_absolute_form_is_served) {
  edge_server server;
  auto answer = server.ask(request("POST", "http://other:1/things/a?limit=7", "", "{}"));
  BOOST_TEST(answer.starts_with("HTTP/1.1 200 OK\r\n"), answer);
  BOOST_TEST(has(answer, R"("id":"a","limit":7)"), answer);
  BOOST_TEST(server.ask(request("GET", "http://other")).starts_with("HTTP/1.1 404 "));
}

struct answer_case {
  const char* name;
  std::string asked;
  const char* begin;
  const char* end;
};
std::ostream& operator<<(std::ostream& out, const answer_case& c) {
  return out << c.name;
}
const std::vector<answer_case> refused{
  {"no route", request("GET", "/nope"), "HTTP/1.1 404 ", R"({"detail":"Not Found"})"},
  {"another method", request("PUT", "/ok"), "HTTP/1.1 405 ", R"({"detail":"Method Not Allowed"})"},
  {"bad JSON", request("POST", "/things/1", "", "{bad"), "HTTP/1.1 422 ",
   R"({"detail":"Invalid JSON in request body"})"},
  {"bad query", request("POST", "/things/1?limit=0", "", "{}"), "HTTP/1.1 422 ", "1000\"}"},
  {"a refusal", request("GET", "/fails/refusal"), "HTTP/1.1 409 ", R"({"detail":"Conflict"})"},
  {"an error", request("GET", "/fails/missing"), "HTTP/1.1 404 ", R"({"detail":"no such thing"})"},
  {"an inner failure", request("GET", "/fails/disk"), "HTTP/1.1 500 ",
   R"({"detail":"Internal Server Error"})"},
  {"an exception", request("GET", "/fails/otherwise"), "HTTP/1.1 500 ",
   R"({"detail":"Internal Server Error"})"},
  {"a thrown number", request("GET", "/fails/number"), "HTTP/1.1 500 ",
   R"({"detail":"Internal Server Error"})"},
  {"the head of a route", request("HEAD", "/ok"), "HTTP/1.1 200 ", "\r\n\r\n"},
  {"a preflight",
   request("OPTIONS", "/threads",
           "Origin: http://x\r\n"
           "Access-Control-Request-Method: POST\r\n"),
   "HTTP/1.1 200 ", "\r\n\r\nOK"},
};
BOOST_DATA_TEST_CASE(each_request_has_its_answer, data::make(refused), c) {
  edge_server server;
  auto answer = server.ask(c.asked);
  BOOST_TEST(answer.starts_with(c.begin), answer);
  BOOST_TEST(answer.ends_with(c.end), answer);
  BOOST_TEST(has(answer, "x-request-id: "), answer);
}

BOOST_AUTO_TEST_CASE(the_log_names_the_requests_that_failed_inside) {
  edge_server server;
  server.ask(request("GET", "/fails/disk?secret=1", "x-request-id: r1\r\n"));
  server.ask(request("GET", "/fails/refusal", "x-request-id: r2\r\n"));
  BOOST_TEST(server.log() == "request r1: GET /fails/disk: 500 the disk is on fire\n");
}

BOOST_AUTO_TEST_CASE(a_request_id_that_does_not_fit_is_replaced) {
  edge_server server;
  for (const std::string& bad : {std::string{"a b"}, std::string(129, 'x'), std::string{"\xff"}}) {
    auto answer = server.ask(request("GET", "/ok", "x-request-id: " + bad + "\r\n"));
    BOOST_TEST(!has(answer, "x-request-id: " + bad), answer);
    auto at = answer.find("x-request-id: ") + 14;
    BOOST_TEST(answer.find("\r\n", at) == at + 32, answer);
  }
}

BOOST_AUTO_TEST_CASE(callers_without_a_key_are_refused_and_public_routes_are_not) {
  edge_server server{with_keys()};
  auto ask = [&server](const char* headers) {
    return server.ask(request("POST", "/things/1", headers, "{}"));
  };
  for (const char* headers : {"", "x-api-key: wrong\r\n", "Authorization: Basic key-of-ann\r\n",
                              "x-auth-scheme: langsmith\r\n"}) {
    auto answer = ask(headers);
    BOOST_TEST(answer.starts_with("HTTP/1.1 401 "), answer);
    BOOST_TEST(has(answer, "WWW-Authenticate: Bearer\r\n"));
    BOOST_TEST(has(answer, R"({"detail":")"));
  }
  for (const char* headers : {"x-api-key: key-of-ann\r\n", "Authorization: bearer key-of-ann\r\n"})
    BOOST_TEST(has(ask(headers), R"("who":"ann")"));
  BOOST_TEST(server.ask(request("GET", "/ok")).starts_with("HTTP/1.1 200 "));
  BOOST_TEST(server.edge->counts().unauthenticated == 4u);
}

BOOST_AUTO_TEST_CASE(an_authoriser_allows_refuses_or_filters) {
  auto options = with_keys();
  options.authorise = [](const access_question& asked) -> access_verdict {
    if (asked.body["n"] == value(0))
      return {.is_allowed = false};
    if (asked.body["n"] == value(1))
      return {.filter = value::map({{"owner", value::map({{"$unknown", 1}})}})};
    return {.filter = value::map(
              {{"owner", asked.who.identity}, {"what", std::string{asked.what.resource}}})};
  };
  edge_server server{options};
  auto ask = [&server](const char* body) {
    return server.ask(request("POST", "/things/1", "x-api-key: key-of-ann\r\n", body));
  };
  BOOST_TEST(ask(R"({"n":0})").ends_with(R"({"detail":"Forbidden"})"));
  BOOST_TEST(ask(R"({"n":1})").starts_with("HTTP/1.1 500 ")); // a wrong filter opens nothing
  BOOST_TEST(has(ask("{}"), R"("filter":{"owner":"ann","what":"things"})"));
}

BOOST_AUTO_TEST_CASE(beyond_this_host_a_server_needs_to_know_its_callers) {
  auto open = [](edge_options options) {
    options.listen.address = "0.0.0.0";
    edge_server server{std::move(options)};
  };
  BOOST_CHECK_EXCEPTION(open({}), error, [](const error& e) {
    return e.code() == errc::invalid_config && has(e.message(), "no_auth");
  });
  BOOST_CHECK_NO_THROW(open({.no_auth = true}));
  BOOST_CHECK_NO_THROW(open(with_keys()));
}

BOOST_AUTO_TEST_CASE(a_caller_beyond_its_rate_waits) {
  edge_server server{{.rate = {.per_second = 0.01, .burst = 2}}};
  for (int i = 0; i < 2; ++i)
    BOOST_TEST(server.ask(request("GET", "/ok")).starts_with("HTTP/1.1 200 "));
  auto answer = server.ask(request("GET", "/ok"));
  BOOST_TEST(answer.starts_with("HTTP/1.1 429 "), answer);
  BOOST_TEST(has(answer, "Retry-After: "));
  BOOST_TEST(server.edge->counts().rate_limited == 1u);
}

BOOST_AUTO_TEST_CASE(guessing_keys_is_slowed_down) {
  auto options = with_keys();
  options.rate = {.per_second = 0.01, .burst = 1};
  edge_server server{options};
  auto guess = request("POST", "/things/1", "x-api-key: wrong\r\n");
  BOOST_TEST(server.ask(guess).starts_with("HTTP/1.1 401 "));
  BOOST_TEST(server.ask(guess).starts_with("HTTP/1.1 429 "));
}

BOOST_AUTO_TEST_CASE(when_all_threads_are_taken_requests_are_turned_away) {
  edge_server server{{.handler_threads = 1, .queued_requests_max = 1}};
  raw_client first{server.edge->port()};
  first.say(request("GET", "/waits"));
  auto to = server.waiting.get_future().get(); // the thread is taken
  raw_client one{server.edge->port()};
  raw_client two{server.edge->port()};
  pollfd both[] = {{one.descriptor(), POLLIN, 0}, {two.descriptor(), POLLIN, 0}};
  for (auto* client : {&one, &two})
    client->say("GET /ok HTTP/1.1\r\n\r\n");
  BOOST_REQUIRE(::poll(both, 2, -1) == 1); // the queue has room for one of them
  auto& refused = both[0].revents ? one : two;
  auto& queued = both[0].revents ? two : one;
  auto answer = refused.hear("\r\n\r\n");
  BOOST_TEST(answer.starts_with("HTTP/1.1 503 "), answer);
  BOOST_TEST(has(answer, "Retry-After: 1\r\n"));
  BOOST_TEST(server.edge->counts().turned_away == 1u);
  to.send({.body = "released"});
  server.release.set_value();
  BOOST_TEST(first.hear_all().ends_with("released"));
  BOOST_TEST(queued.hear("{\"ok\":true}").starts_with("HTTP/1.1 200 "));
}

BOOST_AUTO_TEST_CASE(an_event_stream_beats_and_ends) {
  edge_server server;
  raw_client client{server.edge->port()};
  client.say("GET /events HTTP/1.1\r\nOrigin: http://x\r\n\r\n");
  auto head = client.hear("\r\n\r\n");
  for (const char* line : {"Content-Type: text/event-stream; charset=utf-8\r\n",
                           "Cache-Control: no-store\r\n", "Content-Location: /x\r\n",
                           "Access-Control-Allow-Origin: *\r\n", "Transfer-Encoding: chunked\r\n"})
    BOOST_TEST(has(head, line), head);
  BOOST_TEST(client.hear("id: 1\n\n").ends_with("event: metadata\ndata: {}\nid: 1\n\n"));
  client.hear(": heartbeat\n\r\nc\r\n: heartbeat\n\r\n");
  auto events = server.streaming.get_future().get();
  events.event("values", "{\"n\":1}");
  events.end();
  client.hear("event: values\ndata: {\"n\":1}\n\n\r\n");
  BOOST_TEST(client.hear("0\r\n\r\n").ends_with("0\r\n\r\n"));
}

BOOST_AUTO_TEST_CASE(a_reader_that_leaves_an_event_stream_is_noticed) {
  edge_server server;
  std::promise<void> gone;
  std::optional<event_writer> events; // the last handle ends the stream
  {
    raw_client client{server.edge->port()};
    client.say("GET /events HTTP/1.1\r\n\r\n");
    client.hear("id: 1\n\n");
    events = server.streaming.get_future().get();
    events->when_gone([&gone] { gone.set_value(); });
  }
  gone.get_future().wait();
}

BOOST_AUTO_TEST_CASE(a_slow_answer_is_json_after_line_ends) {
  edge_server server;
  raw_client client{server.edge->port()};
  client.say("GET /slow HTTP/1.1\r\n\r\n");
  client.hear("1\r\n\n\r\n1\r\n\n\r\n");
  server.json.get_future().get().finish("{\"n\":1}");
  client.hear("7\r\n{\"n\":1}\r\n0\r\n\r\n");
}

BOOST_AUTO_TEST_CASE(a_drain_ends_streams_and_sends_answers) {
  edge_server server;
  raw_client stream{server.edge->port()};
  stream.say("GET /events HTTP/1.1\r\n\r\n");
  stream.hear("id: 1\n\n");
  BOOST_TEST(server.edge->drain(60s, 0s));
  BOOST_TEST(stream.hear_all().ends_with("0\r\n\r\n"));
}

BOOST_AUTO_TEST_CASE(counts_are_by_route_and_status) {
  edge_server server;
  server.ask(request("GET", "/ok"));
  server.ask(request("POST", "/things/1", "", "{}"));
  server.ask(request("POST", "/things/2", "", "{}"));
  server.ask(request("BREW", "/pot"));
  auto counts = server.edge->counts();
  BOOST_TEST((counts.answered.at({"GET", "/ok", 200}) == 1u));
  BOOST_TEST((counts.answered.at({"POST", "/things/{id}", 200}) == 2u));
  BOOST_TEST((counts.answered.at({"", "", 404}) == 1u)); // names of others make no new counts
  BOOST_TEST(counts.latencies.at("/things/{id}").count == 2u);
}

BOOST_AUTO_TEST_CASE(sockets_of_pages_that_are_not_listed_are_refused) {
  edge_server server{{.cors = {.origins = {"https://a.example"}}}};
  auto answer = server.ask(
    "GET /ok HTTP/1.1\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    "Sec-WebSocket-Version: 13\r\nOrigin: https://evil.example\r\n\r\n");
  BOOST_TEST(answer.starts_with("HTTP/1.1 403 "), answer);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::server::test
