// Tasks at a home: handed out, again, no more.
#include "tests/cluster/dispatcher_bench.hpp"

#include <algorithm>

namespace troupe::cluster {
namespace {

struct small_queue : dispatcher_bench {
  small_queue()
    : dispatcher_bench{
      dispatcher_options{.incarnation = "", .queue_tasks_max = 3, .queue_bytes_max = 100}} {}
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(cluster_dispatcher, dispatcher_bench)

BOOST_AUTO_TEST_CASE(a_task_goes_out_behind_the_facts_of_its_run_and_its_outcome_comes_back) {
  join(1, "a", 4);
  auto task = submit();
  submit();
  auto opened = all<run_opened>(1);
  BOOST_REQUIRE(opened.size() == 1u);
  BOOST_TEST(opened[0].graph == research.hash);
  BOOST_TEST(opened[0].facts == (bytes{1, 2}), boost::test_tools::per_element());
  auto is_order = [](const message& m) { return std::holds_alternative<task_order>(m); };
  auto first = std::ranges::find_if(sent[1], is_order);
  BOOST_TEST(std::holds_alternative<step_opened>(*std::prev(first)));
  BOOST_TEST(std::holds_alternative<run_opened>(*std::prev(first, 2)));
  auto order = all<task_order>(1).at(0);
  BOOST_TEST(order.run == opened[0].run);
  BOOST_TEST(order.node == "work");
  outcome(1, order.issue, 5);
  BOOST_TEST(taken[task] == bytes{5}, boost::test_tools::per_element());
  machine.accepted(task);
  BOOST_TEST(status().counts.accepted == 1u);
  BOOST_TEST(status().tasks == 1u);
}

BOOST_AUTO_TEST_CASE(what_the_tasks_of_a_step_share_is_said_once_to_each_worker) {
  join(1, "a", 8);
  join(2, "b", 8);
  auto submit_of = [&](bytes step) {
    auto how = machine.submit(
      {.run = run, .task_id = "id", .node = "work", .task = {}, .where = {}, .step = step}, now);
    BOOST_TEST_REQUIRE(how.has_value());
  };
  for (int i = 0; i < 4; ++i)
    submit_of({1});
  BOOST_TEST(orders(1) == 2u);
  BOOST_TEST(all<step_opened>(1).size() == 1u);
  BOOST_TEST(all<step_opened>(2).size() == 1u);
  submit_of({2});
  submit_of({2});
  BOOST_TEST(all<step_opened>(1).size() == 2u);
  BOOST_TEST(last<step_opened>(2).facts == bytes{2}, boost::test_tools::per_element());
  BOOST_TEST(last<step_opened>(2).run == run);
}

BOOST_AUTO_TEST_CASE(a_task_that_is_handed_out_again_goes_with_its_own_step) {
  join(1, "a", 8);
  for (std::uint8_t step : {1, 2})
    BOOST_TEST_REQUIRE(
      machine
        .submit(
          {.run = run, .task_id = "id", .node = "work", .task = {}, .where = {}, .step = {step}},
          now)
        .has_value());
  refuse(1, 1, errc::cancelled);
  BOOST_TEST(last<step_opened>(1).facts == bytes{1}, boost::test_tools::per_element());
  BOOST_TEST(std::holds_alternative<task_order>(sent[1].back()));
}

BOOST_AUTO_TEST_CASE(a_worker_never_has_more_tasks_than_its_capacity) {
  join(1, "a", 2);
  for (int i = 0; i < 5; ++i)
    submit();
  BOOST_TEST(orders(1) == 2u);
  outcome(1, all<task_order>(1).at(1).issue);
  BOOST_TEST(orders(1) == 3u);
  BOOST_TEST(status().waiting == 2u);
}

BOOST_AUTO_TEST_CASE(tasks_of_a_lost_worker_go_elsewhere_under_new_numbers) {
  join(1, "a", 2);
  auto first = submit(), second = submit();
  join(2, "b", 1);
  wait(3s, {2});
  BOOST_REQUIRE(orders(2) == 1u);
  outcome(2, last<task_order>(2).issue);
  BOOST_REQUIRE(orders(2) == 2u); // in the order in which the lost one had got them
  outcome(2, last<task_order>(2).issue);
  BOOST_TEST(taken.count(first) == 1u);
  BOOST_TEST(taken.count(second) == 1u);
  auto issues = all<task_order>(2);
  BOOST_TEST(issues[0].issue > all<task_order>(1)[1].issue);
  BOOST_TEST(status().counts.reissued == 2u);
}

BOOST_AUTO_TEST_CASE(an_outcome_counts_once) {
  join(1, "a", 1);
  auto task = submit();
  auto issue = last<task_order>(1).issue;
  outcome(1, issue, 1);
  outcome(1, issue, 2);
  BOOST_TEST(taken[task] == bytes{1}, boost::test_tools::per_element());
  BOOST_TEST(status().counts.stale == 1u);
  machine.accepted(task);
  machine.accepted(task);
  BOOST_TEST(status().counts.accepted == 1u);
}

BOOST_AUTO_TEST_CASE(a_worker_that_answers_for_a_task_of_another_is_reported_once) {
  join(1, "a", 1);
  join(2, "b", 1);
  submit();
  auto issue = last<task_order>(1).issue;
  for (auto number : {issue, issue, issue_number{77}, issue_number{0}})
    outcome(2, number);
  BOOST_TEST(taken.empty());
  BOOST_TEST(reported(event_kind::misbehaviour) == 1u);
  outcome(1, issue);
  BOOST_TEST(taken.size() == 1u);
}

// A worker with a certificate sends any messages.
BOOST_AUTO_TEST_CASE(a_forger_changes_nothing_is_counted_and_logged_once) {
  join(1, "a", 2);
  join(2, "forger", 1);
  auto first = submit(), its = submit(), second = submit();
  auto given = all<task_order>(1), its_own = all<task_order>(2);
  BOOST_TEST_REQUIRE((given.size() == 2u && its_own.size() == 1u));
  outcome(2, its_own[0].issue, 1);
  machine.accepted(its);
  auto before = status().counts;
  std::size_t said = 0;
  auto forge = [&](message what) {
    ++said;
    machine.heard(2, std::move(what), now);
  };
  for (auto issue : {issue_number{0}, its_own[0].issue, given[0].issue, given[1].issue,
                     issue_number{99}, ~issue_number{0}}) {
    forge(task_outcome{.issue = issue, .outcome = {66}});
    forge(task_outcome{.issue = issue, .outcome = {66}});
    forge(task_refused{.issue = issue, .code = errc::invalid_value, .why = {}});
    forge(task_kept{issue});
    forge(save_order{.issue = issue, .ticket = 1});
    forge(call_order{.issue = issue, .ticket = 2});
    forge(task_part{.issue = issue});
    forge(task_sign{issue});
  }
  BOOST_TEST(taken.size() == 1u);
  BOOST_TEST(failed.empty());
  BOOST_TEST(passed.empty());
  BOOST_TEST(all<task_order>(1).size() + all<task_order>(2).size() == 3u);
  BOOST_TEST(status().counts.stale - before.stale == said);
  BOOST_TEST(status().counts.misbehaviour == said / 6 * 5); // its own old issue is just late
  BOOST_TEST(reported(event_kind::misbehaviour) == 1u);
  outcome(1, given[0].issue, 7);
  outcome(1, given[1].issue, 8);
  BOOST_TEST(taken[first] == bytes{7}, boost::test_tools::per_element());
  BOOST_TEST(taken[second] == bytes{8}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(saves_and_calls_count_only_for_the_newest_issue) {
  join(1, "a", 1);
  auto task = submit();
  auto issue = last<task_order>(1).issue;
  machine.heard(1, save_order{.issue = issue, .ticket = 1}, now);
  machine.heard(1, call_order{.issue = issue}, now);
  machine.heard(1, task_part{.issue = issue}, now);
  machine.heard(1, save_order{.issue = issue + 1}, now);
  BOOST_TEST(passed.size() == 3u);
  BOOST_TEST(passed[0].first == task);
  machine.reply(save_answer{.issue = issue, .ticket = 1});
  BOOST_TEST(all<save_answer>(1).size() == 1u);
  join(2, "a", 1); // a new session: a new issue
  machine.heard(1, save_order{.issue = issue, .ticket = 2}, now);
  machine.heard(2, save_order{.issue = issue, .ticket = 2}, now);
  machine.reply(save_answer{.issue = issue, .ticket = 1});
  BOOST_TEST(passed.size() == 3u);
  BOOST_TEST(all<save_answer>(1).size() + all<save_answer>(2).size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_task_that_kills_workers_ends_in_worker_lost) {
  auto task = submit(on_worker{.missing = no_worker::wait});
  for (link_number link = 1; link <= limits::task_reissues_max + 1; ++link) {
    BOOST_TEST((failure(task) == errc::ok));
    join(link, "w" + std::to_string(link), 1);
    BOOST_REQUIRE(orders(link) == 1u);
    wait(3s);
  }
  BOOST_TEST((failure(task) == errc::worker_lost));
  BOOST_TEST(failed.at(task).message().find("task_reissues_max") != std::string::npos);
  BOOST_TEST(status().tasks == 0u);
}

BOOST_AUTO_TEST_CASE(an_outcome_that_cant_be_used_is_asked_for_again) {
  join(1, "a", 1);
  auto task = submit();
  for (std::uint32_t i = 0; i <= limits::task_reissues_max; ++i) {
    BOOST_REQUIRE(orders(1) == i + 1);
    outcome(1, last<task_order>(1).issue);
    machine.rejected(task, {errc::invalid_value, "no msgpack"}, now);
  }
  BOOST_TEST((failure(task) == errc::worker_lost));
  BOOST_TEST(failed.at(task).message().find("no msgpack") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(an_outcome_is_taken_with_the_name_of_its_worker) {
  join(1, "a", 1);
  auto task = submit();
  outcome(1, last<task_order>(1).issue);
  BOOST_TEST(taken_from.at(task) == "a");
}

BOOST_AUTO_TEST_CASE(that_its_run_drains_is_said_to_whoever_has_the_task) {
  join(1, "a", 1);
  auto task = submit(), waiting = submit();
  machine.drain(task, "shutdown");
  machine.drain(waiting, "shutdown");
  machine.drain(task + 100, "nobody's");
  BOOST_TEST_REQUIRE(all<task_drain>(1).size() == 1u);
  BOOST_TEST(last<task_drain>(1).issue == last<task_order>(1).issue);
  wait(3s); // lost
  join(2, "b", 2);
  BOOST_TEST(orders(2) == 2u);
  BOOST_TEST(all<task_drain>(2).size() == 2u);
}

BOOST_AUTO_TEST_CASE(the_worker_of_a_task_learns_once_that_the_step_failed) {
  join(1, "a", 1);
  auto task = submit(), waiting = submit();
  for (int i = 0; i < 3; ++i) {
    machine.step_failed(task);
    machine.step_failed(waiting);
    machine.step_failed(task + 100);
  }
  BOOST_TEST_REQUIRE(all<step_failed>(1).size() == 1u);
  BOOST_TEST(last<step_failed>(1).issue == last<task_order>(1).issue);
  wait(3s); // lost
  join(2, "b", 2);
  BOOST_TEST(orders(2) == 2u);
  BOOST_TEST(all<step_failed>(2).size() == 2u);
}

BOOST_AUTO_TEST_CASE(a_clock_that_jumps_by_an_hour_loses_nobody_who_is_there) {
  join(1, "a", 1);
  auto task = submit();
  for (auto jump : {1h, -1h}) {
    now += jump;
    wait(1s, {1});
  }
  outcome(1, last<task_order>(1).issue);
  BOOST_TEST(taken.count(task) == 1u);
  BOOST_TEST(orders(1) == 1u);
  BOOST_TEST(reported(event_kind::worker_lost) == 0u);
}

BOOST_AUTO_TEST_CASE(a_task_whose_outcome_was_taken_is_not_handed_out_again) {
  join(1, "a", 1);
  auto task = submit();
  outcome(1, last<task_order>(1).issue);
  join(2, "b", 1);
  wait(5s, {2});
  BOOST_TEST(orders(2) == 0u);
  machine.accepted(task);
  BOOST_TEST(status().tasks == 0u);
}

BOOST_AUTO_TEST_CASE(a_cancelled_task_keeps_its_place_until_the_worker_has_answered) {
  join(1, "a", 1);
  auto task = submit();
  auto issue = last<task_order>(1).issue;
  machine.cancel(task);
  BOOST_TEST(last<task_stop>(1).issue == issue);
  submit();
  BOOST_TEST(orders(1) == 1u);
  machine.heard(1, save_order{.issue = issue}, now);
  BOOST_TEST(passed.empty());
  refuse(1, issue, errc::cancelled);
  BOOST_TEST(orders(1) == 2u);
  machine.cancel(task); // again: nothing
  machine.cancel(12345);
  BOOST_TEST(failed.empty());
}

BOOST_AUTO_TEST_CASE(a_cancelled_task_that_was_done_counts_no_more) {
  join(1, "a", 1);
  auto task = submit();
  machine.cancel(task);
  outcome(1, last<task_order>(1).issue);
  BOOST_TEST(taken.empty());
  submit();
  BOOST_TEST(orders(1) == 2u);
}

BOOST_AUTO_TEST_CASE(a_run_that_is_closed_takes_its_tasks_along) {
  join(1, "a", 1);
  submit();
  submit();
  machine.close_run(run);
  BOOST_TEST(all<task_stop>(1).size() == 1u);
  BOOST_TEST(last<run_closed>(1).run == run);
  BOOST_TEST(status().tasks == 0u);
  BOOST_TEST(status().waiting == 0u);
  BOOST_TEST((try_submit().error().code() == errc::invalid_value));
  machine.close_run(run);
}

BOOST_AUTO_TEST_CASE(runs_share_a_worker_in_turns) {
  join(1, "a", 1);
  auto other = machine.open_run(research, {});
  auto head = submit();
  std::vector<task_number> order;
  for (int i = 0; i < 3; ++i)
    submit();
  submit({}, other);
  std::vector<run_number> runs;
  for (auto issue = last<task_order>(1).issue;; issue = last<task_order>(1).issue) {
    runs.push_back(last<task_order>(1).run);
    if (runs.size() == 5)
      break;
    outcome(1, issue);
  }
  std::vector<run_number> expected{run, run, other, run, run};
  BOOST_TEST(runs == expected, boost::test_tools::per_element());
  BOOST_TEST(taken.count(head) == 1u);
}

BOOST_AUTO_TEST_CASE(lines_for_different_labels_share_a_worker_in_turns) {
  join(1, "a", 1, {"x", "y"});
  for (const char* label : {"x", "x", "x", "y"})
    submit(on_worker{.label = label});
  outcome(1, last<task_order>(1).issue);
  outcome(1, last<task_order>(1).issue);
  BOOST_TEST(status().lines.at(1).label == "y");
  BOOST_TEST(status().lines.at(1).waiting == 0u); // one of the first three goes before it
}

BOOST_AUTO_TEST_CASE(a_worker_that_was_full_gets_less_for_a_while) {
  join(1, "a", 4);
  for (int i = 0; i < 8; ++i)
    submit();
  auto out = all<task_order>(1);
  refuse(1, out[2].issue);
  refuse(1, out[3].issue);
  BOOST_TEST(status().workers.at(0).allowed == 2u);
  BOOST_TEST(orders(1) == 4u);
  outcome(1, out[0].issue);
  BOOST_TEST(orders(1) == 5u); // it has two
  wait(250ms, {1});
  BOOST_TEST(orders(1) == 7u); // and is trusted again
  BOOST_TEST(status().workers.at(0).allowed == 4u);
}

BOOST_AUTO_TEST_CASE(a_worker_that_is_always_full_is_asked_seldom) {
  join(1, "a", 4);
  submit();
  for (int i = 0; i < 400; ++i) { // a hundred seconds
    if (auto open = status().workers.at(0).running; open > 0)
      refuse(1, last<task_order>(1).issue);
    wait(250ms, {1});
  }
  BOOST_TEST(orders(1) > 30u);
  BOOST_TEST(orders(1) < 70u);
}

BOOST_AUTO_TEST_CASE(a_refused_graph_is_not_sent_again_and_the_task_goes_elsewhere) {
  join(1, "a", 4);
  submit();
  join(2, "b", 4);
  refuse(1, last<task_order>(1).issue, errc::unknown_graph);
  BOOST_TEST(orders(2) == 1u);
  for (int i = 0; i < 3; ++i)
    submit();
  BOOST_TEST(orders(1) == 1u);
  BOOST_TEST(reported(event_kind::graph_refused) == 1u);
}

BOOST_AUTO_TEST_CASE(a_task_that_a_worker_cant_read_fails) {
  join(1, "a", 1);
  auto task = submit();
  refuse(1, last<task_order>(1).issue, errc::invalid_value);
  BOOST_TEST((failure(task) == errc::invalid_value));
}

BOOST_AUTO_TEST_CASE(without_anybody_who_could_take_it_a_task_fails_when_nobody_came_for_a_while) {
  auto task = submit();
  wait(3s);
  BOOST_TEST(failed.empty());
  wait(1500ms);
  BOOST_TEST((failure(task) == errc::worker_lost));
  BOOST_TEST((try_submit().error().code() == errc::worker_lost)); // at once from then on
  join(1, "a", 1);
  submit();
  BOOST_TEST(orders(1) == 1u);
}

BOOST_AUTO_TEST_CASE(the_only_worker_may_come_back_within_a_while) {
  join(1, "a", 1);
  auto task = submit();
  wait(60s, {1});
  wait(3s); // lost
  BOOST_TEST(status().workers.empty());
  submit();
  wait(3s);
  join(2, "a", 2);
  BOOST_TEST(orders(2) == 2u);
  wait(8s); // gone for good
  BOOST_TEST((failure(task) == errc::worker_lost));
  BOOST_TEST(failed.at(task).message().find("no other worker could take it") != std::string::npos);
  BOOST_TEST(failed.size() == 2u);
}

BOOST_AUTO_TEST_CASE(a_graph_that_no_worker_has_fails_as_unknown) {
  auto what = who("a", 1);
  what.graphs = {other_research};
  join(1, what);
  wait(5s, {1});
  BOOST_TEST((try_submit().error().code() == errc::unknown_graph));
}

BOOST_AUTO_TEST_CASE(a_task_that_waits_for_workers_waits) {
  join(9, "plain", 1);
  auto task = submit(on_worker{.label = "gpu", .missing = no_worker::wait});
  submit(on_worker{.label = "gpu", .missing = no_worker::wait});
  BOOST_TEST(reported(event_kind::nobody_there) == 0u);
  wait(1min, {9});
  BOOST_TEST(failed.empty());
  BOOST_TEST(reported(event_kind::nobody_there) == 1u); // for both, and once
  auto text = events.back().text;
  BOOST_TEST(text.find("2 tasks wait") != std::string::npos);
  BOOST_TEST(text.find("`plain`") != std::string::npos);
  join(1, "a", 1, {"gpu"});
  outcome(1, last<task_order>(1).issue);
  BOOST_TEST(taken.count(task) == 1u);
}

BOOST_AUTO_TEST_CASE(a_label_past_its_limit_is_refused) {
  join(1, "a", 1);
  std::string longest(limits::worker_label_bytes_max, 'x');
  BOOST_TEST(try_submit(on_worker{.label = longest, .missing = no_worker::wait}).has_value());
  auto how = try_submit(on_worker{.label = longest + "x"});
  BOOST_REQUIRE(!how.has_value());
  BOOST_TEST((how.error().code() == errc::invalid_config));
}

BOOST_FIXTURE_TEST_CASE(a_full_queue_takes_nothing_more_and_says_when_to_come_back, small_queue) {
  join(1, "a", 1);
  for (int i = 0; i < 4; ++i)
    submit();
  auto how = try_submit();
  BOOST_REQUIRE(!how.has_value());
  BOOST_TEST((how.error().code() == errc::overloaded));
  BOOST_TEST(how.error().message().find("try again in 100 ms") != std::string::npos);
  outcome(1, last<task_order>(1).issue);
  BOOST_TEST(try_submit().has_value());
}

BOOST_FIXTURE_TEST_CASE(the_bytes_that_wait_are_bounded_too, small_queue) {
  BOOST_TEST(try_submit({}, 0, 100).has_value());
  BOOST_TEST((try_submit().error().code() == errc::overloaded));
  join(1, "a", 1);
  BOOST_TEST((try_submit({}, 0, 101).error().code() == errc::overloaded));
  outcome(1, last<task_order>(1).issue);
  BOOST_TEST(try_submit({}, 0, 101).has_value()); // it does not wait
}

BOOST_FIXTURE_TEST_CASE(what_comes_back_from_a_lost_worker_is_let_into_a_full_queue, small_queue) {
  join(1, "a", 2);
  for (int i = 0; i < 5; ++i)
    submit();
  wait(3s);
  BOOST_TEST(status().waiting == 5u);
  BOOST_TEST(failed.empty());
}

BOOST_AUTO_TEST_CASE(lines_that_nobody_uses_are_dropped) {
  join(1, "a", 1);
  for (int i = 0; i < 1000; ++i) {
    auto graph = graph_offer{.name = "g" + std::to_string(i), .hash = std::string(32, 'd')};
    auto r = machine.open_run(graph, {});
    submit(on_worker{.missing = no_worker::wait}, r);
    machine.close_run(r);
  }
  BOOST_TEST(status().lines.size() <= 257u);
  submit();
  BOOST_TEST(orders(1) == 1u);
}

BOOST_AUTO_TEST_CASE(the_status_shows_where_tasks_are) {
  join(1, "a", 1, {"gpu"});
  submit();
  submit();
  now += 10ms;
  outcome(1, last<task_order>(1).issue);
  auto s = status();
  BOOST_TEST(s.tasks == 2u);
  BOOST_TEST(s.runs == 1u);
  BOOST_TEST(s.workers.at(0).orders == 2u);
  BOOST_TEST(s.workers.at(0).outcomes == 1u);
  BOOST_TEST(s.workers.at(0).running == 1u);
  BOOST_TEST((s.serving.most() == 10ms));
  BOOST_TEST((s.placing.most() == 10ms));
  BOOST_TEST(s.placing.count() == 2u);
  BOOST_TEST(s.lines.at(0).workers == 1u);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::cluster
