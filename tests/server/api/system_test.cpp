// The routes that monitors and load balancers ask.
#include "tests/server/served_rooms.hpp"

namespace troupe::server::test {
namespace {

bool has_count(const heard_answer& metrics, const std::string& line) {
  return metrics.body.find('\n' + line + '\n') != metrics.body.npos;
}

} // namespace

BOOST_AUTO_TEST_SUITE(server_system)

BOOST_AUTO_TEST_CASE(a_server_is_ready_only_between_its_start_and_its_end) {
  served_rooms server;
  BOOST_TEST(server.ask("GET", "/ready").status == 200);
  for (auto phase : {server_phase::starting, server_phase::draining}) {
    server.status.phase = phase;
    auto answer = server.ask("GET", "/ready");
    BOOST_TEST(answer.status == 503);
    BOOST_TEST(answer.has_header("Retry-After: 1\r\n"));
    BOOST_TEST(answer.json()["ready"] == value(false));
    BOOST_TEST(answer.json()["detail"].is_string());
    BOOST_TEST(server.ask("GET", "/live").status == 200); // it lives all the time
    BOOST_TEST(server.ask("GET", "/ok?check_db=1").json() == value::map({{"ok", true}}));
  }
}

BOOST_AUTO_TEST_CASE(metrics_count_requests_and_runs) {
  served_rooms server;
  server.post("/runs/wait", value::map({{"assistant_id", "plain"}, {"input", value::map()}}));
  server.post("/runs/wait", value::map({{"assistant_id", "fail"}, {"input", value::map()}}));
  server.ask("GET", "/nope");
  auto metrics = server.ask("GET", "/metrics");
  BOOST_TEST(metrics.status == 200);
  BOOST_TEST(metrics.has_header("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
  BOOST_TEST(has_count(
    metrics, R"(troupe_http_requests_total{method="POST",route="/runs/wait",status="200"} 2)"));
  BOOST_TEST(
    has_count(metrics, R"(troupe_http_requests_total{method="",route="",status="404"} 1)"));
  BOOST_TEST(has_count(metrics, R"(troupe_runs{status="running"} 0)"));
}

BOOST_AUTO_TEST_CASE(metrics_show_the_runs_and_streams_of_now) {
  served_rooms server;
  troupe::test::raw_client client{server.edge->port()};
  client.say(server.text_of(
    "POST", "/runs/stream",
    R"({"assistant_id":"chat","input":{"messages":[{"role":"user","content":"wait"}]}})", ""));
  client.hear("event: metadata");
  server.at->wait_for(1);
  auto json = server.ask("GET", "/metrics?format=json").json();
  BOOST_TEST(json["queue"]["num_running"] == value(1));
  BOOST_TEST(json["workers"]["active"] == value(1));
  BOOST_TEST(json["api"]["streams"] == value(1));
  server.at->open();
  client.hear_all();
  json = server.ask("GET", "/metrics?format=json").json();
  BOOST_TEST(json["queue"]["num_running"] == value(0));
  BOOST_TEST(json["api"]["streams"] == value(0));
}

BOOST_AUTO_TEST_CASE(metrics_are_refused_in_an_unknown_format_and_before_the_start) {
  served_rooms server;
  BOOST_TEST(server.ask("GET", "/metrics?format=xml").status == 422);
  server.status.edge = nullptr;
  BOOST_TEST(server.ask("GET", "/metrics").status == 503);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::server::test
