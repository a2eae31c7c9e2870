// Runs of several servers on one database: leases, takeovers, and what servers want of each other.
#include "server/edge/refusal.hpp"
#include "server/runs/cron_clock.hpp"
#include "server/runs/stored_events.hpp"
#include "tests/server/runs/shared_servers.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <future>
#include <thread>

namespace troupe::server::test {
namespace {

bool is_rising(const std::vector<std::uint64_t>& numbers) {
  return std::ranges::adjacent_find(numbers, std::greater_equal<>{}) == numbers.end();
}

struct shared_runs : shared_world {};

BOOST_FIXTURE_TEST_SUITE(server_shared_runs, shared_runs)

// ---- servers that die

BOOST_AUTO_TEST_CASE(a_run_of_a_dead_server_is_taken_up_by_one_other_from_its_checkpoint) {
  shared_server b{*this, "b"}, c{*this, "c"};
  b.at->open();
  c.at->open();
  shared_server a{*this, "a"};
  auto run = a.create(held_input());
  a.at->wait_for(1);
  a.kill();
  notice_deaths(*this, b, c);
  auto end = b.end_of(run);
  BOOST_TEST((end.run.status == run_status::success));
  BOOST_TEST(end.output["n"] == value(11));
  BOOST_TEST(c.end_of(run).output["n"] == value(11));
  BOOST_TEST(stored(run)->attempt == 2);
  BOOST_TEST(stored(run)->owner != "a");
  BOOST_TEST(counts->of(thread, "first") == 1); // its checkpoint was stored
  BOOST_TEST(counts->of(thread, "second") == 1);
  b.settle();
  c.settle();
  BOOST_TEST(b.ends + c.ends == 1);
  BOOST_TEST(!documents->get(document_kind::server, "a").value());
}

BOOST_AUTO_TEST_CASE(a_server_that_shows_signs_of_life_keeps_its_runs) {
  shared_server a{*this, "a"}, b{*this, "b"};
  auto run = a.create(held_input());
  a.at->wait_for(1);
  for (int i = 0; i < 5; ++i)
    notice_deaths(*this, a, b);
  BOOST_TEST(stored(run)->owner == "a");
  b.runs.recover(); // as if it were new
  BOOST_TEST(stored(run)->owner == "a");
  BOOST_TEST(stored(run)->attempt == 1);
  a.at->open();
  BOOST_TEST((a.end_of(run).run.status == run_status::success));
}

/// A server that has committed the begin of a thread's second run, and does not know it yet.
struct a_begin_without_answer : shared_runs {
  a_begin_without_answer() {
    first = a.create(held_input());
    second = a.create(
      free_input().with("stream_resumable", true).with("stream_mode", value::list({"updates"})));
    a.at->wait_for(1);
    a.documents->freeze_after_commits(document_kind::run);
    a.at->open();
    a.documents->wait_for_an_unheard_commit();
    BOOST_REQUIRE(stored(second)->owner == "a");
  }
  /// A begin would wait for its answer.
  bool sweeps_without_a_begin() {
    swept = std::async(std::launch::async, [this] {
      a.runs.recover();
      a.settle();
    });
    return swept.wait_for(std::chrono::seconds{10}) == std::future_status::ready;
  }
  shared_server a{*this, "a"};
  run_record first, second;
  std::future<void> swept;
};

BOOST_FIXTURE_TEST_CASE(a_run_that_is_about_to_begin_is_not_begun_again, a_begin_without_answer) {
  pass(limits::server_runs_look + std::chrono::seconds{1});
  a.runs.look_at_servers();
  BOOST_TEST(sweeps_without_a_begin());
  BOOST_TEST(stored(second)->attempt == 1);
  a.documents->release();
  BOOST_TEST((a.end_of(second).run.status == run_status::success));
  BOOST_TEST(stored(second)->attempt == 1);
  BOOST_TEST(counts->of(thread, "first") == 2);
}

// Its former lease stores no events any more.
BOOST_FIXTURE_TEST_CASE(a_run_whose_begin_was_answered_after_the_lease_was_lost_begins_anew,
                        a_begin_without_answer) {
  documents->commit_and_wait({{document_kind::server, "a", std::nullopt}}).value();
  a.runs.look_at_servers(); // it joins with a new id
  BOOST_TEST(sweeps_without_a_begin());
  BOOST_TEST(stored(second)->attempt == 1);
  a.documents->release();
  BOOST_TEST((a.end_of(second).run.status == run_status::success));
  BOOST_TEST(a.n_of(thread) == value(22));
  BOOST_TEST(stored(second)->attempt == 2);
  heard_events heard;
  auto reading = a.runs.read(thread, second.run_id, 0, heard.reader());
  heard.wait_for_end();
  BOOST_TEST(heard.names() == (std::vector<std::string>{"metadata", "updates", "updates"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_run_whose_thread_is_taken_over_below_it_goes_on_from_the_newest_state) {
  shared_server b{*this, "b"}, a{*this, "a"};
  auto run = b.create(held_input());
  auto end = b.ending(run);
  b.at->wait_for(1);
  auto former = a.graphs.find("steps"); // as a run of a frozen server
  former->invoke(value::map({{"free", true}}), {.thread_id = thread});
  b.at->open();
  BOOST_TEST((end.get().run.status == run_status::success));
  BOOST_TEST(b.n_of(thread) == value(1 + 11 + 11));
  BOOST_TEST(stored(run)->attempt == 1);
}

BOOST_AUTO_TEST_CASE(a_server_that_lost_its_lease_takes_its_run_up_again_when_no_other_does) {
  shared_server a{*this, "a"};
  auto run = a.create(held_input());
  a.at->wait_for(1);
  documents->commit_and_wait({{document_kind::server, "a", std::nullopt}}).value();
  a.runs.look_at_servers();
  a.at->open();
  BOOST_TEST((a.end_of(run).run.status == run_status::success));
  BOOST_TEST(a.n_of(thread) == value(11));
  BOOST_TEST(stored(run)->attempt == 2);
}

BOOST_AUTO_TEST_CASE(a_run_that_took_servers_down_again_and_again_fails_and_says_so) {
  attempts_max = 2;
  shared_server c{*this, "c"}, b{*this, "b"}, a{*this, "a"};
  auto run = a.create(held_input());
  a.at->wait_for(1);
  a.kill();
  notice_deaths(*this, b);
  b.at->wait_for(1);
  b.kill();
  auto waiting = c.ending(run);
  notice_deaths(*this, c);
  auto end = waiting.get();
  BOOST_TEST((end.run.status == run_status::error));
  BOOST_TEST(end.output["__error__"]["error"] == value("RunGivenUp"));
  BOOST_TEST((stored_thread().status == thread_status::error));
  BOOST_TEST(stored_thread().inflight.empty());
  BOOST_TEST(c.ends == 1); // its webhook is called
}

BOOST_AUTO_TEST_CASE(a_server_that_stops_leaves_its_line_to_others_at_once) {
  shared_server b{*this, "b"};
  b.at->open();
  auto a = std::make_unique<shared_server>(*this, "a");
  auto running = a->create(held_input());
  auto waiting = a->create(free_input());
  a->at->wait_for(1);
  b.runs.look_at_servers();
  a->at->open();
  BOOST_TEST(a->runs.drain(std::chrono::seconds{60}));
  b.runs.look_at_servers(); // no time passed
  BOOST_TEST((b.end_of(running).run.status == run_status::success));
  BOOST_TEST(b.end_of(waiting).output["n"] == value(22));
  BOOST_TEST(counts->of(thread, "first") == 2);
  BOOST_TEST(counts->of(thread, "second") == 2);
}

BOOST_AUTO_TEST_CASE(a_run_that_a_stopping_server_left_goes_on_from_its_checkpoint) {
  shared_server b{*this, "b"};
  auto a = std::make_unique<shared_server>(*this, "a");
  auto run = a->create(value::map(
    {{"input", value::map({{"early", true}, {"free", true}})}, {"stream_resumable", true}}));
  a->at->wait_for(1);
  BOOST_TEST(!a->runs.drain(std::chrono::milliseconds{0})); // it asks the run to stop
  a->at->open();
  BOOST_TEST(a->runs.drain(std::chrono::seconds{60}));
  BOOST_TEST(stored(run)->left == 1);
  BOOST_TEST(stored(run)->attempt == 0);
  auto before = last_stored_event(*documents, run.run_id);
  BOOST_TEST(before > 0u);
  b.runs.recover();
  BOOST_TEST(b.end_of(run).output["n"] == value(11));
  BOOST_TEST(counts->of(thread, "first") == 1);
  BOOST_TEST(stored(run)->attempt == 1);
  BOOST_TEST(stored_events_after(*documents, run.run_id, before).front().seq == before + 1);
}

BOOST_AUTO_TEST_CASE(an_end_that_could_not_be_stored_is_stored_again) {
  shared_server a{*this, "a"};
  auto run = a.create(held_input());
  a.at->wait_for(1);
  a.documents->refuse(true);
  a.at->open();
  a.documents->wait_for_a_refusal();
  BOOST_TEST((stored(run)->status == run_status::running));
  a.documents->refuse(false);
  BOOST_TEST((a.end_of(run).run.status == run_status::success));
  BOOST_TEST(counts->of(thread, "second") == 1);
}

BOOST_AUTO_TEST_CASE(a_delayed_run_of_a_dead_server_begins_on_another_one) {
  shared_server b{*this, "b"};
  shared_server a{*this, "a"};
  auto run = a.create(free_input().with("after_seconds", 20));
  a.kill();
  notice_deaths(*this, b);
  BOOST_TEST((stored(run)->status == run_status::pending));
  pass(std::chrono::seconds{20});
  for (int i = 0; i < 31; ++i) // until the look at all runs
    b.runs.look_at_servers();
  BOOST_TEST((b.end_of(run).run.status == run_status::success));
  BOOST_TEST(stored(run)->owner == "b");
}

// ---- runs elsewhere

BOOST_AUTO_TEST_CASE(a_run_is_cancelled_and_waited_for_from_another_server) {
  shared_server a{*this, "a"}, b{*this, "b"};
  for (auto action : {cancel_action::interrupt, cancel_action::rollback}) {
    auto run = a.create(held_input());
    a.at->wait_for(action == cancel_action::interrupt ? 1 : 2);
    auto end = b.ending(run);
    BOOST_TEST(b.runs.cancel(thread, run.run_id, action));
    BOOST_TEST((end.get().run.status == run_status::interrupted));
    BOOST_TEST(bool(stored(run)) == (action == cancel_action::interrupt));
  }
  BOOST_TEST(a.n_of(thread) == value(1)); // of the first step of the one that was not undone
}

BOOST_AUTO_TEST_CASE(a_cancel_of_a_run_whose_server_is_dead_ends_it_when_it_is_taken_up) {
  shared_server b{*this, "b"}, a{*this, "a"};
  auto run = a.create(held_input());
  a.at->wait_for(1);
  a.kill();
  BOOST_TEST(b.runs.cancel(thread, run.run_id, cancel_action::interrupt));
  auto end = b.ending(run);
  notice_deaths(*this, b);
  BOOST_TEST((end.get().run.status == run_status::interrupted));
  BOOST_TEST(counts->of(thread, "second") == 0);
}

BOOST_AUTO_TEST_CASE(a_run_is_joined_from_another_server_before_and_after_its_end) {
  shared_server a{*this, "a"}, b{*this, "b"};
  auto run = a.create(held_input());
  auto waiting = a.create(free_input());
  a.at->wait_for(1);
  auto first = b.ending(run);
  auto second = b.ending(waiting);
  a.at->open();
  BOOST_TEST((first.get().run.status == run_status::success));
  BOOST_TEST(second.get().output["n"] == value(22));
  BOOST_TEST(b.end_of(run).output["n"] == value(22)); // those of the thread, by now
}

BOOST_AUTO_TEST_CASE(a_stateless_run_that_went_elsewhere_shows_its_output_to_who_waits_for_it) {
  shared_server b{*this, "b"}, a{*this, "a"};
  auto run = a.runs.create("", shared_server::request(held_input()),
                           {.assistant_id = "a", .graph_id = "steps"});
  a.at->wait_for(1);
  auto here = a.ending(run);
  notice_deaths(*this, b);
  b.at->wait_for(1);
  a.runs.look_at_servers();
  wait_until_stored(run, [](const run_record& r) { return r.followed; });
  b.settle();
  b.at->open();
  BOOST_TEST(here.get().output["n"] == value(11));
  BOOST_TEST(!documents->get(document_kind::thread, run.thread_id).value());
}

BOOST_AUTO_TEST_CASE(double_texting_counts_runs_of_other_servers) {
  shared_server a{*this, "a"}, b{*this, "b"};
  b.at->open();
  auto running = a.create(held_input());
  a.at->wait_for(1);
  try {
    b.create(held_input("reject"));
    BOOST_ERROR("it was accepted");
  } catch (const refusal& no) {
    BOOST_TEST(no.status() == 409);
  }
  auto next = b.create(held_input("interrupt"));
  a.settle(); // it knows
  a.at->open();
  BOOST_TEST((b.end_of(running).run.status == run_status::interrupted));
  BOOST_TEST((b.end_of(next).run.status == run_status::success));
}

BOOST_AUTO_TEST_CASE(a_thread_is_removed_from_another_server_with_the_run_that_runs_there) {
  shared_server a{*this, "a"}, b{*this, "b"};
  auto run = a.create(held_input());
  a.at->wait_for(1);
  auto end = a.ending(run);
  BOOST_TEST(b.runs.remove_thread(thread));
  BOOST_TEST((end.get().run.status == run_status::interrupted));
  BOOST_TEST(!stored(run));
  BOOST_TEST(!has_thread());
  BOOST_TEST(checkpoints->threads().value().empty());
}

BOOST_AUTO_TEST_CASE(a_run_is_removed_from_another_server) {
  shared_server a{*this, "a"}, b{*this, "b"};
  auto run = a.create(held_input());
  a.at->wait_for(1);
  auto end = a.ending(run);
  b.runs.remove(thread, run.run_id);
  end.wait();
  BOOST_TEST(!stored(run));
  BOOST_TEST((stored_thread().status == thread_status::idle));
}

// ---- streams

BOOST_AUTO_TEST_CASE(a_reader_on_another_server_gets_what_comes_after_it) {
  shared_server a{*this, "a"}, b{*this, "b"};
  auto run = a.create(held_input());
  a.at->wait_for(1);
  heard_events heard;
  auto reading = b.runs.read(thread, run.run_id, std::nullopt, heard.reader());
  b.settle(); // the run is marked
  a.settle(); // its server knows
  a.at->open();
  heard.wait_for_end();
  auto names = heard.names();
  BOOST_REQUIRE(!names.empty());
  BOOST_TEST(names.back() == "values");
  BOOST_TEST(is_rising(heard.numbers()));
  BOOST_TEST(stored(run)->followed);
}

BOOST_AUTO_TEST_CASE(the_reader_of_a_run_that_begins_on_another_server_gets_all_of_it) {
  shared_server a{*this, "a"}, b{*this, "b"};
  auto first = a.create(held_input());
  a.at->wait_for(1);
  heard_events heard;
  std::shared_ptr<void> reading;
  auto run = b.create(held_input(), {},
                      [&](event_log& log) { reading = log.read(heard.reader()); });
  b.runs.cancel(thread, first.run_id, cancel_action::interrupt);
  a.at->wait_for(2); // a begins the second one, too
  b.settle();
  a.settle();
  a.at->open();
  heard.wait_for_end();
  BOOST_TEST(heard.names().back() == "values");
  BOOST_TEST((b.end_of(run).run.status == run_status::success));
}

BOOST_AUTO_TEST_CASE(a_resumable_stream_is_complete_over_a_takeover) {
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
  auto numbers = all.numbers();
  BOOST_TEST(is_rising(numbers));
  BOOST_TEST(numbers.front() == 1u);
  BOOST_TEST(numbers.back() > limits::server_run_events_gap); // a may have told some
  BOOST_TEST(all.names().back() == "values");
  for (auto after : numbers) { // a client that comes back with any of them
    heard_events rest;
    auto again = b.runs.read(thread, run.run_id, after, rest.reader());
    rest.wait_for_end();
    auto those = rest.numbers();
    BOOST_TEST(
      std::equal(those.begin(), those.end(), std::ranges::find(numbers, after) + 1, numbers.end()));
  }
}

BOOST_AUTO_TEST_CASE(a_frozen_server_stores_no_events_of_runs_that_were_taken_over) {
  shared_server b{*this, "b"};
  b.at->open();
  shared_server a{*this, "a"};
  auto run = a.create(held_input().with("stream_resumable", true));
  auto here = a.ending(run);
  a.at->wait_for(1);
  a.documents->hold();
  a.at->open();
  a.documents->wait_for_a_held_commit_of(document_kind::run); // of its end, after its last events
  notice_deaths(*this, b);
  b.end_of(run);
  auto numbers = [&] {
    std::vector<std::uint64_t> out;
    for (const auto& event : stored_events_after(*documents, run.run_id, 0))
      out.push_back(event.seq);
    return out;
  };
  auto told = numbers(); // to readers that do not come back
  a.documents->release();
  here.get();
  BOOST_TEST(numbers() == told, boost::test_tools::per_element());
  a.settle();
  b.settle();
  BOOST_TEST(a.ends + b.ends == 1);
}

BOOST_AUTO_TEST_CASE(a_frozen_server_stores_no_end_of_a_run_that_is_free_for_others) {
  shared_server a{*this, "a"};
  auto run = a.create(held_input().with("stream_resumable", true));
  auto here = a.ending(run);
  a.at->wait_for(1);
  documents->commit_and_wait({{document_kind::server, "a", std::nullopt}}).value();
  auto told = last_stored_event(*documents, run.run_id); // those on their way came before
  a.at->open(); // a ends its step without a look at its lease
  while (a.runs.running() > 0)
    std::this_thread::yield();
  BOOST_TEST((stored(run)->status == run_status::running));
  BOOST_TEST(last_stored_event(*documents, run.run_id) == told);
  a.runs.look_at_servers(); // and takes the run up
  BOOST_TEST((here.get().run.status == run_status::success));
  BOOST_TEST(stored(run)->attempt == 2);
  auto events = stored_events_after(*documents, run.run_id, told);
  BOOST_REQUIRE(!events.empty());
  BOOST_TEST(events.back().name == "values");
}

BOOST_AUTO_TEST_CASE(events_of_a_run_that_was_followed_are_removed_with_the_run) {
  shared_server a{*this, "a"}, b{*this, "b"};
  auto run = a.create(held_input());
  a.at->wait_for(1);
  heard_events heard;
  auto reading = b.runs.read(thread, run.run_id, std::nullopt, heard.reader());
  b.settle();
  a.settle();
  a.at->open();
  heard.wait_for_end();
  BOOST_TEST(last_stored_event(*documents, run.run_id) > 0u);
  b.runs.remove(thread, run.run_id);
  BOOST_TEST(last_stored_event(*documents, run.run_id) == 0u);
}

// ---- crons

struct shared_crons : shared_runs {
  shared_crons() {
    documents->commit_and_wait({{document_kind::assistant, "a", value::map()}}).value();
    add_cron({});
  }
  void add_cron(const value& thread_id) {
    cron_record cron{.cron_id = "c",
                     .assistant_id = "a",
                     .thread_id = thread_id,
                     .schedule = "* * * * *",
                     .next_run_date = time_text(time.load())};
    documents->commit_and_wait({{document_kind::cron, "c", cron.body()}}).value();
  }
  bool has_cron() const { return documents->get(document_kind::cron, "c").value().has_value(); }
  value next_date() const {
    return cron_record::of(documents->get(document_kind::cron, "c").value()->body).next_run_date;
  }

  const std::function<std::int64_t()> clock_time = [this] { return time.load(); };
};

BOOST_FIXTURE_TEST_CASE(a_cron_starts_its_run_on_one_server, shared_crons) {
  std::atomic<int> started = 0;
  auto start = [&](const cron_record&, const auto& along) {
    documents->commit_and_wait({along()}).value();
    ++started;
  };
  cron_clock one{documents, clock_time, start}, two{documents, clock_time, start},
    three{documents, clock_time, start};
  for (int minute = 1; minute <= 20; ++minute) {
    std::vector<std::thread> looking;
    for (auto* clock : {&one, &two, &three})
      looking.emplace_back([clock] { clock->look(); });
    for (auto& thread : looking)
      thread.join();
    BOOST_TEST(started == minute);
    pass(std::chrono::minutes{1});
  }
}

BOOST_FIXTURE_TEST_CASE(the_run_of_a_cron_and_its_next_date_are_one_commit, shared_crons) {
  shared_server a{*this, "a"}, b{*this, "b"};
  auto clock_of = [&](shared_server& on) {
    return std::make_unique<cron_clock>(
      on.documents, clock_time, [&on](const cron_record&, const auto& along) {
        on.runs.create(on.world.thread, shared_server::request(free_input()),
                       {.assistant_id = "a", .graph_id = "steps"}, {}, along);
      });
  };
  auto date = next_date();

  a.kill(); // none of its commits takes effect
  clock_of(a)->look();
  BOOST_TEST(next_date() == date);
  BOOST_TEST(!has_thread());

  clock_of(b)->look();
  BOOST_TEST(next_date() != date);
  BOOST_TEST(stored_thread().thread_id == thread);
}

BOOST_FIXTURE_TEST_CASE(a_cron_whose_thread_or_assistant_is_gone_goes_too, shared_crons) {
  int started = 0;
  cron_clock clock{documents, clock_time, [&](const cron_record&, const auto&) { ++started; }};
  for (auto [kind, id] : {std::pair{document_kind::thread, thread},
                          std::pair{document_kind::assistant, std::string{"a"}}}) {
    documents->commit_and_wait({{kind, id, value::map()}}).value();
    add_cron(value(thread));
    clock.look();
    BOOST_TEST(has_cron());
    documents->commit_and_wait({{kind, id, std::nullopt}}).value();
    clock.look();
    BOOST_TEST(!has_cron());
    documents->commit_and_wait({{document_kind::thread, thread, value::map()}}).value();
  }
  BOOST_TEST(started == 2);
}

BOOST_FIXTURE_TEST_CASE(a_cron_whose_run_is_refused_waits_for_its_next_date, shared_crons) {
  int tries = 0;
  cron_clock clock{documents, clock_time, [&](const cron_record&, const auto&) {
                     ++tries;
                     throw refusal{404, "Thread or assistant not found."};
                   }};
  auto date = next_date();
  clock.look();
  clock.look();
  BOOST_TEST(tries == 1);
  BOOST_TEST(next_date() != date);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace
} // namespace troupe::server::test
