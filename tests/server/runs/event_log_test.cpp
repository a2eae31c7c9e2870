// The events of a run for several readers.
#include "server/runs/event_log.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe::server {
namespace {

struct heard {
  std::vector<std::string> names;
  bool ended = false;
  event_reader reader() {
    return {[this](const run_event& e) { names.push_back(e.name + std::to_string(e.seq)); },
            [this] { ended = true; }};
  }
};
using heard_names = std::vector<std::string>;

BOOST_AUTO_TEST_SUITE(server_event_log)

BOOST_AUTO_TEST_CASE(each_reader_gets_every_event_and_the_end_once) {
  event_log log{0};
  heard a;
  heard b;
  auto first = log.read(a.reader());
  auto second = log.read(b.reader());
  log.append("x", "1");
  log.append("y", "2");
  log.close();
  log.close();
  log.append("z", "3"); // too late
  BOOST_TEST(a.names == (heard_names{"x1", "y2"}));
  BOOST_TEST(b.names == a.names);
  BOOST_TEST(a.ended);
  BOOST_TEST(log.last_seq() == 2u);
}

BOOST_AUTO_TEST_CASE(a_reader_of_a_kept_log_begins_after_its_position) {
  event_log log{3};
  for (const char* name : {"a", "b", "c", "d"})
    log.append(name, "");
  heard all;
  auto one = log.read(all.reader(), 0);
  BOOST_TEST(all.names == (heard_names{"b2", "c3", "d4"})); // three are kept
  heard rest;
  auto two = log.read(rest.reader(), 3);
  log.append("e", "");
  BOOST_TEST(rest.names == (heard_names{"d4", "e5"}));
}

BOOST_AUTO_TEST_CASE(a_reader_that_joins_a_young_run_misses_nothing) {
  event_log log{0};
  log.append("a", "");
  heard joined;
  auto one = log.read(joined.reader());
  log.append("b", "");
  BOOST_TEST(joined.names == (heard_names{"a1", "b2"}));
}

BOOST_AUTO_TEST_CASE(a_reader_that_comes_before_the_stored_events_has_those_after_its_position) {
  event_log log{10};
  heard again, fresh;
  auto one = log.read(again.reader(), 2);
  auto two = log.read(fresh.reader());
  for (std::uint64_t seq : {1, 2, 3})
    log.restore({seq, "a", ""});
  log.append("b", "");
  BOOST_TEST(again.names == (heard_names{"a3", "b4"}));
  heard elsewhere; // it read on another server, where it had what is stored here only now
  auto three = log.read(elsewhere.reader(), 5);
  log.append({5, "c", ""}, true);
  log.append({6, "d", ""}, true);
  BOOST_TEST(elsewhere.names == (heard_names{"d6"}));
  BOOST_TEST(fresh.names == (heard_names{"a1", "a2", "a3", "b4", "c5", "d6"}));
}

BOOST_AUTO_TEST_CASE(events_of_earlier_attempts_are_kept_and_numbers_continue_after_them) {
  event_log log{10};
  log.restore({4, "a", ""});
  log.restore({5, "b", ""});
  log.restore({5, "again", ""});
  heard comes;
  auto one = log.read(comes.reader()); // without a position: only what comes
  log.append({9, "c", ""});
  log.append({9, "again", ""});
  log.append("d", "");
  BOOST_TEST(comes.names == (heard_names{"c9", "d10"}));
  heard rest;
  auto two = log.read(rest.reader(), 4);
  BOOST_TEST(rest.names == (heard_names{"b5", "c9", "d10"}));
}

BOOST_AUTO_TEST_CASE(a_log_shows_its_first_events_while_it_is_young_and_whether_it_is_read) {
  event_log log{0};
  BOOST_TEST(log.early_events().empty());
  log.append("a", "");
  BOOST_REQUIRE(log.early_events().size() == 1u);
  BOOST_TEST(log.early_events()[0].name == "a");
  BOOST_TEST(!log.has_readers());
  heard reads;
  auto one = log.read(reads.reader());
  BOOST_TEST(log.has_readers());
  one.reset();
  BOOST_TEST(!log.has_readers());
}

BOOST_AUTO_TEST_CASE(a_reader_that_left_hears_nothing_and_a_closed_log_ends_at_once) {
  event_log log{0};
  heard gone;
  log.read(gone.reader()).reset();
  log.append("a", "");
  BOOST_TEST(gone.names.empty());
  log.close();
  heard late;
  auto one = log.read(late.reader(), 0);
  BOOST_TEST(late.ended);
  BOOST_TEST(log.is_closed());
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace
} // namespace troupe::server
