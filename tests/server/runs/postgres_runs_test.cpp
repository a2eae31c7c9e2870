// Servers that share runs in Postgres, which tells them of each other's changes.
#include "tests/server/documents/document_kinds.hpp"
#include "tests/server/runs/seen_runs.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>

namespace troupe::server::test {
namespace {

struct postgres_runs : postgres_kind, shared_world {
  postgres_runs() : shared_world{postgres_kind::documents} {
    open = [this] { return open_postgres_documents(options).value(); };
  }
};

BOOST_FIXTURE_TEST_SUITE(server_postgres_runs, postgres_runs)

BOOST_AUTO_TEST_CASE(a_resumable_stream_is_followed_over_a_takeover) {
  shared_server b{*this, "b"};
  b.at->open();
  shared_server a{*this, "a"};
  auto run = a.create(held_input().with("stream_resumable", true));
  a.at->wait_for(1);
  heard_events all;
  auto reading = b.runs.read(thread, run.run_id, 0, all.reader());
  all.wait_for(1);
  a.kill();
  notice_deaths(*this, b);
  all.wait_for_end();
  BOOST_TEST((b.end_of(run).run.status == run_status::success));
  BOOST_TEST(all.numbers().front() == 1u);
  BOOST_TEST(std::ranges::is_sorted(all.numbers()));
  BOOST_TEST(all.names().back() == "values");
  BOOST_TEST(b.n_of(thread) == value(11));
}

BOOST_AUTO_TEST_CASE(a_run_is_streamed_cancelled_and_joined_from_another_server) {
  shared_server a{*this, "a"}, b{*this, "b"};
  auto run = a.create(held_input());
  a.at->wait_for(1);
  heard_events heard;
  auto reading = b.runs.read(thread, run.run_id, std::nullopt, heard.reader());
  auto end = b.ending(run);
  BOOST_TEST(b.runs.cancel(thread, run.run_id, cancel_action::interrupt));
  BOOST_TEST((end.get().run.status == run_status::interrupted));
  heard.wait_for_end();
  BOOST_TEST((stored(run)->status == run_status::interrupted));
}

BOOST_AUTO_TEST_CASE(observers_of_a_thread_see_its_runs_on_all_servers) {
  shared_server a{*this, "a"}, b{*this, "b"};
  following_observer at_a{a, thread}, at_b{b, thread};
  auto of_a = a.create(held_input());
  a.at->wait_for(1);
  at_b.seen.wait_for(of_a, 2);                                       // a knows of its follower
  auto of_b = b.create(free_input().with("stream_resumable", true)); // a begins it after its own
  a.at->open();
  for (const auto& run : {of_a, of_b}) {
    auto here = at_a.seen.of(run);
    BOOST_TEST(here.front() == "began");
    BOOST_TEST(here.back() == "ended success");
    BOOST_TEST(at_b.seen.of(run) == here, boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace
} // namespace troupe::server::test
