// Threads whose time is over.
#include "server/rules/ids.hpp"
#include "server/rules/thread_ttl.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe::server::test {
namespace {

constexpr std::int64_t changed = 1'700'000'000'000'000;
constexpr std::int64_t minute = 60'000'000;

thread_record thread_with(std::optional<double> minutes, std::string strategy = "delete") {
  return {
    .updated_at = time_text(changed), .ttl_minutes = minutes, .ttl_strategy = std::move(strategy)};
}

} // namespace

BOOST_AUTO_TEST_SUITE(server_thread_ttl)

BOOST_AUTO_TEST_CASE(a_thread_without_a_time_to_live_stays) {
  BOOST_TEST((due_end(thread_with(std::nullopt), changed * 2) == thread_end::none));
}

BOOST_AUTO_TEST_CASE(a_thread_is_due_so_long_after_its_last_change) {
  auto thread = thread_with(1.5);
  BOOST_TEST((due_end(thread, changed + minute) == thread_end::none));
  BOOST_TEST((due_end(thread, changed + 3 * minute / 2 - 1) == thread_end::none));
  BOOST_TEST((due_end(thread, changed + 3 * minute / 2) == thread_end::removal));
  BOOST_TEST((due_end(thread, changed - minute) == thread_end::none)); // a clock that went back
}

BOOST_AUTO_TEST_CASE(a_thread_with_a_run_in_flight_lives) {
  auto thread = thread_with(1);
  thread.inflight = {"run"};
  BOOST_TEST((due_end(thread, changed + 10 * minute) == thread_end::none));
}

BOOST_AUTO_TEST_CASE(a_pruned_thread_is_due_again_after_its_next_change) {
  auto thread = thread_with(1, "keep_latest");
  BOOST_TEST((due_end(thread, changed + minute) == thread_end::pruning));
  thread.pruned_as_of = thread.updated_at;
  BOOST_TEST((due_end(thread, changed + minute) == thread_end::none));
  thread.updated_at = time_text(changed + minute);
  BOOST_TEST((due_end(thread, changed + 2 * minute) == thread_end::pruning));
  BOOST_TEST(thread_record::of(thread.body()).pruned_as_of == thread.pruned_as_of);
}

BOOST_AUTO_TEST_CASE(a_thread_without_a_readable_time_stays) {
  auto thread = thread_with(1);
  thread.updated_at = "yesterday";
  BOOST_TEST((due_end(thread, changed * 2) == thread_end::none));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::server::test
