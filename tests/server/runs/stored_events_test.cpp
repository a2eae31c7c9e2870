// Events as documents: batches, holes, removal.
#include "server/runs/document_changes.hpp"
#include "server/runs/stored_events.hpp"

#include <troupe/server/limits.hpp>

#include <boost/test/unit_test.hpp>

namespace troupe::server {
namespace {

struct kept_events {
  std::shared_ptr<document_store> documents = memory_documents();
  void add(const std::string& run, std::uint64_t seq) const {
    documents->commit_and_wait({change_to_event(run, {seq, "e", std::to_string(seq)})}).value();
  }
};

BOOST_FIXTURE_TEST_SUITE(server_stored_events, kept_events)

BOOST_AUTO_TEST_CASE(events_are_read_in_batches_in_their_order) {
  const auto count = limits::server_events_read + 5;
  for (auto seq = count; seq > 0; --seq)
    add("r", seq);
  add("r2", 1);
  BOOST_TEST(last_stored_event(*documents, "r") == count);
  auto first = stored_events_after(*documents, "r", 0);
  BOOST_TEST(first.size() == limits::server_events_read);
  auto rest = stored_events_after(*documents, "r", first.back().seq);
  BOOST_TEST(rest.size() == 5u);
  BOOST_TEST(rest.back().data == std::to_string(count));
  BOOST_TEST(stored_events_after(*documents, "r", count).empty());
}

BOOST_AUTO_TEST_CASE(a_hole_in_the_numbers_is_passed) {
  add("r", 2);
  add("r", 2 + limits::server_run_events_gap);
  add("r", 3 + limits::server_run_events_gap);
  BOOST_TEST(stored_events_after(*documents, "r", 0).size() == 1u);
  BOOST_TEST(stored_events_after(*documents, "r", 2).size() == 2u);
}

BOOST_AUTO_TEST_CASE(events_of_one_run_are_removed) {
  add("r", 1);
  add("s", 1);
  documents->commit_and_wait(removal_of_events(*documents, "r")).value();
  BOOST_TEST(last_stored_event(*documents, "r") == 0u);
  BOOST_TEST(last_stored_event(*documents, "s") == 1u);
  BOOST_TEST(first_of_id("r/00000000000000000001") == "r");
  BOOST_TEST(second_of_id("r/00000000000000000001") == "00000000000000000001");
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace
} // namespace troupe::server
