// The parts of a run as events of the thread protocol.
#include "server/protocol/run_translation.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe::server {

BOOST_AUTO_TEST_SUITE(server_run_translation)

BOOST_AUTO_TEST_CASE(a_question_is_taken_once_after_the_run_asked_it) {
  auto question = value::map({{"id", "q"}, {"value", "approve?"}});
  stream_part asks;
  asks.mode = stream_mode::updates;
  asks.data = value::map({{"__interrupt__", value::list({question})}});
  run_translation run{"graph"};
  run.take_question("q");
  BOOST_TEST(!run.has_question("q"));
  auto events = run.part(asks);
  BOOST_REQUIRE(events.size() == 1);
  BOOST_TEST(events[0].method == "input.requested");
  BOOST_TEST(!run.has_question("another"));
  BOOST_TEST(run.has_question("q"));
  run.take_question("q");
  BOOST_TEST(!run.has_question("q"));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::server
