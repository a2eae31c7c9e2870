// The run loop alone, with a host that does nothing by itself: the test decides what ends when.
#include "engine/run_loop.hpp"
#include "tasks/execute_body.hpp"
#include "tests/fixtures/given_names.hpp"
#include "tests/fixtures/small_graphs.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <random>
#include <stdexcept>

namespace troupe {
namespace {

class recorder : public part_sink {
public:
  bool wants(stream_mode mode) const noexcept override { return mode == stream_mode::updates; }
  void emit(stream_part part) override { parts.push_back(std::move(part)); }
  void emit_custom(stream_part part) override { parts.push_back(std::move(part)); }
  std::vector<stream_part> parts;
};

struct hand_host : loop_host {
  struct saved_request {
    save_request request;
    save_ack when;
    std::uint64_t ticket;
  };
  std::vector<task_ptr> tasks;
  std::vector<saved_request> saves; // without an answer
  std::vector<save_request> stored; // all of them
  bool stores_at_once = false;
  bool has_queue = false;
  std::uint64_t tables = 0; // each of these requests has a table of its own
  std::vector<std::uint64_t> epochs;
  std::optional<result<run_result>> how;
  std::shared_ptr<recorder> sink = std::make_shared<recorder>();
  run_loop loop{*this};
  int ids = 0;
  int given_up = 0;
  bool at_once = false; // tasks run within run()
  int ran = 0;          // how many did
  int turn_tasks = 0;   // after so many a turn is over; 0: never
  std::chrono::nanoseconds clock{0};

  bool run(const task_ptr& task, bool) override {
    if (at_once) {
      execute_body(*task);
      ++ran;
      return true;
    }
    tasks.push_back(task);
    return false;
  }
  bool turn_is_over() override { return turn_tasks > 0 && ran % turn_tasks == 0; }
  void change(std::uint64_t epoch, channel_change& change, const channel_cell& before) override {
    auto cell = before;
    const auto& channel = plan->channels[change.channel];
    auto changed = update_channel(channel.spec, channel.name, cell, change.writes);
    if (changed)
      loop.settled(epoch, change.channel, std::move(cell), *changed);
    else
      loop.refused(epoch, change.channel, changed.error());
  }
  bool save(save_request& request, save_ack when, std::uint64_t ticket) override {
    stored.push_back(request);
    if (!stores_at_once)
      saves.push_back({std::move(request), when, ticket});
    return stores_at_once;
  }
  bool saves_at_once() const override { return stores_at_once; }
  bool save_numbered(const save_request& request, numbered_put& put, numbered_names& names,
                     std::uint64_t) override {
    name_table table;
    put.translate(names, table);
    names.use_table(++tables);
    test::give_names(put, table, *stored.emplace_back(request).put);
    return stores_at_once;
  }
  bool queues_saves() const override { return has_queue; }
  void emit(stream_part part) override { sink->emit(std::move(part)); }
  void next_checkpoint_id(std::int64_t, std::string& into) override {
    char text[40];
    std::snprintf(text, sizeof text, "00000000-0000-6000-8000-%012d", ++ids);
    into = text;
  }
  void timestamp(std::string& into) override { into = "2026-01-01T00:00:00.000000+00:00"; }
  std::chrono::nanoseconds now() override { return clock; }
  void step_opened(std::uint64_t epoch) override { epochs.push_back(epoch); }
  void sibling_failed(std::uint64_t) override {}
  std::optional<value> cached(const cache_key&) override { return std::nullopt; }
  void cache(const cache_key&, const value&,
             const std::optional<std::chrono::nanoseconds>&) override {}
  void give_up_tasks() override { ++given_up; }
  void call_back(const char*, const std::function<void(lifecycle_callbacks&)>&) override {}
  void ended(run_end end) override { how = std::move(end.how); }

  void begin(const compiled_graph& graph, bool stored, durability durable,
             std::uint32_t recursion_limit = limits::recursion_limit_default) {
    plan = graph.plan();
    run_request request;
    request.shared = std::make_shared<run_shared>();
    request.shared->plan = plan;
    request.shared->config.thread_id = "t";
    request.shared->config.durability = durable;
    request.shared->config.recursion_limit = recursion_limit;
    request.shared->sink = sink;
    request.input = value::map();
    request.stored = stored;
    request.shown = whole_state(*plan);
    loop.begin(std::move(request));
  }
  task_ptr take_task() {
    auto task = tasks.front();
    tasks.erase(tasks.begin());
    return task;
  }
  void finish(const task_ptr& task) {
    execute_body(*task);
    loop.task_finished(task);
  }
  void acknowledge() {
    auto ticket = saves.front().ticket;
    saves.erase(saves.begin());
    loop.saved(ticket, {});
  }
  void acknowledge_all() {
    while (!saves.empty())
      acknowledge();
  }

