// The tickets of a run's requests, and the one checkpoint that waits.
#include "engine/saving_book.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe {
namespace {

save_request request_of(const char* id) {
  return {.ref = {.thread_id = "t", .checkpoint_ns = "", .checkpoint_id = id},
          .writes = {},
          .put = std::nullopt};
}

} // namespace

BOOST_AUTO_TEST_SUITE(engine_saving_book)

BOOST_AUTO_TEST_CASE(sync_goes_on_when_all_is_acknowledged) {
  saving_book book;
  book.begin();
  BOOST_TEST(book.may_go_on(durability::sync));
  auto first = book.next_ticket(), second = book.next_ticket();
  BOOST_TEST(!book.may_go_on(durability::sync));
  BOOST_TEST(book.may_go_on(durability::async));
  BOOST_TEST(book.acknowledge(first));
  BOOST_TEST(!book.may_go_on(durability::sync));
  BOOST_TEST(book.acknowledge(second));
  BOOST_TEST(book.may_go_on(durability::sync));
}

BOOST_AUTO_TEST_CASE(an_answer_that_came_before_is_not_waited_for) {
  saving_book book;
  book.begin();
  auto first = book.next_ticket(), second = book.next_ticket();
  BOOST_TEST(book.acknowledge(second)); // in order: so the first one, too
  BOOST_TEST(!book.acknowledge(first));
  BOOST_TEST(!book.is_waited_for(second));
  BOOST_TEST(book.all_acknowledged());
}

BOOST_AUTO_TEST_CASE(one_checkpoint_is_in_the_queue_and_the_next_one_waits) {
  saving_book book;
  book.begin();
  auto first = book.next_ticket();
  book.put_left();
  BOOST_TEST(book.queue_is_full());
  book.hold_put(request_of("next"));
  BOOST_TEST(book.put_waits());
  BOOST_TEST(!book.may_go_on(durability::async));
  BOOST_TEST(!book.take_put().has_value()); // the queue is full
  book.acknowledge(first);
  auto put = book.take_put();
  BOOST_REQUIRE(put.has_value());
  BOOST_TEST(put->ref.checkpoint_id == "next");
  BOOST_TEST(!book.put_waits());
  BOOST_TEST(book.may_go_on(durability::async));
  BOOST_TEST(!book.take_put().has_value());
}

BOOST_AUTO_TEST_CASE(a_host_that_queues_takes_a_second_checkpoint_and_then_the_run_waits) {
  saving_book book;
  book.begin(true);
  auto first = book.next_ticket();
  book.put_left();
  BOOST_TEST(!book.queue_is_full());
  BOOST_TEST(book.may_go_on(durability::async));
  book.next_ticket();
  book.put_left();
  BOOST_TEST(book.queue_is_full());
  BOOST_TEST(!book.may_go_on(durability::async));
  book.acknowledge(first);
  BOOST_TEST(book.may_go_on(durability::async));
}

BOOST_AUTO_TEST_CASE(a_request_that_joins_the_next_one_is_covered_by_its_ticket) {
  saving_book book;
  book.begin();
  book.hold_put(request_of("input"));
  BOOST_TEST(book.may_go_on(durability::sync)); // nothing is in the queue
  auto covering = book.covering();
  BOOST_TEST(book.take_put(true).has_value());
  auto first = book.next_ticket();
  book.joins_next();
  BOOST_TEST(covering == first);
  auto second = book.next_ticket();
  BOOST_TEST(book.note_joined(first));
  BOOST_TEST(!book.note_joined(second));
  BOOST_TEST(!book.may_go_on(durability::sync));
  BOOST_TEST(book.acknowledge(second));
  BOOST_TEST(book.covers(first));
  BOOST_TEST(book.may_go_on(durability::sync));
}

BOOST_AUTO_TEST_CASE(after_a_failure_each_other_request_has_to_be_answered) {
  saving_book book;
  for (bool joined_first : {true, false}) {
    book.begin();
    auto joined = book.next_ticket();
    book.joins_next();
    book.next_ticket();
    BOOST_TEST(!book.has_failed());
    if (joined_first)
      book.note_joined(joined);
    BOOST_TEST(book.answered_after_failure() == joined_first);
    BOOST_TEST(book.has_failed());
    if (!joined_first)
      BOOST_TEST(book.answered_after_failure());
  }
  book.begin();
  auto joined = book.next_ticket();
  book.joins_next();
  auto second = book.next_ticket();
  book.note_joined(joined);
  book.acknowledge(second);
  book.next_ticket();
  book.next_ticket();
  BOOST_TEST(!book.answered_after_failure());
  BOOST_TEST(book.answered_after_failure());
}

