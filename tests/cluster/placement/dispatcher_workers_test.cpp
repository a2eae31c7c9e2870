// How workers come and go at a home: hellos, names, leases, drains.
#include "tests/cluster/dispatcher_bench.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <algorithm>

namespace troupe::cluster {

BOOST_FIXTURE_TEST_SUITE(cluster_dispatcher_workers, dispatcher_bench)

BOOST_AUTO_TEST_CASE(a_worker_that_presents_itself_is_welcome_for_a_lease) {
  join(1, "a", 2);
  auto yes = last<welcome>(1);
  BOOST_TEST(yes.session == 1u);
  BOOST_TEST(yes.home == "home.1");
  BOOST_TEST(yes.lease.count() == 2500);
  BOOST_TEST(yes.heartbeat.count() == 500);
  BOOST_TEST(reported(event_kind::worker_joined) == 1u);
}

BOOST_AUTO_TEST_CASE(another_protocol_version_is_refused_with_both_versions) {
  auto what = who("a", 2);
  what.protocol = protocol_version + 1;
  join(1, what);
  auto no = last<refusal>(1);
  BOOST_TEST((no.code == errc::protocol_mismatch));
  BOOST_TEST(no.why.find("version 7, the worker 8") != std::string::npos);
  BOOST_TEST((ended == std::vector<link_number>{1}));
  BOOST_TEST(status().workers.empty());
}

BOOST_AUTO_TEST_CASE(who_is_refused_again_and_again_is_logged_once_a_minute) {
  auto old = who("a", 2), other = who("b", 2);
  old.protocol = other.protocol = protocol_version + 1;
  for (link_number link = 1; link <= 10; ++link)
    join(link, old);
  BOOST_TEST(all<refusal>(10).size() == 1u); // it is refused each time
  BOOST_TEST(reported(event_kind::hello_refused) == 1u);
  join(11, other);
  BOOST_TEST(reported(event_kind::hello_refused) == 2u);
  now += 1min;
  join(12, old);
  BOOST_TEST(reported(event_kind::hello_refused) == 3u);
  BOOST_TEST(events.back().text.ends_with("(as with 9 before)"), events.back().text);
}

BOOST_DATA_TEST_CASE(a_hello_past_a_limit_is_refused, boost::unit_test::data::xrange(16), flaw) {
  auto good = who("a", limits::worker_capacity_max);
  good.name = std::string(limits::worker_name_bytes_max, 'n');
  good.labels.assign(limits::worker_labels_max, std::string(limits::worker_label_bytes_max, 'l'));
  good.graphs.assign(limits::worker_graphs_max, research);
  good.graphs[0].name = std::string(limits::node_name_bytes_max, 'g');
  join(1, good);
  BOOST_TEST(all<welcome>(1).size() == 1u);
  auto bad = good;
  switch (flaw) {
    case 0: bad.name += "n"; break;
    case 1: bad.name = ""; break;
    case 2: bad.name = "a\nb"; break;
    case 3: bad.incarnation = ""; break;
    case 4: bad.incarnation = std::string(limits::worker_name_bytes_max + 1, 'i'); break;
    case 5: bad.capacity = 0; break;
    case 6: ++bad.capacity; break;
    case 7: bad.labels.emplace_back("l"); break;
    case 8: bad.labels[0] += "l"; break;
    case 9: bad.labels[0] = ""; break;
    case 10: bad.labels[0] = "\x1b"; break;
    case 11: bad.graphs.push_back(research); break;
    case 12: bad.graphs[0].name += "g"; break;
    case 13: bad.graphs[0].hash += "0"; break;
    case 14: bad.graphs[0].hash[0] = 'A'; break;
    default: bad.graphs[0].hash = ""; break;
  }
  join(2, bad);
  BOOST_TEST((last<refusal>(2).code == errc::invalid_value));
  BOOST_TEST(status().workers.size() == 1u);
}

BOOST_AUTO_TEST_CASE(no_more_workers_than_the_limit_are_taken) {
  for (std::size_t i = 0; i < limits::cluster_workers_max; ++i)
    join(i + 1, "w" + std::to_string(i), 1);
  BOOST_TEST(status().workers.size() == limits::cluster_workers_max);
  join(5000, "one more", 1);
  BOOST_TEST((last<refusal>(5000).code == errc::overloaded));
}

BOOST_AUTO_TEST_CASE(a_name_belongs_to_who_is_there) {
  join(1, "a", 1);
  auto second = who("a", 1);
  second.incarnation = "a.2";
  join(2, second);
  BOOST_TEST((last<refusal>(2).code == errc::conflict));
  submit();
  BOOST_TEST(orders(1) == 1u);
}

BOOST_AUTO_TEST_CASE(a_worker_that_was_started_again_takes_its_name_back_when_its_link_is_broken) {
  join(1, "a", 1);
  submit();
  machine.link_broken(1, now);
  auto second = who("a", 1);
  second.incarnation = "a.2";
  join(2, second);
  BOOST_TEST(orders(2) == 1u);
  BOOST_TEST(last<welcome>(2).session == 2u);
  BOOST_TEST(reported(event_kind::worker_replaced) == 1u);
}

BOOST_AUTO_TEST_CASE(a_name_is_free_when_its_lease_is_over) {
  join(1, "a", 1);
  wait(3s);
  auto second = who("a", 1);
  second.incarnation = "a.2";
  join(2, second);
  BOOST_TEST(all<welcome>(2).size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_worker_that_presents_itself_anew_loses_its_old_session) {
  join(1, "a", 2);
  auto task = submit();
  auto old = last<task_order>(1).issue;
  join(2, "a", 2);
  BOOST_TEST(last<task_order>(2).issue > old);
  outcome(1, old);
  BOOST_TEST(taken.empty());
  BOOST_TEST(status().counts.unknown == 1u);
  outcome(2, last<task_order>(2).issue);
  BOOST_TEST(taken.count(task) == 1u);
}

BOOST_AUTO_TEST_CASE(a_worker_gets_nothing_before_it_has_answered_its_welcome) {
  submit();
  present(1, who("a", 1));
  BOOST_TEST(all<welcome>(1).size() == 1u);
  BOOST_TEST(orders(1) == 0u);
  BOOST_TEST(!status().workers.at(0).reachable);
  BOOST_TEST(reported(event_kind::worker_joined) == 0u);
  beat(1);
  BOOST_TEST(orders(1) == 1u);
  BOOST_TEST(reported(event_kind::worker_joined) == 1u);
}

// A home that stood still, or that nothing reached, hears all messages of that time at once.
BOOST_AUTO_TEST_CASE(hellos_that_are_out_of_date_cost_no_task_a_try) {
  join(1, "a", 1);
  submit();
  for (link_number stale = 2; stale < 20; ++stale)
    present(stale, who("a", 1));
  join(20, "a", 1);
  BOOST_TEST(orders(20) == 1u);
  BOOST_TEST(status().counts.orders == 2u);
  BOOST_TEST(status().counts.reissued == 1u);
  BOOST_TEST(reported(event_kind::worker_replaced) == 1u);
  BOOST_TEST(failed.empty());
}

BOOST_AUTO_TEST_CASE(a_hello_of_a_process_that_is_gone_does_not_keep_its_name) {
  present(1, who("a", 1));
  auto second = who("a", 1);
  second.incarnation = "a.2";
  join(2, second);
  BOOST_TEST(all<welcome>(2).size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_silent_worker_is_lost_after_the_lease_and_within_three_seconds) {
  join(1, "a", 1);
  join(2, "b", 1);
  submit();
  wait(2250ms, {2});
  BOOST_TEST(status().workers.size() == 2u);
  wait(750ms, {2});
  BOOST_TEST(status().workers.size() == 1u);
  BOOST_TEST(reported(event_kind::worker_lost) == 1u);
  BOOST_TEST((last<refusal>(1).code == errc::worker_lost));
  BOOST_TEST(orders(2) == 1u);
}

BOOST_AUTO_TEST_CASE(a_worker_that_hears_its_home_and_is_heard_keeps_a_task_however_long) {
  join(1, "a", 1);
  auto task = submit();
  auto issue = last<task_order>(1).issue;
  for (int i = 0; i < 3'600; ++i) {
    wait(2s);
    beat(1);
    wait(1s); // this time something else is heard first
    machine.heard(1, task_sign{issue}, now);
    wait(1s);
    beat(1);
  }
  BOOST_TEST(orders(1) == 1u); // minutes or four hours: it is handed out once
  outcome(1, issue);
  BOOST_TEST(taken.count(task) == 1u);
}

BOOST_AUTO_TEST_CASE(a_home_that_stood_still_gives_everybody_another_chance) {
  join(1, "a", 1);
  wait(1s, {1});
  now += 1h;
  machine.tick(now);
  BOOST_TEST(status().workers.size() == 1u);
  wait(10s, {1});
  BOOST_TEST(status().workers.size() == 1u);
  now += 1h;
  wait(4s); // and who is really gone is still found out
  BOOST_TEST(status().workers.empty());
}

BOOST_AUTO_TEST_CASE(a_link_that_comes_back_within_the_lease_keeps_the_session) {
  join(1, "a", 1);
  auto task = submit();
  machine.link_broken(1, now);
  wait(2s);
  machine.link_restored(1, now);
  outcome(1, last<task_order>(1).issue);
  BOOST_TEST(taken.count(task) == 1u);
  BOOST_TEST(status().workers.at(0).session == 1u);
}

BOOST_AUTO_TEST_CASE(a_worker_out_of_reach_gets_no_tasks_until_it_is_back) {
  join(1, "a", 2);
  machine.link_broken(1, now);
  submit();
  BOOST_TEST(orders(1) == 0u);
  machine.link_restored(1, now);
  BOOST_TEST(orders(1) == 1u);
}

BOOST_AUTO_TEST_CASE(a_heartbeat_is_answered_at_once) {
  join(1, "a", 1);
  machine.heard(1, heartbeat{.number = 7}, now);
  BOOST_TEST(last<heartbeat>(1).answers == 7u);
  auto number = last<heartbeat>(1).number;
  now += 520ms;
  machine.heard(1, heartbeat{.number = 8, .answers = number, .foreign = 5, .held = 500ms}, now);
  BOOST_TEST((status().workers.at(0).times.last() == 20ms));
  BOOST_TEST(status().workers.at(0).foreign == 5u);
}

BOOST_AUTO_TEST_CASE(a_draining_worker_gets_nothing_more_and_its_tasks_go_on) {
  join(1, "a", 3);
  auto task = submit();
  machine.heard(1, draining{"update"}, now);
  join(2, "b", 1);
  submit();
  BOOST_TEST(orders(1) == 1u);
  BOOST_TEST(orders(2) == 1u);
  outcome(1, last<task_order>(1).issue);
  BOOST_TEST(taken.count(task) == 1u);
  machine.link_broken(1, now);
  BOOST_TEST(reported(event_kind::worker_left) == 1u);
  BOOST_TEST(reported(event_kind::worker_lost) == 0u);
}

BOOST_AUTO_TEST_CASE(a_task_that_is_given_back_goes_elsewhere_and_counts_as_no_loss) {
  join(1, "a", 1);
  auto task = submit();
  auto first = last<task_order>(1).issue;
  join(2, "b", 1);
  machine.heard(1, draining{"update"}, now);
  refuse(1, first);
  auto again = last<task_order>(2);
  BOOST_TEST(again.task_id == "id");
  BOOST_TEST(again.issue > first);
  BOOST_TEST(status().counts.reissued == 0u);
  outcome(2, again.issue);
  BOOST_TEST(taken.count(task) == 1u);
}

BOOST_AUTO_TEST_CASE(another_version_of_a_graph_is_refused_for_that_graph_alone_and_said_once) {
  auto run_b = machine.open_run({.name = "b", .hash = std::string(32, 'c')}, {});
  submit(on_worker{.missing = no_worker::wait});
  submit(on_worker{.label = "gpu", .missing = no_worker::wait});
  submit(on_worker{.missing = no_worker::wait}, run_b);
  auto what = who("a", 4, {"gpu"});
  what.graphs = {other_research, {.name = "b", .hash = std::string(32, 'c')}};
  join(1, what);
  BOOST_TEST(orders(1) == 1u);
  BOOST_TEST(last<task_order>(1).run == run_b);
  submit(on_worker{.choice = worker_choice::pack, .missing = no_worker::wait}); // a line after it
  BOOST_TEST(reported(event_kind::graph_refused) == 1u);
  BOOST_TEST_REQUIRE(all<graph_refused>(1).size() == 1u); // the worker hears of it, too
  BOOST_TEST(last<graph_refused>(1).name == research.name);
  BOOST_TEST(last<graph_refused>(1).hash == research.hash);
}

BOOST_AUTO_TEST_CASE(
  another_version_of_a_graph_is_said_also_to_who_was_there_before_its_first_run) {
  join(1, "a", 1);
  auto second = machine.open_run(other_research, {});
  submit(on_worker{.missing = no_worker::wait}, second);
  BOOST_TEST(orders(1) == 0u);
  BOOST_TEST(reported(event_kind::graph_refused) == 1u);
  BOOST_TEST(last<graph_refused>(1).hash == other_research.hash);
}

BOOST_AUTO_TEST_CASE(a_drain_is_handed_on_to_the_worker_it_names) {
  join(1, "a", 1);
  join(2, "b", 1);
  machine.pass_drain({.why = "update", .patience = 7s, .worker = "b"});
  machine.pass_drain({.why = "update", .patience = 7s, .worker = "c"});
  machine.pass_drain({.why = "update", .patience = 7s});
  BOOST_TEST(all<drain_request>(1).empty());
  BOOST_TEST_REQUIRE(all<drain_request>(2).size() == 1u);
  BOOST_TEST(last<drain_request>(2).patience.count() == 7000);
}

BOOST_AUTO_TEST_CASE(a_worker_that_speaks_but_hears_nothing_is_lost_with_its_lease) {
  join(1, "a", 1);
  auto task = submit();
  wait(10s, {1});
  BOOST_TEST(reported(event_kind::worker_lost) == 0u);
  deaf.insert(1);
  wait(2250ms, {1}); // its own lease is over by then
  BOOST_TEST(reported(event_kind::worker_lost) == 0u);
  wait(500ms, {1});
  BOOST_TEST(reported(event_kind::worker_lost) == 1u);
  join(2, "b", 1);
  outcome(2, last<task_order>(2).issue);
  BOOST_TEST(taken.count(task) == 1u);
}

BOOST_AUTO_TEST_CASE(a_worker_is_given_up_a_lease_after_the_last_answer_it_could_still_hear) {
  join(1, "a", 1);
  wait(2s, {1});
  deaf.insert(1);
  auto answered = now;
  for (auto answers = all<heartbeat>(1).size(); reported(event_kind::worker_lost) == 0;) {
    wait(250ms, {1});
    if (auto all_now = all<heartbeat>(1).size(); all_now > std::exchange(answers, all_now))
      answered = now;
  }
  BOOST_TEST((now - answered >= limits::worker_lease_default));
}

BOOST_AUTO_TEST_CASE(a_worker_that_was_deaf_for_a_while_is_answered_again) {
  join(1, "a", 1);
  wait(1s, {1});
  deaf.insert(1);
  wait(1500ms, {1});
  auto answers = all<heartbeat>(1).size();
  deaf.clear();
  wait(10s, {1});
  BOOST_TEST(all<heartbeat>(1).size() == answers + 40);
  BOOST_TEST(reported(event_kind::worker_lost) == 0u);
}

BOOST_AUTO_TEST_CASE(a_first_heartbeat_is_answered_however_long_the_way) {
  present(1, who("a", 1));
  now += 2s;
  machine.heard(1, heartbeat{.number = 1}, now);
  BOOST_TEST(last<heartbeat>(1).answers == 1u);
}

BOOST_AUTO_TEST_CASE(a_home_that_stood_still_does_not_take_a_worker_for_deaf) {
  join(1, "a", 1);
  wait(1s, {1});
  now += 1min;
  beat(1);
  machine.tick(now);
  wait(1s, {1});
  BOOST_TEST(reported(event_kind::worker_lost) == 0u);
}

BOOST_AUTO_TEST_CASE(what_is_said_on_a_link_without_a_session_is_dropped) {
  machine.heard(9, task_outcome{.issue = 1}, now);
  machine.heard(9, heartbeat{.number = 1}, now);
  machine.link_broken(9, now);
  machine.link_restored(9, now);
  BOOST_TEST(status().counts.unknown == 2u);
  BOOST_TEST(sent.empty());
}

BOOST_AUTO_TEST_CASE(what_only_a_home_says_is_reported_once) {
  join(1, "a", 1);
  machine.heard(1, welcome{}, now);
  machine.heard(1, who("a", 1), now);
  machine.heard(1, task_order{}, now);
  BOOST_TEST(reported(event_kind::misbehaviour) == 1u);
  BOOST_TEST(status().counts.misbehaviour == 3u);
}

// ---- builds -------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(
  a_worker_with_another_build_of_the_graph_gets_no_tasks_and_both_sides_know_why) {
  auto built = research;
  built.build = "aa11";
  auto of = machine.open_run(built, {});
  auto old = who("a", 1), same = who("b", 1);
  old.graphs[0].build = "bb22";
  old.other_builds = true; // the home does not allow it
  same.graphs[0].build = "aa11";
  join(1, old);
  submit({}, of);
  BOOST_TEST(orders(1) == 0u);
  join(2, same);
  BOOST_TEST(orders(2) == 1u);
  BOOST_TEST(last<run_opened>(2).build == "aa11");
  BOOST_TEST_REQUIRE(reported(event_kind::graph_refused) == 1u);
  auto said = std::ranges::find(events, event_kind::graph_refused, &cluster_event::kind)->text;
  for (const auto* word : {"`research`", "build bb22", "build aa11", "--allow-other-builds"})
    BOOST_TEST(said.find(word) != std::string::npos, said);
  BOOST_TEST(last<graph_refused>(1).build == "aa11");
}

BOOST_DATA_TEST_CASE(builds_are_mixed_only_where_both_sides_allow_it,
                     boost::unit_test::data::xrange(4), allowed) {
  bool home = (allowed & 1) != 0, worker = (allowed & 2) != 0;
  dispatcher_bench here{{.incarnation = "home.1", .other_builds = home}};
  auto what = here.who("a", 1);
  what.graphs[0].build = "bb22";
  what.other_builds = worker;
  here.join(1, what);
  here.submit();
  BOOST_TEST(here.orders(1) == (home && worker ? 1u : 0u));
}

BOOST_AUTO_TEST_CASE(another_version_is_another_graph_and_is_named) {
  auto second = research;
  second.hash = std::string(32, 'e');
  second.version = "2";
  auto of = machine.open_run(second, {});
  auto first = who("a", 1);
  first.graphs[0].version = "1";
  join(1, first);
  submit({}, of);
  BOOST_TEST(orders(1) == 0u);
  BOOST_TEST_REQUIRE(reported(event_kind::graph_refused) == 1u);
  auto said = std::ranges::find(events, event_kind::graph_refused, &cluster_event::kind)->text;
  for (const auto* word : {"version 1", "version 2"})
    BOOST_TEST(said.find(word) != std::string::npos, said);
}

// ---- terms --------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(the_longer_lease_of_a_worker_holds_and_it_is_missed_after_that) {
  auto patient = who("a", 1);
  patient.lease = 10s;
  patient.heartbeat = 1s;
  join(1, patient);
  join(2, "b", 1);
  BOOST_TEST((last<welcome>(1).lease == 10s));
  BOOST_TEST((last<welcome>(1).heartbeat == 1s));
  BOOST_TEST((last<welcome>(2).lease == limits::worker_lease_default));
  wait(3s);
  BOOST_TEST(reported(event_kind::worker_lost) == 1u); // b
  wait(6s);
  BOOST_TEST(reported(event_kind::worker_lost) == 1u);
  wait(2s);
  BOOST_TEST(reported(event_kind::worker_lost) == 2u);
  BOOST_TEST(events.back().text.find("10000 ms") != std::string::npos, events.back().text);
}

BOOST_AUTO_TEST_CASE(a_shorter_lease_than_the_homes_does_not_hold) {
  auto hasty = who("a", 1);
  hasty.lease = 300ms;
  hasty.heartbeat = 100ms;
  join(1, hasty);
  BOOST_TEST((last<welcome>(1).lease == limits::worker_lease_default));
}

BOOST_AUTO_TEST_CASE(a_lease_that_can_not_be_held_is_refused) {
  auto bad = who("a", 1);
  bad.lease = 1s;
  bad.heartbeat = 900ms;
  join(1, bad);
  BOOST_TEST((last<refusal>(1).code == errc::invalid_value));
}

// ---- what an operator reads ---------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_loss_is_logged_with_the_number_of_tasks_and_a_return_with_the_time) {
  join(1, "a", 2);
  submit();
  submit();
  wait(3s);
  BOOST_TEST_REQUIRE(reported(event_kind::worker_lost) == 1u);
  auto lost = std::ranges::find(events, event_kind::worker_lost, &cluster_event::kind);
  BOOST_TEST(lost->text.ends_with("; 2 tasks handed out again"), lost->text);
  BOOST_TEST(is_trouble(lost->kind));
  join(2, "a", 2);
  BOOST_TEST((events.back().kind == event_kind::worker_joined));
  BOOST_TEST(events.back().text.find(", back after ") != std::string::npos, events.back().text);
  BOOST_TEST(!is_trouble(events.back().kind));
}

BOOST_AUTO_TEST_CASE(a_home_that_ends_tells_its_workers) {
  join(1, "a", 1);
  machine.end();
  BOOST_TEST((last<refusal>(1).code == errc::runtime_stopped));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::cluster
