// Threads as clients of the server see them.
#include "tests/server/served_rooms.hpp"

namespace troupe::server::test {
namespace {

std::string new_thread(const served_rooms& server, const value& body = value::map()) {
  return server.post("/threads", body).json()["thread_id"].as<std::string>();
}

void count_on(const served_rooms& server, const std::string& thread) {
  auto run = value::map({{"assistant_id", "plain"}, {"input", value::map({{"count", 5}})}});
  BOOST_REQUIRE(server.post("/threads/" + thread + "/runs/wait", run).status == 200);
}

} // namespace

BOOST_AUTO_TEST_SUITE(server_threads)

BOOST_AUTO_TEST_CASE(a_copied_thread_shows_its_values_and_is_found_by_them) {
  served_rooms server;
  auto thread = new_thread(server);
  count_on(server, thread);

  auto answer = server.ask("POST", "/threads/" + thread + "/copy").json();
  auto copy = answer["thread_id"].as<std::string>();

  BOOST_TEST(!answer.contains("values")); // as the reference answers
  auto read = server.ask("GET", "/threads/" + copy).json();
  BOOST_TEST(read["values"] == value::map({{"count", 6}, {"log", value::list({"a"})}}));
  auto found = server.post("/threads/search", value::map({{"ids", value::list({copy})},
                                                          {"values", value::map({{"count", 6}})}}));
  BOOST_TEST(found.json().size() == 1);
}

BOOST_AUTO_TEST_CASE(a_copy_of_a_thread_without_runs_has_no_values) {
  served_rooms server;
  auto copy = server.ask("POST", "/threads/" + new_thread(server) + "/copy").json();

  auto read = server.ask("GET", "/threads/" + copy["thread_id"].as<std::string>()).json();

  BOOST_TEST(!read.contains("values"));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::server::test
