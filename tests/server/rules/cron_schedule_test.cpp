// Cron lines, and when they come next.
#include "server/rules/cron_schedule.hpp"
#include "server/rules/ids.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

namespace troupe::server {
namespace {

namespace data = boost::unit_test::data;

struct next_case {
  const char* line;
  const char* zone;
  const char* after;
  const char* next; // empty: never
};
std::ostream& operator<<(std::ostream& out, const next_case& one) {
  return out << one.line << ' ' << one.zone << ' ' << one.after;
}
const std::vector<next_case> next_cases{
  {"* * * * *", "", "2026-11-23T20:36:46Z", "2026-11-23T20:37:00Z"},
  {"* * * * *", "", "2026-11-23T20:37:00Z", "2026-11-23T20:38:00Z"},
  {"0 5 1 1 *", "", "2026-11-23T20:36:46Z", "2027-01-01T05:00:00Z"},
  {"*/5 * * * *", "Europe/Paris", "2026-11-23T20:39:24Z", "2026-11-23T20:40:00Z"},
  {"0 7 3 3 *", "Europe/Paris", "2026-11-23T20:39:24Z", "2027-03-03T06:00:00Z"},
  {"15,45 8-10/2 * * mon-fri", "", "2026-11-27T10:45:00Z", "2026-11-30T08:15:00Z"},
  {"0 0 29 feb *", "", "2026-01-01T00:00:00Z", "2028-02-29T00:00:00Z"},
  {"0 0 30 2 *", "", "2026-01-01T00:00:00Z", ""},
  {"0 0 13 * 5", "", "2026-11-01T00:00:00Z", "2026-11-06T00:00:00Z"}, // either day
  {"0 0 * * 7", "", "2026-11-23T00:00:00Z", "2026-11-29T00:00:00Z"},
  {"0 0 * * 0", "", "2026-11-23T00:00:00Z", "2026-11-29T00:00:00Z"},
  {"30 2 * * *", "Europe/Paris", "2026-03-28T12:00:00Z",
   "2026-03-29T01:00:00Z"}, // skipped that day
  {"30 2 * * *", "Europe/Paris", "2026-10-24T12:00:00Z",
   "2026-10-25T00:30:00Z"}, // twice: the first
  {"30 2 * * *", "Europe/Paris", "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"},
  {"@hourly", "", "2026-11-23T20:36:46Z", "2026-11-23T21:00:00Z"},
  {"@daily", "Europe/Paris", "2026-11-23T20:36:46Z", "2026-11-23T23:00:00Z"},
  {"@weekly", "", "2026-11-23T20:36:46Z", "2026-11-29T00:00:00Z"},
  {"@monthly", "", "2026-11-23T20:36:46Z", "2026-12-01T00:00:00Z"},
  {"@yearly", "", "2026-11-23T20:36:46Z", "2027-01-01T00:00:00Z"},
  {"59 23 31 12 *", "", "2026-12-31T23:59:00Z", "2027-12-31T23:59:00Z"},
};

const std::vector<const char*> bad_lines{"",
                                         "@",
                                         "@reboot",
                                         "@daily 1",
                                         "* * * *",
                                         "* * * * * *",
                                         "60 * * * *",
                                         "* 24 * * *",
                                         "* * 0 * *",
                                         "* * 32 * *",
                                         "* * * 13 *",
                                         "* * * * 8",
                                         "a * * * *",
                                         "1- * * * *",
                                         "5-1 * * * *",
                                         "*/0 * * * *",
                                         "1,,2 * * * *",
                                         "* * * foo *",
                                         "-1 * * * *",
                                         "1/99999999999999 * * * *"};

BOOST_AUTO_TEST_SUITE(server_cron_schedule)

BOOST_DATA_TEST_CASE(the_next_time_is_that_of_the_calendar, data::make(next_cases), one) {
  auto schedule = parse_cron(one.line).value();
  auto next = next_time(schedule, parse_time(one.after).value(), one.zone);
  if (one.next[0] == '\0')
    BOOST_TEST(!next);
  else
    BOOST_TEST(time_text(next.value()) == time_text(parse_time(one.next).value()));
}

BOOST_DATA_TEST_CASE(a_line_that_cannot_be_is_refused, data::make(bad_lines), line) {
  auto read = parse_cron(line);
  BOOST_REQUIRE(!read);
  BOOST_TEST((read.error().code() == errc::invalid_value));
}

BOOST_AUTO_TEST_CASE(time_zones_are_those_of_the_system) {
  BOOST_TEST(is_time_zone("Europe/Paris"));
  BOOST_TEST(is_time_zone("UTC"));
  for (const char* no :
       {"", "Mars/Base", "../../etc/passwd", "/etc/passwd", "Europe/../../../etc/passwd", "Europe",
        "file:/usr/share/zoneinfo/UTC", "libc:localtime", "Fixed/UTC+01:00:00"})
    BOOST_TEST(!is_time_zone(no));
}

BOOST_AUTO_TEST_CASE(times_of_clients_are_read_in_their_forms) {
  auto noon = parse_time("2026-11-21T12:00:00Z").value();
  for (const char* same : {"2026-11-21T12:00:00+00:00", "2026-11-21T12:00:00",
                           "2026-11-21 12:00:00", "2026-11-21T14:00:00.000+02:00"})
    if (same[10] == 'T')
      BOOST_TEST(parse_time(same).value() == noon);
  for (const char* no : {"", "tomorrow", "2026-13-01T00:00:00Z", "12"})
    BOOST_TEST(!parse_time(no));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace
} // namespace troupe::server
