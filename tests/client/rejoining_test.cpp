// Lost connections, and events that came before.
#include "client/rejoining.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe {

using std::chrono::milliseconds;

BOOST_AUTO_TEST_SUITE(client_rejoining)

BOOST_AUTO_TEST_CASE(waits_double_up_to_a_bound_and_end_until_something_arrives) {
  client_options options;
  options.reconnects_max = 4;
  options.reconnect_first = milliseconds{100};
  options.reconnect_most = milliseconds{350};
  lost_connections lost{options};
  BOOST_TEST((lost.next(0) == milliseconds{100}));
  BOOST_TEST((lost.next(0) == milliseconds{200}));
  BOOST_TEST((lost.next(0) == milliseconds{350}));
  BOOST_TEST((lost.next(1) == milliseconds{262}));
  BOOST_TEST(!lost.next(0));
  lost.progressed();
  BOOST_TEST((lost.next(0) == milliseconds{100}));
}

BOOST_AUTO_TEST_CASE(an_event_of_an_earlier_connection_is_not_new) {
  seen_events seen;
  BOOST_TEST(seen.is_new({"values", 1, "1"}));
  BOOST_TEST(seen.is_new({"updates", 2, "1"})); // an event may have the id of the one before
  BOOST_TEST(seen.is_new({"values", 3, ""}));
  seen.connected_again();
  BOOST_TEST(!seen.is_new({"values", 1, "1"}));
  BOOST_TEST(seen.is_new({"values", 3, ""}));
  BOOST_TEST(seen.is_new({"values", 4, "2"}));
}

BOOST_AUTO_TEST_CASE(the_metadata_of_a_run_come_once_also_without_ids) {
  seen_events seen;
  BOOST_TEST(seen.is_new({"metadata", value::map({{"run_id", "R"}, {"attempt", 1}}), ""}));
  seen.connected_again();
  BOOST_TEST(!seen.is_new({"metadata", value::map({{"run_id", "R"}, {"attempt", 1}}), ""}));
  BOOST_TEST(seen.is_new({"metadata", value::map({{"run_id", "R"}, {"attempt", 2}}), ""}));
}

BOOST_AUTO_TEST_CASE(the_oldest_ids_are_forgotten) {
  seen_events seen{4};
  for (auto id : {"1", "2", "3", "4"})
    seen.is_new({"values", {}, id});
  seen.connected_again();
  seen.is_new({"values", {}, "5"});
  seen.connected_again();
  BOOST_TEST(seen.is_new({"values", {}, "1"}));
  BOOST_TEST(!seen.is_new({"values", {}, "5"}));
  BOOST_TEST(!seen.is_new({"values", {}, "2"}));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
