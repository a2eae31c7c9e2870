// Assistants and their versions.
#include "tests/server/served_rooms.hpp"

namespace troupe::server::test {

BOOST_AUTO_TEST_SUITE(server_assistants)

BOOST_AUTO_TEST_CASE(a_version_that_is_made_the_latest_comes_whole) {
  served_rooms server;
  auto settings = [](int k) {
    return value::map({{"graph_id", "plain"}, {"context", value::map({{"k", k}})}});
  };
  auto made = server.post("/assistants", settings(1)).json();
  auto path = "/assistants/" + made["assistant_id"].as<std::string>();
  auto changed = server.ask("PATCH", path, to_json(settings(2))).json();
  BOOST_TEST(changed["context"]["k"] == value(2));
  auto latest = server.post(path + "/latest", value::map({{"version", 1}})).json();
  for (const auto& one : {latest, server.ask("GET", path).json()}) {
    BOOST_TEST(one["version"] == value(1));
    BOOST_TEST(one["context"] == made["context"]);
    BOOST_TEST(one["config"] == made["config"]);
  }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::server::test
