// Runs that are cancelled together.
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

BOOST_AUTO_TEST_SUITE_END()

} // namespace
} // namespace troupe::server::test
