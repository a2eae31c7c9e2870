// Paths, queries and places of an Agent Server.
#include "client/addresses.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe {

BOOST_AUTO_TEST_SUITE(client_addresses)

BOOST_AUTO_TEST_CASE(a_segment_is_encoded_so_that_it_stays_one) {
  BOOST_TEST(escaped_segment("agent.v1") == "agent.v1");
  BOOST_TEST(escaped_segment("a/b?c#d e") == "a%2Fb%3Fc%23d%20e");
  BOOST_TEST(escaped_segment("..") == "%2E%2E");
  BOOST_TEST(escaped_segment("ü") == "%C3%BC");
  BOOST_TEST(path_of({"threads", "../runs", "state"}) == "/threads/..%2Fruns/state");
}

BOOST_AUTO_TEST_CASE(a_query_has_what_was_given_alone) {
  queried_path path{"/runs"};
  path.add("status", std::string_view{}).add("limit", std::uint64_t{3}).add_flag("wait", false);
  path.add("action", std::string_view{"a&b"});
  BOOST_TEST(path.text() == "/runs?limit=3&action=a%26b");
}

BOOST_AUTO_TEST_CASE(the_place_of_a_run_has_a_thread_or_none) {
  auto run = place_of_run("/prefix/threads/T/runs/R");
  BOOST_REQUIRE(run.has_value());
  BOOST_TEST(run->thread_id == "T");
  BOOST_TEST(run->run_id == "R");
  BOOST_TEST(run->path == "/threads/T/runs/R");
  BOOST_TEST(place_of_run("/runs/R")->path == "/runs/R");
  BOOST_TEST(!place_of_run("/threads/T"));
  BOOST_TEST(!place_of_run("/runs/R/stream"));
  BOOST_TEST(!place_of_run(""));
}

BOOST_AUTO_TEST_CASE(a_stream_names_its_run_unless_the_run_has_no_thread) {
  BOOST_TEST(run_url_of("http://h/threads/T/runs/R/stream?x=1") == "http://h/threads/T/runs/R");
  BOOST_TEST(run_url_of("/threads/T/runs/R/join") == "/threads/T/runs/R");
  BOOST_TEST(run_url_of("/runs/R/stream").empty());
  BOOST_TEST(run_url_of("/threads/T/stream").empty());
}

BOOST_AUTO_TEST_CASE(an_origin_is_scheme_host_and_port) {
  BOOST_TEST(has_same_origin("http://Host:80/a", "http://host/b"));
  BOOST_TEST(has_same_origin("https://host", "https://host:443/x"));
  BOOST_TEST(!has_same_origin("http://host", "https://host"));
  BOOST_TEST(!has_same_origin("http://host:1", "http://host:2"));
  BOOST_TEST(!has_same_origin("http://host", "http://host.evil"));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
