// Servers that are frozen while others take their runs over.
#include "tests/server/runs/shared_servers.hpp"

#include <boost/test/unit_test.hpp>

#include <thread>

namespace troupe::server::test {
namespace {

BOOST_FIXTURE_TEST_SUITE(server_frozen_servers, shared_world)

BOOST_AUTO_TEST_CASE(a_frozen_server_that_comes_back_stores_nothing_and_goes_on_under_another_id) {
  shared_server b{*this, "b"};
  b.at->open();
  shared_server a{*this, "a"};
  auto run = a.create(held_input());
  auto here = a.ending(run);
  heard_events heard;
  auto reading = a.runs.read(thread, run.run_id, std::nullopt, heard.reader());
  a.at->wait_for(1);
  notice_deaths(*this, b); // a does not look meanwhile
  BOOST_TEST((b.end_of(run).run.status == run_status::success));
  a.at->open();
  a.runs.look_at_servers();
  BOOST_TEST(here.get().output["n"] == value(11)); // it follows the run now
  heard.wait_for_end();
  BOOST_TEST(stored(run)->owner == "b");
  BOOST_TEST(stored(run)->attempt == 2);
  BOOST_TEST(a.n_of(thread) == value(11));
  a.settle();
  BOOST_TEST(a.ends == 0);
  auto next = a.create(free_input());
  BOOST_TEST(a.end_of(next).output["n"] == value(22));
  BOOST_TEST(stored(next)->owner != "a");
}

BOOST_AUTO_TEST_CASE(a_frozen_server_whose_step_ends_after_the_takeover_stores_nothing) {
  shared_server b{*this, "b"};
  shared_server a{*this, "a"};
  auto run = a.create(held_input());
  auto here = a.ending(run);
  a.at->wait_for(1);
  notice_deaths(*this, b);
  b.at->wait_for(1); // b has the run, in its second step
  a.at->open();      // a stores a step of it, without a look at its lease
  a.runs.look_at_servers();
  b.at->open();
  BOOST_TEST(here.get().output["n"] == value(11));
  BOOST_TEST(b.n_of(thread) == value(11));
  BOOST_TEST(stored(run)->owner == "b");
  a.settle();
  b.settle();
  BOOST_TEST(a.ends + b.ends == 1);
}

BOOST_AUTO_TEST_CASE(a_server_that_was_frozen_before_a_run_s_first_step_does_not_run_it) {
  shared_server b{*this, "b"}, a{*this, "a"};
  b.at->open();
  run_record run;
  a.documents->freeze_after_commits();
  std::thread creating{[&] { run = a.create(free_input()); }};
  a.documents->wait_for_an_unheard_commit(); // of its beginning
  notice_deaths(*this, b);
  auto next = b.create(free_input()); // after it
  BOOST_TEST(b.end_of(next).output["n"] == value(22));
  a.documents->release();
  creating.join();
  auto here = a.ending(run);
  a.runs.look_at_servers();
  BOOST_TEST((here.get().run.status == run_status::success));
  a.runs.drain(std::chrono::seconds{60});
  BOOST_TEST(a.n_of(thread) == value(22));
  BOOST_TEST(counts->of(thread, "first") == 2);
  BOOST_TEST(stored(run)->owner == "b");
}

BOOST_AUTO_TEST_CASE(a_server_that_was_frozen_before_a_run_entered_its_thread_does_not_run_it) {
  shared_server b{*this, "b"}, a{*this, "a"};
  b.at->open();
  a.checkpoints->before_entry = [&] {
    notice_deaths(*this, b); // b takes the run up
    auto next = b.create(free_input());
    BOOST_TEST(b.end_of(next).output["n"] == value(122));
  };
  auto run = a.create(value::map({{"input", value::map({{"free", true}, {"n", 100}})}}));
  auto here = a.ending(run);
  a.settle();
  BOOST_TEST(a.n_of(thread) == value(122)); // before it looks at its lease again
  a.runs.look_at_servers();
  BOOST_TEST((here.get().run.status == run_status::success));
  BOOST_TEST(counts->of(thread, "first") == 2);
  BOOST_TEST(stored(run)->owner == "b");
  a.runs.drain(std::chrono::seconds{60});
  BOOST_TEST(a.graphs.find("steps")->get_state({.thread_id = thread}).next.empty());
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace
} // namespace troupe::server::test