  void run_to_the_end() {
    while (!how) {
      acknowledge_all();
      if (!tasks.empty())
        finish(take_task());
    }
  }

  std::shared_ptr<const graph_plan> plan;
};

compiled_graph fan_out() {
  state_graph<> g{{{"log", append}}};
  for (const char* name : {"d", "b", "a", "c"}) {
    g.add_node(name, [name] { return state_update{{"log", words({name})}}; });
    g.add_edge(START, name);
  }
  return g.compile();
}

void check_same(const save_request& a, const save_request& b) {
  BOOST_TEST((a.ref == b.ref));
  BOOST_REQUIRE(a.writes.size() == b.writes.size());
  for (std::size_t i = 0; i < a.writes.size(); ++i) {
    BOOST_TEST(a.writes[i].task_id == b.writes[i].task_id);
    BOOST_TEST((a.writes[i].writes == b.writes[i].writes));
  }
  BOOST_REQUIRE(a.put.has_value() == b.put.has_value());
  if (!a.put)
    return;
  BOOST_TEST((a.put->checkpoint == b.put->checkpoint));
  BOOST_TEST(a.put->parent_id == b.put->parent_id);
  BOOST_TEST(a.put->metadata == b.put->metadata);
  BOOST_TEST(a.put->new_versions == b.put->new_versions, boost::test_tools::per_element());
}

} // namespace

BOOST_AUTO_TEST_SUITE(engine_run_loop)

BOOST_DATA_TEST_CASE(writes_are_applied_by_task_not_by_arrival, boost::unit_test::data::xrange(24u),
                     seed) {
  hand_host host;
  host.begin(fan_out(), false, durability::async);
  host.finish(host.take_task()); // START
  BOOST_REQUIRE(host.tasks.size() == 4u);
  auto tasks = std::exchange(host.tasks, {});
  std::shuffle(tasks.begin(), tasks.end(), std::mt19937{seed});
  for (const auto& t : tasks)
    host.finish(t);
  BOOST_REQUIRE(host.how.has_value());
  BOOST_TEST(host.how->value().value()["log"] == words({"a", "b", "c", "d"}));
}

BOOST_AUTO_TEST_CASE(a_task_that_answers_twice_or_late_changes_nothing) {
  hand_host host;
  host.begin(three_nodes([](const auto&) {}), false, durability::async);
  auto start = host.take_task();
  host.finish(start);
  auto a = host.take_task();
  host.finish(a);
  host.loop.task_finished(a);
  host.loop.task_finished(start);
  host.loop.timed_out(host.epochs.front()); // the deadline of a step that is over
  host.finish(host.take_task());
  host.finish(host.take_task());
  BOOST_TEST(host.how->value().value()["log"] == words({"a", "b", "c"}));
}

BOOST_AUTO_TEST_CASE(with_sync_a_step_waits_for_its_checkpoint_and_so_do_its_parts) {
  hand_host host;
  host.begin(three_nodes([](const auto&) {}), true, durability::sync);
  BOOST_TEST(host.saves.empty());
  host.finish(host.take_task());  // START
  BOOST_TEST(host.tasks.empty()); // the two checkpoints are not durable yet
  BOOST_REQUIRE(host.saves.size() == 2u);
  BOOST_TEST((host.saves[0].when == save_ack::accepted)); // durable with the second one
  BOOST_TEST((host.saves[1].when == save_ack::durable));
  host.acknowledge_all();
  host.finish(host.take_task()); // a
  BOOST_TEST(host.tasks.empty());
  BOOST_TEST(host.sink->parts.empty());
  BOOST_REQUIRE(host.saves.size() == 1u); // the writes and the checkpoint they make, together
  BOOST_TEST(host.saves[0].request.writes.size() == 1u);
  BOOST_TEST(host.saves[0].request.put.has_value());
  host.acknowledge_all();
  BOOST_TEST(host.sink->parts.size() == 1u);
  BOOST_TEST(host.tasks.size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_saver_that_stores_within_the_call_gets_the_same_requests) {
  for (auto durable : {durability::sync, durability::async, durability::exit})
    for (const auto& graph : {three_nodes([](const auto&) {}), fan_out()}) {
      hand_host by_message;
      hand_host at_once;
      at_once.stores_at_once = true;
      for (auto* host : {&by_message, &at_once}) {
        host->begin(graph, true, durable);
        host->run_to_the_end();
      }
      BOOST_TEST(at_once.how->value().value() == by_message.how->value().value());
      BOOST_REQUIRE(at_once.stored.size() == by_message.stored.size());
      for (std::size_t i = 0; i < at_once.stored.size(); ++i)
        check_same(at_once.stored[i], by_message.stored[i]);
      const auto& parts = at_once.sink->parts;
      BOOST_REQUIRE(parts.size() == by_message.sink->parts.size());
      for (std::size_t i = 0; i < parts.size(); ++i)
        BOOST_TEST(parts[i].data == by_message.sink->parts[i].data);
    }
}

BOOST_AUTO_TEST_CASE(names_are_numbers_only_for_a_saver_that_stores_within_the_call) {
  for (bool at_once : {false, true}) {
    hand_host host;
    host.stores_at_once = at_once;
    host.begin(three_nodes([](const auto&) {}), true, durability::sync);
    host.run_to_the_end();
    BOOST_TEST(host.how->has_value());
    BOOST_TEST((host.tables > 0) == at_once);
  }
}

BOOST_AUTO_TEST_CASE(with_sync_a_run_that_fails_at_once_has_saved_its_input) {
  hand_host host;
  host.begin(three_nodes([](const auto&) {}), true, durability::sync);
  host.loop.out_of_time();
  BOOST_REQUIRE(host.saves.size() == 1u);
  BOOST_TEST((host.saves[0].when == save_ack::durable));
  BOOST_TEST(host.saves[0].request.put.has_value());
  BOOST_TEST(!host.how.has_value());
  host.acknowledge_all();
  BOOST_TEST((host.how->error().code() == errc::node_timeout));
}

BOOST_AUTO_TEST_CASE(with_sync_each_of_several_tasks_is_saved_before_it_is_reported) {
  hand_host host;
  host.begin(fan_out(), true, durability::sync);
  host.acknowledge_all();
  host.finish(host.take_task());
  host.acknowledge_all();
  host.finish(host.take_task());
  BOOST_REQUIRE(host.saves.size() == 1u);
  BOOST_TEST(!host.saves[0].request.put.has_value());
  BOOST_TEST(host.sink->parts.empty());
  host.acknowledge_all();
  BOOST_TEST(host.sink->parts.size() == 1u);
  host.finish(host.take_task());
  host.finish(host.take_task());
  host.acknowledge_all();
  host.finish(host.take_task()); // the last one: nobody acts before the step's checkpoint is made
  BOOST_REQUIRE(host.saves.size() == 1u);
  BOOST_TEST(host.saves[0].request.writes.size() == 1u);
  BOOST_TEST(host.saves[0].request.put.has_value());
  BOOST_TEST(host.sink->parts.size() == 3u);
  host.acknowledge_all();
  BOOST_TEST(host.sink->parts.size() == 4u);
}

BOOST_AUTO_TEST_CASE(with_async_at_most_one_checkpoint_waits_in_the_savers_queue) {
  hand_host host;
  host.begin(three_nodes([](const auto&) {}), true, durability::async);
  BOOST_TEST(host.saves.size() == 1u);
  host.finish(host.take_task()); // START: its checkpoint must wait for the input's
  BOOST_TEST(host.saves.size() == 1u);
  BOOST_TEST(host.tasks.empty());
  host.acknowledge_all();
  BOOST_TEST(host.tasks.size() == 1u);
}

BOOST_AUTO_TEST_CASE(with_async_a_host_that_queues_gets_the_next_checkpoint_and_the_run_waits) {
  hand_host host;
  host.has_queue = true;
  host.begin(three_nodes([](const auto&) {}), true, durability::async);
  BOOST_TEST(host.saves.size() == 1u);
  host.finish(host.take_task());
  BOOST_TEST(host.saves.size() == 2u);
  BOOST_TEST(host.tasks.empty());
  host.acknowledge();
  BOOST_TEST(host.tasks.size() == 1u);
}

// The saver answers only when the run can do nothing more without it.
BOOST_AUTO_TEST_CASE(with_async_a_run_never_runs_ahead_of_a_slow_saver) {
  state_graph<> g{{{"n", sum}}};
  g.add_node("count", [] { return state_update{{"n", 1}}; });
  g.add_edge(START, "count");
  g.add_conditional_edges("count", [](const state_view& s) {
    return s["n"].as_int() < 5000 ? "count" : END;
  });
  hand_host host;
  host.begin(g.compile(), true, durability::async, 6000);
  std::ptrdiff_t waiting = 0;
  while (!host.how) {
    while (!host.tasks.empty())
      host.finish(host.take_task());
    waiting = std::max(waiting, std::ranges::count_if(host.saves, [](const auto& s) {
                         return s.request.put.has_value();
                       }));
    BOOST_REQUIRE(!host.saves.empty());
    host.acknowledge();
  }
  BOOST_TEST(host.how->value().value()["n"] == value(5000));
  BOOST_TEST(waiting == 1);
}

BOOST_AUTO_TEST_CASE(with_sync_what_could_not_be_saved_is_not_reported) {
  hand_host host;
  host.begin(fan_out(), true, durability::sync);
  host.acknowledge_all();
  host.finish(host.take_task());
  host.acknowledge_all();
  host.finish(host.take_task());
  BOOST_REQUIRE(host.saves.size() == 1u);
  host.loop.saved(host.saves[0].ticket, error{errc::conflict, "another run was faster"});
  BOOST_REQUIRE(host.how.has_value());
  BOOST_TEST((host.how->error().code() == errc::conflict));
  BOOST_TEST(host.sink->parts.empty());
}

BOOST_AUTO_TEST_CASE(with_exit_nothing_is_saved_before_the_end) {
  hand_host host;
  host.begin(three_nodes([](const auto&) {}), true, durability::exit);
  while (!host.tasks.empty()) {
    BOOST_TEST(host.saves.empty());
    host.finish(host.take_task());
  }
  BOOST_TEST(host.saves.size() == 1u);
  BOOST_TEST(!host.how.has_value());
  host.acknowledge_all();
  BOOST_TEST(host.how.has_value());
}

BOOST_AUTO_TEST_CASE(a_run_ends_only_when_all_of_it_is_durable) {
  hand_host host;
  host.begin(three_nodes([](const auto&) {}), true, durability::async);
  while (!host.how) {
    if (!host.tasks.empty())
      host.finish(host.take_task());
    else if (host.saves.size() == 1 && host.saves[0].when == save_ack::durable)
      break;
    else
      host.acknowledge();
  }
  BOOST_TEST(!host.how.has_value());
  host.acknowledge_all();
  BOOST_TEST(host.how->value().value()["log"] == words({"a", "b", "c"}));
}

BOOST_AUTO_TEST_CASE(a_failed_save_ends_the_run_and_nothing_more_is_saved) {
  hand_host host;
  host.begin(three_nodes([](const auto&) {}), true, durability::async);
  auto ticket = host.saves[0].ticket;
  host.finish(host.take_task());
  host.saves.clear();
  host.loop.saved(ticket, error{errc::storage_full, "no room"});
  BOOST_REQUIRE(host.how.has_value());
  BOOST_TEST((host.how->error().code() == errc::storage_full));
  BOOST_TEST(host.saves.empty());
}

BOOST_AUTO_TEST_CASE(a_task_whose_actor_died_fails_the_run_when_the_others_have_ended) {
  hand_host host;
  host.begin(fan_out(), false, durability::async);
  host.finish(host.take_task());
  auto lost = host.take_task();
  host.loop.task_lost(lost, "killed");
  BOOST_TEST(!host.how.has_value());
  while (!host.tasks.empty())
    host.finish(host.take_task());
  BOOST_REQUIRE(host.how.has_value());
  BOOST_TEST((host.how->error().code() == errc::node_lost));
  BOOST_TEST(host.how->error().message().find(lost->node->name) != std::string::npos);
}

BOOST_AUTO_TEST_CASE(an_aborted_run_ends_at_once_and_late_answers_are_dropped) {
  hand_host host;
  host.begin(fan_out(), false, durability::async);
  host.finish(host.take_task());
  auto late = host.take_task();
  host.loop.abort({errc::runtime_stopped, "stop"});
  BOOST_REQUIRE(host.how.has_value());
  BOOST_TEST((host.how->error().code() == errc::runtime_stopped));
  host.finish(late);
  host.loop.saved(1, {});
  BOOST_TEST(!host.loop.active());
}

BOOST_AUTO_TEST_CASE(a_task_that_fails_after_its_run_was_cancelled_does_not_fail_the_run) {
  hand_host host;
  host.begin(fan_out(), false, durability::async);
  auto task = host.take_task();
  task->status = task_status::failed;
  task->failure = error{errc::node_failed, "no connection"};
  auto control = task->run->control;
  control.cancel();
  host.loop.task_finished(task);
  BOOST_REQUIRE(host.how.has_value());
  BOOST_TEST((host.how->error().code() == errc::cancelled));
  BOOST_TEST(host.given_up == 1);
}

BOOST_AUTO_TEST_CASE(a_long_run_of_short_tasks_takes_no_more_stack_than_a_short_one) {
  constexpr std::int64_t steps = 50'000;
  state_graph<> g{{{"n", last_value}}};
  g.add_node("count", [](const state_view& s) {
    return state_update{{"n", s["n"].is_int() ? s["n"].as_int() + 1 : 1}};
  });
  g.add_edge(START, "count");
  g.add_conditional_edges("count", [](const state_view& s) {
    return s["n"].as_int() < steps ? "count" : END;
  });
  hand_host host;
  host.at_once = true;
  host.begin(g.compile(), false, durability::async, steps + 10);
  BOOST_REQUIRE(host.how.has_value());
  BOOST_TEST(host.how->value().value()["n"] == value(steps));
}

BOOST_AUTO_TEST_CASE(a_task_that_fails_at_once_does_not_keep_its_siblings_from_running) {
  std::vector<std::string> ran;
  state_graph<> g{{{"log", append}}};
  for (const char* name : {"a", "b", "c"}) {
    g.add_node(name, [name, &ran] {
      ran.push_back(name);
      if (*name == 'a')
        throw std::runtime_error{"no"};
      return state_update{{"log", words({name})}};
    });
    g.add_edge(START, name);
  }
  hand_host host;
  host.at_once = true;
  host.begin(g.compile(), true, durability::async);
  host.acknowledge_all();
  BOOST_TEST(ran == (std::vector<std::string>{"a", "b", "c"}), boost::test_tools::per_element());
  BOOST_REQUIRE(host.how.has_value());
  BOOST_TEST((host.how->error().code() == errc::node_failed));
}

BOOST_AUTO_TEST_CASE(the_tasks_of_a_step_wait_while_other_messages_have_their_turn) {
  state_graph<> g{{{"sum", sum}}};
  g.add_node("w", [] { return state_update{{"sum", 1}}; });
  g.add_conditional_edges(START, [](const state_view&) {
    return std::vector<send>(5, send{"w", value{}});
  });
  hand_host host;
  host.at_once = true;
  host.turn_tasks = 2;
  host.begin(g.compile(), false, durability::async);
  BOOST_TEST(host.ran == 2); // START and one of five
  host.loop.go_on();
  BOOST_TEST(host.ran == 4);
  BOOST_TEST(!host.how.has_value());
  host.loop.go_on();
  BOOST_TEST(host.ran == 6);
  BOOST_REQUIRE(host.how.has_value());
  BOOST_TEST(host.how->value().value()["sum"] == value(5));
}

BOOST_AUTO_TEST_CASE(the_memory_of_a_task_is_used_again_unless_somebody_still_knows_the_task) {
  std::vector<detail::task_scope*> seen;
  std::vector<task_ptr> kept;
  state_graph<> g{{{"log", append}}};
  const char* before = START;
  for (const char* name : {"a", "b", "c"}) {
    g.add_node(name, [name, &seen, &kept](const state_view&, context& ctx) {
      seen.push_back(&ctx.scope());
      if (*name == 'b')
        kept.push_back(ctx.scope().shared_from_this());
      return state_update{{"log", words({name})}};
    });
    g.add_edge(before, name);
    before = name;
  }
  hand_host host;
  host.at_once = true;
  host.begin(g.compile(), false, durability::async);
  BOOST_REQUIRE(host.how.has_value());
  BOOST_TEST(host.how->value().value()["log"] == words({"a", "b", "c"}));
  BOOST_REQUIRE(seen.size() == 3u);
  BOOST_TEST(seen[0] == seen[1]);
  BOOST_TEST(seen[1] != seen[2]);
  BOOST_TEST(kept[0]->node->name == "b"); // and is as its body left it
}

BOOST_AUTO_TEST_CASE(as_many_tasks_of_a_step_are_started_as_may_run_at_once_and_then_one_by_one) {
  const auto tasks = limits::tasks_in_flight_max + 2;
  state_graph<> g{{{"sum", sum}}};
  g.add_node("w", [] { return state_update{{"sum", 1}}; });
  g.add_conditional_edges(START, [](const state_view&) {
    return std::vector<send>(tasks, send{"w", value{}});
  });
  hand_host host;
  host.begin(g.compile(), false, durability::async);
  host.finish(host.take_task()); // START
  BOOST_TEST(host.tasks.size() == limits::tasks_in_flight_max);
  host.finish(host.take_task());
  BOOST_TEST(host.tasks.size() == limits::tasks_in_flight_max);
  while (!host.tasks.empty())
    host.finish(host.take_task());
  BOOST_REQUIRE(host.how.has_value());
  BOOST_TEST(host.how->value().value()["sum"] == value(static_cast<std::int64_t>(tasks)));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
