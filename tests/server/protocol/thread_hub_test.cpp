// Hubs of one thread on several servers.
#include "server/protocol/thread_hub.hpp"
#include "tests/server/runs/shared_servers.hpp"

#include <boost/test/unit_test.hpp>

#include <condition_variable>
#include <mutex>

namespace troupe::server::test {
namespace {

/// A client of a thread's events on one server. An event is "NUMBER METHOD DATA".
class hub_client {
public:
  hub_client(thread_hubs& hubs, const std::string& thread)
    : follows_{hubs.follow(thread)},
      subscribed_{
        hubs.at(thread)->subscribe({.channels = {"lifecycle", "values"}},
                                   {.take = [this](const numbered_event& e) { add(e); }})} {}

  /// Its events, once it has seen the ends of so many runs.
  std::vector<std::string> until_end(int runs) {
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [&] { return ends_ >= runs; });
    return events_;
  }

private:
  void add(const numbered_event& e) {
    std::lock_guard lock{mutex_};
    events_.push_back(std::to_string(e.seq) + ' ' + e.event.method + ' ' + to_json(e.event.data));
    ends_ += e.event.data["event"] == value("completed");
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> events_;
  int ends_ = 0;
  std::shared_ptr<void> follows_;
  std::shared_ptr<void> subscribed_;
};

struct hubs_of_a_thread : shared_world {
  run_record start(shared_server& on, const value& members) const {
    auto request = shared_server::request(members);
    request.is_followed = true; // as a command of the protocol starts it
    return on.runs.create(thread, request, {.assistant_id = "a", .graph_id = "steps"});
  }
};

BOOST_FIXTURE_TEST_SUITE(server_thread_hub, hubs_of_a_thread)

BOOST_AUTO_TEST_CASE(an_event_has_one_number_on_all_servers) {
  shared_server a{*this, "a"}, b{*this, "b"};
  thread_hubs at_a{a.runs}, at_b{b.runs};
  hub_client here{at_a, thread}, there{at_b, thread};
  a.end_of(start(a, free_input()));
  there.until_end(1);
  pass(std::chrono::seconds{1});
  b.end_of(start(b, free_input()));
  auto all = here.until_end(2);
  BOOST_TEST(all.size() == 2 * 5u); // running, three values, completed
  BOOST_TEST(there.until_end(2) == all, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_client_that_comes_to_another_server_gets_what_it_missed) {
  shared_server a{*this, "a"}, b{*this, "b"};
  thread_hubs at_a{a.runs}, at_b{b.runs};
  hub_client here{at_a, thread};
  a.end_of(start(a, free_input()));
  pass(std::chrono::seconds{1});
  auto running = start(a, held_input());
  a.at->wait_for(1);
  hub_client there{at_b, thread};
  a.at->open();
  a.end_of(running);
  BOOST_TEST(there.until_end(2) == here.until_end(2), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_depth_is_counted_from_a_namespace) {
  auto has = [](const subscription& what, const std::vector<std::string>& ns) {
    return wants(what, {.method = "values", .ns = ns, .data = {}});
  };
  const std::vector<std::string> inner{"a:1"}, deeper{"a:1", "b:2"};
  const subscription all{.channels = {"values"}, .depth = 0};
  BOOST_TEST(has(all, {}));
  BOOST_TEST(has(all, deeper));
  const subscription below{.channels = {"values"}, .namespaces = {inner}, .depth = 0};
  BOOST_TEST(!has(below, {}));
  BOOST_TEST(has(below, inner));
  BOOST_TEST(!has(below, deeper));
}

BOOST_AUTO_TEST_CASE(a_subscription_begins_before_its_kept_events) {
  shared_server a{*this, "a"};
  thread_hubs hubs{a.runs};
  hub_client first{hubs, thread};
  a.end_of(start(a, free_input()));
  first.until_end(1);
  std::vector<std::string> heard;
  auto second = hubs.at(thread)->subscribe(
    {.channels = {"lifecycle"}},
    {.take =
       [&](const numbered_event& e) { heard.emplace_back(e.event.data["event"].as_string()); }},
    [&] { heard.emplace_back("begins"); });
  BOOST_TEST(heard == (std::vector<std::string>{"begins", "running", "completed"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(an_event_that_is_on_its_way_needs_its_hub_alone) {
  shared_server a{*this, "a"};
  auto hubs = std::make_unique<thread_hubs>(a.runs);
  auto hub = hubs->at(thread); // as the observer holds it while it tells an event
  auto to = thread_hub::observer(hub);
  hubs.reset();
  std::string heard;
  auto reader = hub->subscribe({.channels = {"lifecycle"}},
                               {.take = [&](const numbered_event& e) { heard += e.json; }});
  to.began({.run_id = "r", .thread_id = thread});
  auto time = from_json(heard, json_form::plain).value()["params"]["timestamp"];
  BOOST_TEST(time == value(a.runs.now() / 1000), heard);
}

BOOST_AUTO_TEST_CASE(a_thread_under_the_id_of_a_removed_one_shows_none_of_its_events) {
  auto hub = std::make_shared<thread_hub>([] { return std::int64_t{0}; }, false);
  auto to = thread_hub::observer(hub);
  auto begin = [&](const char* id, std::int64_t thread_created_at) {
    run_record run{.run_id = id, .graph_id = id, .thread_created_at = thread_created_at};
    to.began(run);
    return [&to, run] { to.ended({run}); };
  };
  std::string heard[4];
  auto subscribe = [&](std::string& into, std::int64_t thread_created_at, bool is_told = false) {
    thread_reader reader{.take = [&into](const numbered_event& e) {
      into += e.event.data["event"].as<std::string>() + ' '
              + e.event.data["graph_name"].as<std::string>() + ", ";
    }};
    if (is_told)
      reader.replaced = [&into] { into += "replaced"; };
    return hub->subscribe({.channels = {"lifecycle"}, .thread_created_at = thread_created_at},
                          std::move(reader));
  };
  begin("early", 0)(); // its thread is not known
  begin("old", 10)();
  auto end_of_old = begin("other old", 10);
  auto any = subscribe(heard[0], 0);
  auto old = subscribe(heard[1], 10, true);
  BOOST_TEST(heard[1]
             == "running early, completed early, running old, completed old, running other old, ");
  auto fresh = subscribe(heard[2], 20);
  BOOST_TEST(heard[2] == "");
  end_of_old();
  begin("late old", 10);
  begin("new", 20)();
  BOOST_TEST(heard[0].ends_with("running other old, running new, completed new, "));
  BOOST_TEST(heard[1].ends_with("running other old, replaced"));
  BOOST_TEST(heard[2] == "running new, completed new, ");
  auto stale = subscribe(heard[3], 10, true);
  BOOST_TEST(heard[3] == "replaced");
}

BOOST_AUTO_TEST_CASE(the_id_of_a_runs_first_event_names_the_run) {
  auto hub = std::make_shared<thread_hub>([] { return std::int64_t{0}; }, false);
  auto to = thread_hub::observer(hub);
  std::vector<value> ids;
  auto reading =
    hub->subscribe({.channels = {"lifecycle"}}, {.take = [&ids](const numbered_event& e) {
                     ids.push_back(from_json(e.json, json_form::plain).value()["event_id"]);
                   }});
  const run_record run{.run_id = "r-1", .graph_id = "g", .begun_at = 5};
  to.began(run);
  to.ended({run});
  BOOST_TEST(value::list(ids) == value::list({"synth:r-1:lc||running", "6"}));
}

BOOST_AUTO_TEST_CASE(numbers_go_on_after_a_restart_and_never_fall) {
  std::vector<std::uint64_t> numbers;
  auto run_at = [&](thread_hub& hub, const thread_observer& to, std::int64_t begun_at) {
    const run_record run{.run_id = std::to_string(begun_at), .graph_id = "g", .begun_at = begun_at};
    to.began(run);
    to.ended({run});
    numbers.push_back(hub.last_seq());
  };
  auto hub_of = [] { return std::make_shared<thread_hub>([] { return std::int64_t{0}; }, false); };
  auto before = hub_of(), after = hub_of();
  auto to_before = thread_hub::observer(before), to_after = thread_hub::observer(after);
  run_at(*before, to_before, 1000);
  run_at(*before, to_before, 900); // the clock went back
  run_at(*after, to_after, 5000);
  BOOST_TEST(numbers == (std::vector<std::uint64_t>{1001, 1003, 5001}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_segment_without_a_task_stands_for_all_tasks_of_its_node) {
  auto fits = [](std::vector<std::string> prefix, std::vector<std::string> ns) {
    return wants({.channels = {"values"}, .namespaces = {std::move(prefix)}},
                 {.method = "values", .ns = std::move(ns), .data = {}});
  };
  BOOST_TEST(fits({"sub"}, {"sub:1"}));
  BOOST_TEST(fits({"sub"}, {"sub"}));
  BOOST_TEST(fits({"sub:1"}, {"sub:1", "inner:2"}));
  BOOST_TEST(fits({"sub", "inner"}, {"sub:1", "inner:2"}));
  BOOST_TEST(!fits({"sub"}, {"subs:1"}));
  BOOST_TEST(!fits({"sub:1"}, {"sub:12"}));
  BOOST_TEST(!fits({"sub:1"}, {"sub:1:2"}));
  BOOST_TEST(!fits({"sub"}, {}));
}

BOOST_AUTO_TEST_CASE(a_hub_that_was_left_alone_gets_what_it_missed_and_nothing_twice) {
  shared_server a{*this, "a"}, b{*this, "b"};
  thread_hubs at_a{a.runs}, at_b{b.runs};
  hub_client here{at_a, thread};
  auto there = std::make_unique<hub_client>(at_b, thread);
  a.end_of(start(a, free_input()));
  there->until_end(1);
  there.reset();
  pass(limits::server_follower_kept);
  a.runs.look_at_servers();
  b.runs.look_at_servers();
  b.runs.recover(); // it does not follow the thread any more
  a.end_of(start(a, free_input()));
  there = std::make_unique<hub_client>(at_b, thread);
  BOOST_TEST(there->until_end(2) == here.until_end(2), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_client_gets_so_many_runs_of_the_past) {
  constexpr int kept = limits::server_thread_runs_replayed;
  shared_server a{*this, "a"}, b{*this, "b"};
  thread_hubs at_b{b.runs};
  for (int i = 0; i <= kept; ++i) {
    pass(std::chrono::milliseconds{100});
    a.end_of(start(a, free_input()));
  }
  hub_client there{at_b, thread};
  auto all = there.until_end(kept);
  BOOST_TEST(all.size() == kept * 5u);
  BOOST_TEST(all[1].find("\"n\":11}") != std::string::npos); // the state that the second run found
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace
} // namespace troupe::server::test
