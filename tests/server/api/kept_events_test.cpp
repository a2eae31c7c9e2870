// Events of a run that may be over before its creator knows it.
#include "server/api/kept_events.hpp"

#include <boost/test/unit_test.hpp>

#include <string>

namespace troupe::server::test {
namespace {

event_reader writing_to(std::string& out) {
  return {.event = [&out](const run_event& event) { out += event.name + ' '; },
          .end = [&out] { out += "end"; }};
}

} // namespace

BOOST_AUTO_TEST_SUITE(server_kept_events)

BOOST_AUTO_TEST_CASE(a_run_that_is_over_is_read_from_its_first_event_on) {
  std::string heard;
  auto events = std::make_shared<kept_events>();
  {
    event_log log{0};
    events->watch(log);
    log.append("a", "{}");
    log.append("b", "{}");
    log.close();
  }
  events->begin(writing_to(heard));
  BOOST_TEST(heard == "a b end");
}

BOOST_AUTO_TEST_CASE(later_events_follow_the_kept_ones) {
  std::string heard;
  event_log log{0};
  auto events = std::make_shared<kept_events>();
  events->watch(log);
  log.append("a", "{}");
  events->begin(writing_to(heard));
  BOOST_TEST(heard == "a ");
  log.append("b", "{}");
  log.close();
  BOOST_TEST(heard == "a b end");
}

BOOST_AUTO_TEST_CASE(events_are_gone_with_their_end) {
  std::weak_ptr<kept_events> seen;
  event_log log{0};
  {
    auto events = std::make_shared<kept_events>();
    seen = events;
    events->watch(log);
    events->begin({});
  }
  BOOST_TEST(!seen.expired()); // held by its reading
  log.append("a", "{}");
  log.close();
  BOOST_TEST(seen.expired());
}

BOOST_AUTO_TEST_CASE(a_log_that_is_closed_already_ends_at_once) {
  std::string heard;
  event_log log{0};
  log.close();
  auto events = std::make_shared<kept_events>();
  events->watch(log);
  events->begin(writing_to(heard));
  BOOST_TEST(heard == "end");
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::server::test
