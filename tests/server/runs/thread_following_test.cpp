// Observers of a thread see the runs of all servers.
#include "server/runs/stored_events.hpp"
#include "tests/server/runs/seen_runs.hpp"

#include <troupe/server/limits.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>

namespace troupe::server::test {
namespace {

using lines = std::vector<std::string>;

lines those_of(const lines& all, std::string_view word) {
  lines out;
  std::ranges::copy_if(all, std::back_inserter(out),
                       [word](const auto& line) { return line.find(word) != line.npos; });
  return out;
}
lines without_parts(lines all) {
  std::erase_if(all, [](const auto& line) { return line.starts_with("part "); });
  return all;
}

struct thread_following : shared_world {
  std::size_t followers() const {
    return documents->search({.kind = document_kind::follower}).value().total;
  }
};

BOOST_FIXTURE_TEST_SUITE(server_thread_following, thread_following)

BOOST_AUTO_TEST_CASE(an_observer_elsewhere_sees_what_one_on_the_run_s_server_sees) {
  shared_server a{*this, "a"}, b{*this, "b"};
  following_observer there{b, thread};
  a.settle(); // it knows
  seen_runs here;
  auto observing = a.runs.observe(thread, here.observer());
  const lines modes{"values", "updates", "tasks"};
  for (const auto& input :
       {free_input().with("stream_mode", value::of(modes)),
        free_input().with("stream_mode", value::of(modes)).with("stream_resumable", true)}) {
    auto run = a.create(input);
    auto all = here.of(run);
    BOOST_TEST(all.front() == "began");
    BOOST_TEST(those_of(all, "part tasks").size() == 4u);
    BOOST_TEST(those_of(all, "part values").size() == 3u);
    BOOST_TEST(there.seen.of(run) == all, boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(a_run_that_is_over_before_the_follower_looks_is_seen_whole_and_once) {
  shared_server a{*this, "a"}, b{*this, "b"};
  following_observer there{b, thread};
  a.settle();
  gate busy;
  b.runs.later([&] { busy.pass(); });
  busy.wait_for(1);
  auto run = a.create(free_input());
  BOOST_TEST((a.end_of(run).run.status == run_status::success));
  busy.open();
  auto all = there.seen.of(run);
  BOOST_TEST(those_of(all, "began").size() == 1u);
  BOOST_TEST(those_of(all, "part values").size() == 3u);
  BOOST_TEST(all.back() == "ended success");
  // A lost notification lets all documents be reported once more.
  documents->commit_and_wait({{document_kind::run, run.document_id(), stored(run)->body()}})
    .value();
  b.settle();
  BOOST_TEST(there.seen.of(run) == all, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(runs_that_ended_before_the_follower_came_are_no_news) {
  shared_server a{*this, "a"}, b{*this, "b"};
  auto run = a.create(free_input());
  a.end_of(run);
  pass(std::chrono::seconds{1});
  following_observer there{b, thread};
  documents->commit_and_wait({{document_kind::run, run.document_id(), stored(run)->body()}})
    .value();
  b.settle();
  BOOST_TEST(there.seen.count(run) == 0u);
}

BOOST_AUTO_TEST_CASE(a_run_in_flight_is_seen_from_the_first_events_of_its_youth) {
  shared_server a{*this, "a"}, b{*this, "b"};
  auto run = a.create(held_input());
  a.at->wait_for(1);
  following_observer there{b, thread};
  b.settle(); // the run is marked
  a.settle(); // its server knows
  a.at->open();
  auto all = there.seen.of(run);
  BOOST_TEST(all.front() == "began");
  BOOST_TEST(those_of(those_of(all, "part values"), "\"n\":11").size() == 1u);
  BOOST_TEST(all.back() == "ended success");
}

BOOST_AUTO_TEST_CASE(a_takeover_shows_each_event_once_and_one_beginning) {
  shared_server c{*this, "c"}, b{*this, "b"};
  following_observer at_c{c, thread}, at_b{b, thread};
  b.at->open();
  c.at->open();
  shared_server a{*this, "a"};
  auto run = a.create(held_input());
  a.at->wait_for(1);
  at_b.seen.wait_for(run, 3);
  a.kill();
  notice_deaths(*this, b, c);
  for (auto* seen : {&at_b.seen, &at_c.seen}) {
    auto all = seen->of(run);
    BOOST_TEST(those_of(all, "began").size() == 1u);
    BOOST_TEST(those_of(all, "metadata").size() == 2u);
    BOOST_TEST(those_of(those_of(all, "part values"), "\"n\":11").size() == 1u);
    all = without_parts(all);
    std::ranges::sort(all);
    BOOST_TEST((std::ranges::adjacent_find(all) == all.end()));
  }
}

BOOST_AUTO_TEST_CASE(the_end_of_a_run_that_was_undone_or_removed_is_seen) {
  shared_server a{*this, "a"}, b{*this, "b"};
  following_observer there{b, thread};
  a.settle();
  auto undone = a.create(held_input());
  a.at->wait_for(1);
  there.seen.wait_for(undone, 1);
  b.runs.cancel(thread, undone.run_id, cancel_action::rollback);
  BOOST_TEST(there.seen.of(undone).back() == "ended interrupted");
  auto removed = a.create(held_input());
  a.at->wait_for(2);
  there.seen.wait_for(removed, 1);
  BOOST_TEST(a.runs.remove_thread(thread));
  BOOST_TEST(there.seen.of(removed).back() == "ended interrupted");
}

BOOST_AUTO_TEST_CASE(an_observer_that_follows_nothing_sees_its_own_server_s_runs_alone) {
  shared_server a{*this, "a"}, b{*this, "b"};
  seen_runs seen;
  auto observing = b.runs.observe(thread, seen.observer());
  auto elsewhere = a.create(free_input());
  a.end_of(elsewhere);
  auto own = b.create(free_input());
  BOOST_TEST(seen.of(own).back() == "ended success");
  BOOST_TEST(seen.count(elsewhere) == 0u);
  BOOST_TEST(last_stored_event(*documents, elsewhere.run_id) == 0u);
}

// ---- the documents of followers

BOOST_AUTO_TEST_CASE(a_thread_is_followed_a_while_after_its_last_reader_left) {
  shared_server a{*this, "a"}, b{*this, "b"};
  auto there = std::make_unique<following_observer>(b, thread);
  auto second = b.runs.follow_thread(thread);
  BOOST_TEST(followers() == 1u);
  there.reset();
  second.reset();
  b.runs.recover(); // looks at what it has
  BOOST_TEST(followers() == 1u);
  pass(limits::server_follower_kept);
  a.runs.look_at_servers();
  b.runs.look_at_servers();
  b.runs.recover();
  b.settle();
  BOOST_TEST(followers() == 0u);
  a.settle();
  auto run = a.create(free_input());
  a.end_of(run);
  BOOST_TEST(!stored(run)->followed);
  BOOST_TEST(last_stored_event(*documents, run.run_id) == 0u);
}

BOOST_AUTO_TEST_CASE(documents_of_a_dead_follower_are_removed) {
  shared_server a{*this, "a"}, b{*this, "b"};
  following_observer there{b, thread};
  a.settle();
  b.kill();
  notice_deaths(*this, a);
  BOOST_TEST(followers() == 0u);
  a.settle();
  auto run = a.create(free_input());
  a.end_of(run);
  BOOST_TEST(!stored(run)->followed);
}

BOOST_AUTO_TEST_CASE(a_follower_that_lost_its_lease_follows_on_under_its_other_id) {
  shared_server a{*this, "a"}, b{*this, "b"};
  following_observer there{b, thread};
  a.settle();
  notice_deaths(*this, a); // b does not look meanwhile
  BOOST_TEST(followers() == 0u);
  b.runs.look_at_servers();
  b.settle();
  a.settle();
  BOOST_TEST(followers() == 1u);
  auto run = a.create(free_input());
  BOOST_TEST(those_of(there.seen.of(run), "part values").size() == 3u);
}

BOOST_AUTO_TEST_CASE(a_new_server_knows_who_follows) {
  shared_server b{*this, "b"};
  following_observer there{b, thread};
  shared_server a{*this, "a"};
  auto run = a.create(free_input());
  BOOST_TEST(those_of(there.seen.of(run), "part values").size() == 3u);
}

BOOST_AUTO_TEST_CASE(a_follower_whose_document_could_not_be_stored_stores_it_later) {
  shared_server a{*this, "a"}, b{*this, "b"};
  b.documents->refuse(true);
  following_observer there{b, thread};
  BOOST_TEST(followers() == 0u);
  b.documents->refuse(false);
  b.runs.recover();
  BOOST_TEST(followers() == 1u);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace
} // namespace troupe::server::test