BOOST_AUTO_TEST_CASE(at_the_end_a_checkpoint_leaves_whatever_is_in_the_queue) {
  saving_book book;
  book.begin();
  book.next_ticket();
  book.put_left();
  book.hold_put(request_of("last"));
  auto put = book.take_put(true);
  BOOST_REQUIRE(put.has_value());
  BOOST_TEST(put->ref.checkpoint_id == "last");
}

BOOST_AUTO_TEST_CASE(what_has_no_request_yet_is_covered_by_the_next_one) {
  saving_book book;
  book.begin();
  auto first = book.next_ticket();
  BOOST_TEST(book.covering() == first);
  book.unsaved.push_back({"task", "path", {}});
  BOOST_TEST(book.covering() == first + 1);
  book.acknowledge(first);
  BOOST_TEST(!book.covers(book.covering()));
  BOOST_TEST(book.covers(first));
}

BOOST_AUTO_TEST_CASE(the_first_request_with_a_claim_decides_about_ownership) {
  saving_book book;
  book.begin();
  auto plain = book.next_ticket();
  auto claiming = book.next_ticket();
  BOOST_TEST(!book.has_claimed());
  book.claims(claiming);
  book.claims(book.next_ticket());
  BOOST_TEST(!book.owns_with(plain));
  BOOST_TEST(book.owns_with(claiming));
}

BOOST_AUTO_TEST_CASE(a_new_run_waits_for_nothing_of_the_last_one) {
  saving_book book;
  book.begin();
  auto old = book.next_ticket();
  book.put_left();
  book.claims(old);
  book.hold_put(request_of("old"));
  book.unsaved.push_back({"task", "path", {}});
  book.begin();
  BOOST_TEST(book.unsaved.empty());
  BOOST_TEST(book.all_acknowledged());
  BOOST_TEST(!book.used());
  BOOST_TEST(!book.put_waits());
  BOOST_TEST(!book.queue_is_full());
  BOOST_TEST(!book.has_claimed());
  BOOST_TEST(!book.is_waited_for(old));
  BOOST_TEST(book.next_ticket() == old + 1); // tickets are never used again
  BOOST_TEST(book.used());
}

BOOST_AUTO_TEST_CASE(a_checkpoint_is_made_in_the_memory_of_the_one_before) {
  saving_book book;
  auto& first = book.blank_put();
  first.ref.checkpoint_id = "1";
  first.claim = thread_claim{.before = 1, .owner = 1};
  first.put->metadata = value::map({{"step", 1}});
  first.put->drops_older = true;
  first.put->checkpoint.channel_versions = {{"n", {.number = 1}}};
  first.put->checkpoint.channel_values = {{"n", value::list({1})}};
  first.writes.push_back({"task", "path", {{"n", value::list({1})}}});
  const auto* versions = first.put->checkpoint.channel_versions.data();
  book.keep(first);

  auto& next = book.blank_put();
  BOOST_TEST(next.put->checkpoint.channel_versions.data() == versions);
  BOOST_TEST(next.put->checkpoint.channel_values.at(0).second.is_null());
  BOOST_TEST(next.put->metadata.is_null());
  BOOST_TEST(!next.put->drops_older);
  BOOST_TEST(!next.claim.has_value());
  BOOST_TEST(next.writes.empty());
  BOOST_TEST(book.add_unsaved().writes.at(0).second.is_null()); // the memory of the task's writes
}

BOOST_AUTO_TEST_CASE(a_request_that_was_stored_elsewhere_gives_its_memory) {
  saving_book book;
  auto handed_over = std::move(book.blank_put());
  book.keep(book.blank_put());
  handed_over.put->new_versions = {"n"};
  const auto* names = handed_over.put->new_versions.data();
  book.keep(handed_over);
  BOOST_TEST(book.blank_put().put->new_versions.data() == names);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
