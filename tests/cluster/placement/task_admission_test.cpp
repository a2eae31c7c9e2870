// A worker's admission: whom it works for, what it takes, what it drops.
#include "tests/cluster/admission_bench.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <algorithm>

namespace troupe::cluster {

BOOST_FIXTURE_TEST_SUITE(cluster_task_admission, admission_bench)

BOOST_AUTO_TEST_CASE(a_worker_presents_itself_on_a_new_link) {
  machine.link_made(0, 1, now);
  auto first = last<hello>(1);
  BOOST_TEST(first.protocol == protocol_version);
  BOOST_TEST(first.name == "w");
  BOOST_TEST(first.incarnation == "w.1");
  BOOST_TEST(first.capacity == 2u);
  BOOST_TEST(first.graphs.size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_task_is_begun_and_its_outcome_sent) {
  work_for(0, 1);
  auto task = begin_one(1, 1);
  BOOST_TEST(status().busy == 1u);
  machine.finished(task, {7}, now);
  BOOST_TEST(last<task_outcome>(1).issue == 1u);
  BOOST_TEST(status().busy == 0u);
  machine.finished(task, {7}, now); // unknown by now
  BOOST_TEST(all<task_outcome>(1).size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_home_that_fills_the_worker_leaves_a_place_to_one_that_was_refused) {
  work_for(0, 1);
  work_for(1, 2);
  auto first = begin_one(1, 1);
  begin_one(1, 2);
  order(2, 1);
  BOOST_TEST(refused(2, 1, errc::overloaded));
  machine.finished(first, {1}, now);
  order(1, 3); // at once, as ever
  BOOST_TEST(refused(1, 3, errc::overloaded));
  begin_one(2, 2);
  order(1, 4);
  BOOST_TEST(refused(1, 4, errc::overloaded)); // full
}

BOOST_AUTO_TEST_CASE(a_place_is_kept_for_nobody_who_does_not_come_back) {
  work_for(0, 1);
  work_for(1, 2);
  auto first = begin_one(1, 1);
  begin_one(1, 2);
  order(2, 1);
  machine.finished(first, {1}, now);
  wait(limits::worker_backoff_max, {1, 2});
  begin_one(1, 3);
}

BOOST_AUTO_TEST_CASE(a_home_beyond_its_share_is_kept_no_place) {
  work_for(0, 1);
  work_for(1, 2);
  begin_one(1, 1);
  auto second = begin_one(2, 1);
  order(2, 2); // has its half
  BOOST_TEST(refused(2, 2, errc::overloaded));
  machine.finished(second, {1}, now);
  begin_one(2, 3);
}

BOOST_AUTO_TEST_CASE(the_capacity_is_for_all_homes_together) {
  work_for(0, 1);
  work_for(1, 2);
  order(1, 1);
  auto task = begin_one(2, 1);
  order(1, 2);
  BOOST_TEST(refused(1, 2, errc::overloaded));
  machine.finished(task, {}, now);
  order(1, 3);
  BOOST_TEST(begun.size() == 3u);
}

BOOST_AUTO_TEST_CASE(an_order_heard_twice_is_begun_once) {
  work_for(0, 1);
  order(1, 5);
  order(1, 5);
  order(1, 4);
  BOOST_TEST(begun.size() == 1u);
  BOOST_TEST(status().counts.stale == 2u);
  BOOST_TEST(all<task_refused>(1).empty());
}

BOOST_AUTO_TEST_CASE(an_order_of_a_graph_or_run_it_has_not_is_refused) {
  work_for(0, 1);
  machine.heard(1, run_opened{.run = 2, .graph = "g2"}, now);
  order(1, 1, 2);
  BOOST_TEST(refused(1, 1, errc::unknown_graph));
  order(1, 2, 3);
  BOOST_TEST(refused(1, 2, errc::invalid_value));
  BOOST_TEST(begun.empty());
  BOOST_TEST(opened.size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_home_may_have_as_many_runs_as_the_limit) {
  work_for(0, 1);
  for (std::uint64_t run = 2; run <= limits::worker_runs_max + 1; ++run)
    machine.heard(1, run_opened{.run = run, .graph = "g1"}, now);
  order(1, 1, limits::worker_runs_max);
  BOOST_TEST(begun.size() == 1u);
  order(1, 2, limits::worker_runs_max + 1);
  BOOST_TEST(refused(1, 2, errc::overloaded));
}

BOOST_AUTO_TEST_CASE(a_stopped_task_keeps_its_place_until_its_body_ended) {
  work_for(0, 1);
  auto task = begin_one(1, 1);
  order(1, 2);
  machine.heard(1, task_stop{1}, now);
  machine.heard(1, task_stop{1}, now);
  machine.heard(1, task_stop{99}, now);
  BOOST_TEST(stopped == std::vector<local_task>{task}, boost::test_tools::per_element());
  order(1, 3);
  BOOST_TEST(refused(1, 3, errc::overloaded));
  machine.gone(task, "stopped", now);
  BOOST_TEST(refused(1, 1, errc::cancelled));
  order(1, 4);
  BOOST_TEST(begun.size() == 3u);
}

BOOST_AUTO_TEST_CASE(nothing_is_said_of_a_task_that_was_not_begun_since_the_lease_was_over) {
  work_for(1, 1);
  auto one = begin_one(1, 1), other = begin_one(1, 2);
  auto said = sent[1].size();
  BOOST_TEST(until->is_over(now + 2s)); // found by a step of one, on its thread
  machine.say(other, save_order{});
  BOOST_TEST(sent[1].size() == said);
  BOOST_TEST_REQUIRE(over.size() == 1u);
  machine.finished(one, {9}, now + 2s); // that it failed
  machine.gone(other, "the task was stopped", now + 2s);
  BOOST_TEST(sent[1].size() == said);
  BOOST_TEST(status().busy == 0u);
}

BOOST_AUTO_TEST_CASE(an_outcome_ends_a_session_whose_lease_a_body_found_over) {
  work_for(1, 1);
  auto one = begin_one(1, 1);
  auto said = sent[1].size();
  BOOST_TEST(until->is_over(now + 2s));
  machine.finished(one, {9}, now + 2s);
  BOOST_TEST(sent[1].size() == said);
  BOOST_TEST(over.size() == 1u);
  BOOST_TEST(stopped.empty()); // it had ended
}

BOOST_AUTO_TEST_CASE(the_outcome_of_a_stopped_task_is_not_sent) {
  work_for(0, 1);
  auto task = begin_one(1, 1);
  machine.heard(1, task_stop{1}, now);
  machine.say(task, save_order{.ticket = 1});
  machine.finished(task, {1}, now);
  BOOST_TEST(all<task_outcome>(1).empty());
  BOOST_TEST(all<save_order>(1).empty());
  BOOST_TEST(refused(1, 1, errc::cancelled));
}

BOOST_AUTO_TEST_CASE(a_body_that_is_gone_without_an_outcome_is_lost) {
  work_for(0, 1);
  machine.gone(begin_one(1, 1), "its actor died", now);
  BOOST_TEST(refused(1, 1, errc::node_lost));
}

BOOST_AUTO_TEST_CASE(what_a_task_says_carries_its_issue_and_answers_find_it) {
  work_for(0, 1);
  auto task = begin_one(1, 6);
  machine.say(task, save_order{.ticket = 3});
  machine.say(task, call_order{});
  machine.say(task, task_part{});
  machine.say(task, task_sign{});
  BOOST_TEST(last<save_order>(1).issue == 6u);
  BOOST_TEST(last<call_order>(1).issue == 6u);
  BOOST_TEST(last<task_part>(1).issue == 6u);
  BOOST_TEST(last<task_sign>(1).issue == 6u);
  machine.heard(1, save_answer{.issue = 6, .ticket = 3}, now);
  machine.heard(1, call_answer{.issue = 6}, now);
  machine.heard(1, part_credit{.issue = 6}, now);
  machine.heard(1, save_answer{.issue = 5}, now);
  BOOST_TEST(passed.size() == 3u);
  BOOST_TEST(passed.at(0).first == task);
}

BOOST_AUTO_TEST_CASE(a_run_that_is_closed_stops_its_tasks) {
  work_for(0, 1);
  begin_one(1, 1);
  machine.heard(1, run_closed{1}, now);
  machine.heard(1, run_closed{1}, now);
  BOOST_TEST(stopped.size() == 1u);
  BOOST_TEST(closed == opened, boost::test_tools::per_element());
  order(1, 2);
  BOOST_TEST(refused(1, 2, errc::invalid_value));
}

BOOST_AUTO_TEST_CASE(a_home_that_answers_keeps_its_tasks_however_long) {
  work_for(0, 1);
  begin_one(1, 1);
  wait(15min, {1});
  BOOST_TEST(stopped.empty());
  BOOST_TEST(all<heartbeat>(1).size() >= 15u * 60);
  BOOST_TEST(last<heartbeat>(1).foreign == 0u);
}

BOOST_AUTO_TEST_CASE(tasks_stop_before_a_home_that_does_not_answer_hands_them_out_again) {
  work_for(0, 1);
  work_for(1, 2);
  auto task = begin_one(1, 1);
  wait(10s, {1, 2});
  wait(1s, {2}); // from now on the first home hears nothing
  BOOST_TEST(stopped.empty());
  wait(1250ms, {2}); // 2.25 s: a quarter before the home's lease is over
  BOOST_TEST(stopped == std::vector<local_task>{task}, boost::test_tools::per_element());
  BOOST_TEST(ended == std::vector<link_number>{1}, boost::test_tools::per_element());
  BOOST_TEST(over.size() == 1u);
  BOOST_TEST(status().sessions.size() == 1u);
  machine.finished(task, {1}, now); // it did not listen
  BOOST_TEST(all<task_outcome>(1).empty());
  BOOST_TEST(status().counts.late == 1u);
}

BOOST_AUTO_TEST_CASE(a_welcome_is_answered_at_once) {
  machine.link_made(0, 1, now);
  machine.heard(1, terms(), now);
  BOOST_TEST(all<heartbeat>(1).size() == 1u);
}

// The lease counts from the hello.
BOOST_AUTO_TEST_CASE(a_welcome_that_comes_too_late_is_not_answered) {
  machine.link_made(0, 1, now);
  now += 2100ms;
  machine.heard(1, terms(), now);
  BOOST_TEST(all<heartbeat>(1).empty());
  BOOST_TEST(over.size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_worker_that_stood_still_begins_nothing_of_before) {
  work_for(0, 1);
  auto task = begin_one(1, 1);
  now += 1min;
  order(1, 2); // it lay in the mailbox, before the tick
  BOOST_TEST(begun.size() == 1u);
  BOOST_TEST(stopped == std::vector<local_task>{task}, boost::test_tools::per_element());
  BOOST_TEST(over.size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_clock_that_jumps_ahead_by_an_hour_ends_a_session_and_begins_another) {
  work_for(0, 1);
  auto task = begin_one(1, 1);
  now += 1h;
  machine.tick(now); // it stood still, for all it knows: its home has given it up
  BOOST_TEST_REQUIRE(over.size() == 1u);
  BOOST_TEST((over[0].second == errc::worker_lost));
  BOOST_TEST(stopped.size() == 1u);
  machine.finished(task, {1}, now);
  BOOST_TEST(all<task_outcome>(1).empty());
  work_for(0, 2);
  begin_one(2, 2);
}

BOOST_AUTO_TEST_CASE(a_new_link_drops_what_was_done_on_the_old_one_before_the_hello) {
  work_for(0, 1);
  auto task = begin_one(1, 1);
  machine.link_made(0, 2, now);
  BOOST_TEST(stopped == std::vector<local_task>{task}, boost::test_tools::per_element());
  BOOST_TEST(closed == opened, boost::test_tools::per_element());
  BOOST_TEST(all<hello>(2).size() == 1u);
  BOOST_TEST(over.empty()); // nobody has to dial
  machine.heard(2, terms(2, "h.2"), now);
  machine.heard(1, run_opened{.run = 5, .graph = "g1"}, now);
  order(1, 2);
  BOOST_TEST(begun.size() == 1u);
  BOOST_TEST(status().counts.unknown == 2u);
  BOOST_TEST(status().sessions.at(0).incarnation == "h.2");
}

BOOST_AUTO_TEST_CASE(a_refused_worker_drops_everything_and_says_why) {
  work_for(0, 1);
  begin_one(1, 1);
  machine.heard(1, refusal{.code = errc::worker_lost, .why = "silent"}, now);
  BOOST_TEST(stopped.size() == 1u);
  BOOST_REQUIRE(over.size() == 1u);
  BOOST_TEST((over[0].second == errc::worker_lost));
  machine.link_made(0, 2, now);
  machine.heard(2, refusal{.code = errc::protocol_mismatch, .why = "old"}, now);
  BOOST_TEST((over.at(1).second == errc::protocol_mismatch));
}

BOOST_AUTO_TEST_CASE(why_it_is_not_welcome_is_logged_once_a_minute) {
  auto ask = [this](link_number link) {
    machine.link_made(0, link, now);
    machine.heard(link, refusal{.code = errc::protocol_mismatch, .why = "old"}, now);
  };
  for (link_number link = 1; link <= 10; ++link)
    ask(link);
  BOOST_TEST_REQUIRE(events.size() == 1u);
  BOOST_TEST((events[0].kind == event_kind::hello_refused));
  BOOST_TEST(events[0].text == "refused: old");
  now += 1min;
  ask(11);
  BOOST_TEST_REQUIRE(events.size() == 2u);
  BOOST_TEST(events[1].text == "refused: old (as with 9 before)");
}

BOOST_AUTO_TEST_CASE(that_a_home_has_another_version_of_a_graph_is_logged_once) {
  work_for(0, 1);
  auto before = events.size();
  for (int i = 0; i < 3; ++i)
    machine.heard(1, graph_refused{"g", "g2"}, now);
  BOOST_TEST_REQUIRE(events.size() == before + 1);
  BOOST_TEST((events.back().kind == event_kind::graph_refused));
  for (const auto* word : {"graph `g`", "another graph of that name", "structure g2"})
    BOOST_TEST(events.back().text.find(word) != std::string::npos, events.back().text);
  machine.heard(1, graph_refused{"g", "g1"}, now); // it is the same
  machine.heard(1, graph_refused{"x", "g2"}, now); // this worker has none of that name
  BOOST_TEST(status().counts.misbehaviour == 2u);
  order(1, 1); // the session continues
  BOOST_TEST(begun.size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_link_that_comes_back_is_used_at_once) {
  work_for(0, 1);
  wait(1s, {1});
  machine.link_broken(1, now);
  auto before = all<heartbeat>(1).size();
  wait(1s);
  BOOST_TEST(all<heartbeat>(1).size() == before);
  machine.link_restored(1, now);
  BOOST_TEST(all<heartbeat>(1).size() == before + 1);
}

BOOST_AUTO_TEST_CASE(a_home_that_does_not_answer_the_hello_is_given_up) {
  machine.link_made(0, 1, now);
  wait(2250ms);
  BOOST_TEST(over.empty());
  wait(250ms);
  BOOST_TEST(over.size() == 1u);
}

BOOST_DATA_TEST_CASE(a_welcome_that_makes_no_sense_is_not_accepted,
                     boost::unit_test::data::xrange(7), flaw) {
  using std::chrono::milliseconds;
  auto bad = terms();
  switch (flaw) {
    case 0: bad.lease = milliseconds::max(); break;
    case 1: bad.lease = milliseconds::min(); break;
    case 2: bad.heartbeat = 0ms; break;
    case 3: bad.heartbeat = milliseconds::max(); break;
    case 4: bad.lease = 600ms; break;
    case 5: bad.home = ""; break;
    default: bad.home = std::string(limits::worker_name_bytes_max + 1, 'h'); break;
  }
  machine.link_made(0, 1, now);
  machine.heard(1, bad, now);
  BOOST_REQUIRE(over.size() == 1u);
  BOOST_TEST((over[0].second == errc::protocol_mismatch));
  BOOST_TEST(ended.size() == 1u);
}

BOOST_AUTO_TEST_CASE(before_the_welcome_nothing_is_done_for_a_home) {
  machine.link_made(0, 1, now);
  machine.heard(1, run_opened{.run = 1, .graph = "g1"}, now);
  order(1, 1);
  BOOST_TEST(begun.empty());
  BOOST_TEST(status().counts.misbehaviour == 2u);
  BOOST_TEST(events.size() == 1u); // reported once
}

BOOST_AUTO_TEST_CASE(what_only_a_worker_says_is_reported_once) {
  work_for(0, 1);
  machine.heard(1, hello{}, now);
  machine.heard(1, task_outcome{.issue = 1}, now);
  machine.heard(1, terms(), now);
  machine.heard(1, run_opened{.run = 1, .graph = "g1"}, now);
  BOOST_TEST(status().counts.misbehaviour == 4u);
  BOOST_TEST(opened.size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_draining_worker_refuses_gives_back_and_ends) {
  work_for(0, 1);
  work_for(1, 2);
  auto group = begin_one(1, 1), plain = begin_one(2, 1);
  machine.drain("update", 1h, now);
  machine.drain("again", 2h, now);
  BOOST_TEST(all<draining>(1).size() == 1u);
  BOOST_TEST(all<draining>(2).size() == 1u);
  BOOST_TEST(asked_back.size() == 2u);
  order(1, 2);
  BOOST_TEST(refused(1, 2, errc::overloaded));
  machine.given_back(group, now);
  BOOST_TEST(refused(1, 1, errc::overloaded));
  BOOST_TEST(drains_ended == 0);
  machine.finished(plain, {3}, now);
  BOOST_TEST(all<task_outcome>(2).size() == 1u);
  BOOST_TEST(drains_ended == 1);
  BOOST_TEST(ended.size() == 2u);
  BOOST_TEST(over.empty());
  machine.link_made(0, 3, now);
  BOOST_TEST(all<hello>(3).empty());
  BOOST_TEST(ended.size() == 3u);
}

BOOST_AUTO_TEST_CASE(an_operator_may_ask_a_draining_worker_and_a_home_is_not_served) {
  work_for(0, 1);
  auto plain = begin_one(1, 1);
  machine.drain("update", 1h, now);
  machine.link_made(7, 3, now);
  BOOST_TEST(all<hello>(3).empty());
  BOOST_TEST(ended.empty()); // the link of whoever asks how it is stays
  machine.heard(3, welcome{}, now);
  BOOST_TEST(ended.size() == 1u);
  BOOST_TEST(status().counts.misbehaviour == 0u);
  machine.link_made(8, 4, now);
  now += limits::worker_lease_default;
  machine.tick(now);
  BOOST_TEST(ended.size() >= 2u); // nobody may hold one open for ever
  machine.finished(plain, {3}, now);
  BOOST_TEST(drains_ended == 1);
}

BOOST_AUTO_TEST_CASE(what_is_left_when_the_time_to_drain_is_up_goes_elsewhere) {
  work_for(0, 1);
  work_for(1, 2);
  auto one = begin_one(1, 1), other = begin_one(2, 1);
  machine.drain("update", 1s, now);
  wait(750ms, {1, 2});
  BOOST_TEST(stopped.empty());
  wait(250ms, {1, 2});
  BOOST_TEST(stopped.size() == 2u);
  BOOST_TEST(refused(1, 1, errc::overloaded)); // and so nothing that counts as a loss
  BOOST_TEST(refused(2, 1, errc::overloaded));
  BOOST_TEST(drains_ended == 1); // it waits for no body
  BOOST_TEST(ended.size() == 2u);
  machine.finished(one, {1}, now);
  machine.gone(other, "stopped", now);
  wait(2s);
  BOOST_TEST(all<task_outcome>(1).empty());
  BOOST_TEST(drains_ended == 1);
  BOOST_TEST(status().busy == 0u);
}

BOOST_AUTO_TEST_CASE(a_task_that_was_stopped_is_not_handed_out_again_by_a_drain) {
  work_for(0, 1);
  begin_one(1, 1);
  machine.heard(1, task_stop{1}, now);
  machine.drain("update", 0s, now);
  wait(250ms);
  BOOST_TEST(refused(1, 1, errc::cancelled));
  BOOST_TEST(stopped.size() == 1u);
}

BOOST_AUTO_TEST_CASE(who_drains_again_can_only_shorten_the_time) {
  work_for(0, 1);
  begin_one(1, 1);
  machine.drain("update", 1s, now);
  machine.drain("later", 1h, now);
  machine.drain("sooner", 500ms, now);
  wait(500ms, {1});
  BOOST_TEST(drains_ended == 1);
}

BOOST_AUTO_TEST_CASE(a_time_to_drain_has_a_bound) {
  work_for(0, 1);
  begin_one(1, 1);
  machine.drain("update", nanoseconds::max(), now);
  machine.drain("update", -1h, now); // none at all
  wait(250ms, {1});
  BOOST_TEST(drains_ended == 1);
}

BOOST_AUTO_TEST_CASE(who_has_no_session_may_drain_it_too) {
  machine.heard(9, drain_request{"by hand", 1h, "another"}, now);
  BOOST_TEST(drains_ended == 0);
  machine.heard(9, drain_request{"by hand", 1h, "w"}, now);
  BOOST_TEST(drains_ended == 1);
}

BOOST_AUTO_TEST_CASE(an_idle_worker_drains_at_once_also_when_a_home_asks) {
  work_for(0, 1);
  machine.link_made(1, 2, now); // not answered yet
  machine.heard(1, drain_request{"update", 1h}, now);
  BOOST_TEST(drains_ended == 1);
  BOOST_TEST(ended.size() == 2u);
}

BOOST_AUTO_TEST_CASE(a_drain_waits_for_bodies_of_sessions_that_are_over) {
  work_for(0, 1);
  auto task = begin_one(1, 1);
  wait(3s);
  machine.drain("update", 1h, now);
  BOOST_TEST(drains_ended == 0);
  machine.gone(task, "stopped", now);
  BOOST_TEST(drains_ended == 1);
}

BOOST_AUTO_TEST_CASE(a_run_of_another_build_is_refused_unless_it_is_allowed) {
  for (bool allowed : {false, true}) {
    admission_bench other;
    task_admission strict{other,
                          {.name = "w",
                           .incarnation = "w.1",
                           .labels = {},
                           .capacity = 2,
                           .graphs = {{.name = "g", .hash = "g1", .build = "b1"}},
                           .other_builds = allowed}};
    strict.link_made(1, 1, now);
    strict.heard(1, terms(), now);
    strict.heard(1, run_opened{.run = 1, .graph = "g1", .build = "b2"}, now);
    strict.heard(1, task_order{.issue = 1, .run = 1, .task_id = "t", .node = "n"}, now);
    BOOST_TEST(other.refused(1, 1, errc::unknown_graph) == !allowed);
    BOOST_TEST(other.begun.empty() == !allowed);
    strict.heard(1, graph_refused{"g", "g1", "b2", "7"}, now);
    auto said = other.events.back();
    BOOST_TEST((said.kind == event_kind::graph_refused));
    for (const auto* word : {"`g`", "build b2", "build b1", "version 7", "--allow-other-builds"})
      BOOST_TEST(said.text.find(word) != std::string::npos, said.text);
  }
}

BOOST_AUTO_TEST_CASE(tasks_of_a_home_that_is_gone_are_counted_until_they_end) {
  work_for(1, 1);
  auto task = begin_one(1, 1);
  wait(3s);
  BOOST_TEST((events.back().kind == event_kind::home_lost));
  BOOST_TEST(events.back().text.ends_with("; 1 task dropped"), events.back().text);
  BOOST_TEST(status().left == 1u);
  now += 5s;
  BOOST_TEST((status().left_for >= 5s));
  machine.gone(task, "stopped", now);
  BOOST_TEST(status().left == 0u);
}

BOOST_AUTO_TEST_CASE(a_home_that_has_ended_is_not_logged_as_silent) {
  work_for(1, 1);
  machine.heard(1, refusal{.code = errc::runtime_stopped, .why = "the home has ended"}, now);
  wait(3s);
  BOOST_TEST(std::ranges::count(events, event_kind::home_lost, &cluster_event::kind) == 0);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::cluster
