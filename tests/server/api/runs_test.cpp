// Runs as clients see them: cancelled together, with an output schema, at breakpoints.
#include "tests/server/served_rooms.hpp"

namespace troupe::server::test {
namespace {

BOOST_AUTO_TEST_SUITE(runs_api)

BOOST_AUTO_TEST_CASE(of_runs_that_are_cancelled_together_those_that_wait_come_first) {
  served_rooms server;
  auto thread = server.post("/threads", value::map()).json()["thread_id"].as<std::string>();
  auto messages = value::list({value::map({{"role", "user"}, {"content", "wait"}})});
  auto request = value::map(
    {{"assistant_id", "chat"}, {"input", value::map({{"messages", std::move(messages)}})}});
  auto runs_path = "/threads/" + thread + "/runs";
  auto running = server.post(runs_path, request).json()["run_id"];
  server.at->wait_for(1);
  auto waiting = server.post(runs_path, request).json()["run_id"];

  auto both = value::map({{"thread_id", thread}, {"run_ids", value::list({running, waiting})}});
  BOOST_TEST(server.post("/runs/cancel", both).status == 204);

  auto stored = [&](const value& id) {
    return server.ask("GET", runs_path + '/' + id.as<std::string>()).json();
  };
  BOOST_TEST(stored(waiting)["status"] == value("interrupted"));
  BOOST_TEST(stored(waiting)["updated_at"].as<std::string>()
             < stored(running)["updated_at"].as<std::string>());
}

BOOST_AUTO_TEST_CASE(clients_see_the_channels_of_the_output_schema) {
  served_rooms server;
  auto thread = server.post("/threads", value::map()).json()["thread_id"].as<std::string>();
  auto body = value::map({{"assistant_id", "narrow"}, {"input", value::map({{"shown", 1}})}});
  auto shown = value::map({{"shown", 2}});
  BOOST_TEST(server.post("/threads/" + thread + "/runs/wait", body).json() == shown);
  body = body.with("stream_mode", value::list({"values", "updates"}));
  auto events = server.post("/threads/" + thread + "/runs/stream", body).body;
  BOOST_TEST(events.find("{\"shown\":2}") != events.npos);
  BOOST_TEST(events.find("hidden") == events.npos);
  auto state = server.ask("GET", "/threads/" + thread + "/state").json();
  BOOST_TEST(state["values"]["hidden"] == value("secret")); // the state is all of it
}

BOOST_AUTO_TEST_CASE(a_breakpoint_after_the_last_node_leaves_the_thread_idle) {
  served_rooms server;
  auto thread = server.post("/threads", value::map()).json()["thread_id"].as<std::string>();
  auto body = value::map(
    {{"assistant_id", "plain"}, {"input", value::map()}, {"interrupt_after", value::list({"a"})}});
  BOOST_TEST(server.post("/threads/" + thread + "/runs/wait", body).status == 200);
  BOOST_TEST(server.ask("GET", "/threads/" + thread).json()["status"] == value("idle"));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace
} // namespace troupe::server::test
