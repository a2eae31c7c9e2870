// Places in the stream of a thread.
#include "server/rules/thread_position.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe::server::test {
namespace {

run_record run_that(const char* id, run_status status, const char* updated_at,
                    std::int64_t attempt = 1) {
  return {.run_id = id, .updated_at = updated_at, .status = status, .attempt = attempt};
}

// c ended before b, which was made earlier, and d runs; e waits, and f was cancelled before it
// began.
std::vector<run_record> runs_of_a_thread() {
  return {
    run_that("a", run_status::success, "1"),    run_that("b", run_status::error, "3"),
    run_that("c", run_status::success, "2"),    run_that("d", run_status::running, "0"),
    run_that("e", run_status::pending, "4", 0), run_that("f", run_status::interrupted, "5", 0)};
}

std::string names_after(const thread_position& at) {
  std::string out;
  for (const auto& run : runs_after(runs_of_a_thread(), at))
    out += run.run_id;
  return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(server_thread_position)

BOOST_AUTO_TEST_CASE(an_id_is_read_as_it_was_written) {
  for (const auto& at :
       {thread_position{"a", 7}, thread_position{.run_id = "a", .is_at_end = true}})
    BOOST_TEST((thread_position_after(to_string(at)) == at));
  for (const char* id : {"-", "-1"})
    BOOST_TEST((thread_position_after(id) == thread_position{}));
}

BOOST_AUTO_TEST_CASE(an_unknown_id_is_no_place) {
  for (const char* id :
       {"", "7", "1795466367351-0", "a:", ":1", "a:x", "a:1x", "a:-1", "a:99999999999999999999"})
    BOOST_TEST(!thread_position_after(id).has_value(), id);
}

BOOST_AUTO_TEST_CASE(runs_follow_each_other_as_they_ran) {
  BOOST_TEST(names_after({}) == "acbd");
  BOOST_TEST(names_after({"c", 2}) == "cbd");
  BOOST_TEST(names_after({.run_id = "c", .is_at_end = true}) == "bd");
  BOOST_TEST(names_after({"d", 1}) == "d");
}

BOOST_AUTO_TEST_CASE(after_a_run_that_was_removed_come_those_that_were_made_later) {
  BOOST_TEST(names_after({"bb", 2}) == "cd");
  BOOST_TEST(names_after({"z", 2}) == "");
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::server::test
