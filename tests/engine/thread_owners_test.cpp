// The numbers of owners, and what entering a thread costs.
#include "engine/thread_owners.hpp"
#include "tests/fixtures/savers.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe {

namespace {

// A run of `owners` on thread "t", which stores one checkpoint.
struct run_on_t {
  std::shared_ptr<held_claim> claim = std::make_shared<held_claim>();

  result<void> enter(saver& store, thread_owners& owners, thread_reading what) const {
    return enter_thread(store, "t", owners, claim, what);
  }
  result<void> put(saver& store, const char* id, const char* parent = "") const {
    save_request request{{"t", {}, {}}, {}, test::make_put(id, parent, {{"n", 0}}), claim->now()};
    return store_durably(store, std::move(request));
  }
};

} // namespace

BOOST_AUTO_TEST_SUITE(engine_thread_owners)

BOOST_AUTO_TEST_CASE(an_owner_may_be_on_unless_it_is_of_this_runtime_and_over) {
  thread_owners here{1};
  thread_owners elsewhere{2};
  auto run = std::make_shared<held_claim>();
  auto other = std::make_shared<held_claim>();
  auto number = here.add(run);
  BOOST_TEST(number != 0u);
  BOOST_TEST(here.add(other) != number);
  BOOST_TEST(here.may_be_on(number));
  BOOST_TEST(elsewhere.may_be_on(number));
  BOOST_TEST(!here.may_be_on(0));
  BOOST_TEST(run->save_begins());
  run->run_ended();
  BOOST_TEST(here.may_be_on(number)); // its last save has no answer
  run->save_answered();
  BOOST_TEST(!here.may_be_on(number));
  BOOST_TEST(elsewhere.may_be_on(number));
  other.reset();
  BOOST_TEST(!here.may_be_on(number + 1));
}

BOOST_AUTO_TEST_CASE(who_put_the_thread_to_rest_is_over_for_everybody) {
  thread_owners here{1}, elsewhere{2};
  auto run = std::make_shared<held_claim>();
  auto number = here.add(run);
  BOOST_TEST((number & thread_at_rest) == 0u);
  BOOST_TEST(!here.may_be_on(number | thread_at_rest));
  BOOST_TEST(!elsewhere.may_be_on(number | thread_at_rest));
  BOOST_TEST(!elsewhere.may_have_left(number | thread_at_rest));
  BOOST_TEST(!elsewhere.may_have_left(0));
  BOOST_TEST(elsewhere.may_have_left(number));
  BOOST_TEST(!here.may_have_left(number));
  run->run_ended();
  BOOST_TEST(here.may_have_left(number)); // drained
}

BOOST_AUTO_TEST_CASE(of_two_that_go_on_where_another_was_cut_off_one_does) {
  auto store = make_memory_saver();
  thread_owners dead{1}, one{2}, other{3};
  run_on_t cut_off;
  cut_off.enter(*store, dead, thread_reading::newest).value();
  cut_off.put(*store, "c1").value();
  auto left_by = store->thread_owner("t").value(); // both saw it
  auto first = std::make_shared<held_claim>(), second = std::make_shared<held_claim>();
  enter_thread(*store, "t", one, first, thread_reading::pending, left_by).value();
  test::require_error(enter_thread(*store, "t", other, second, thread_reading::pending, left_by),
                      errc::conflict);
  BOOST_TEST(store->thread_owner("t").value() == first->first.owner);
}

BOOST_AUTO_TEST_CASE(those_that_are_gone_are_forgotten_and_the_others_are_not) {
  thread_owners here{1};
  auto stays = std::make_shared<held_claim>();
  auto number = here.add(stays);
  for (int i = 0; i < 10'000; ++i)
    here.add(std::make_shared<held_claim>());
  BOOST_TEST(here.may_be_on(number));
  BOOST_TEST(!here.may_be_on(number + 1));
}

BOOST_AUTO_TEST_CASE(who_depends_on_all_that_was_stored_takes_the_thread_over_first) {
  auto store = make_memory_saver();
  thread_owners here{1};
  thread_owners elsewhere{2};
  run_on_t busy;
  busy.enter(*store, here, thread_reading::newest).value();
  busy.put(*store, "c1").value();

  run_on_t begins;
  begins.enter(*store, elsewhere, thread_reading::newest).value();
  BOOST_TEST(!begins.claim->held);
  busy.put(*store, "c2", "c1").value(); // it is still its own
  test::require_error(begins.put(*store, "d2", "c1"), errc::conflict);

  run_on_t goes_on;
  goes_on.enter(*store, elsewhere, thread_reading::pending).value();
  BOOST_TEST(goes_on.claim->held);
  test::require_error(busy.put(*store, "c3", "c2"), errc::conflict);
  goes_on.put(*store, "d3", "c2").value();

  run_on_t branches;
  branches.enter(*store, here, thread_reading::older).value();
  test::require_error(goes_on.put(*store, "d4", "d3"), errc::conflict);
  branches.put(*store, "e2", "c1").value();
}

BOOST_AUTO_TEST_CASE(where_the_owner_is_over_nothing_is_stored_on_the_way_in) {
  auto store = make_memory_saver();
  thread_owners here{1};
  run_on_t first;
  first.enter(*store, here, thread_reading::pending).value();
  first.put(*store, "c1").value();
  auto owner = store->thread_owner("t").value();
  first.claim->run_ended();
  run_on_t second;
  second.enter(*store, here, thread_reading::pending).value();
  BOOST_TEST(!second.claim->held);
  BOOST_TEST(store->thread_owner("t").value() == owner);
  second.put(*store, "c2", "c1").value();
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
