// Features beyond the reference: a refused step undone without a checkpoint of it, join policies,
// nodes that are actors, and readers that continue from a number.
#include "tests/fixtures/small_graphs.hpp"

#include <troupe/actor.hpp>

#include <boost/test/unit_test.hpp>
#include <caf/actor_system.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/send.hpp>

namespace troupe {
namespace {

using namespace std::chrono_literals;

} // namespace

BOOST_AUTO_TEST_SUITE(coordinator_beyond)

BOOST_AUTO_TEST_CASE(a_refused_step_leaves_nothing_behind_with_durability_exit) {
  state_graph<> g{{{"one", last_value}, {"log", append}}};
  for (const char* name : {"a", "b"}) {
    g.add_node(name, [name] { return state_update{{"log", words({name})}, {"one", 1}}; });
    g.add_edge(START, name);
  }
  runtime rt{with_memory()};
  auto app = rt.load(g.compile());
  run_config t{.thread_id = "t", .durability = durability::exit};
  BOOST_TEST((app.try_invoke({}, t).error().code() == errc::invalid_update));
  auto state = app.get_state(t);
  BOOST_TEST((state.next == std::vector<std::string>{"a", "b"}));
  BOOST_TEST(state.values["log"].empty());
}

BOOST_AUTO_TEST_CASE(a_join_of_any_runs_at_the_first_arrival_and_absorbs_the_rest) {
  state_graph<> g{log_only};
  g.add_node("a", [] { return log("a"); });
  g.add_node("b1", [] {});
  g.add_node("b2", [] { return log("b"); });
  g.add_node("join", [] { return log("join"); });
  g.add_edge(START, "a");
  g.add_edge(START, "b1");
  g.add_edge("b1", "b2");
  g.add_join({"a", "b2"}, "join", {.need = 1});
  runtime rt;
  BOOST_TEST(rt.load(g.compile()).invoke({}).value()["log"] == words({"a", "b", "join"}));
}

BOOST_AUTO_TEST_CASE(a_join_with_a_timeout_runs_with_what_is_there_when_nothing_else_is_left) {
  state_graph<> g{log_only};
  g.add_node("a", [] { return log("a"); });
  g.add_node("b", [] { return log("b"); });
  g.add_node("join", [] { return log("join"); });
  g.add_edge(START, "a");
  g.add_join({"a", "b"}, "join", {.timeout = 1h});
  auto graph = g.compile();
  BOOST_TEST(graph.warnings().size() == 1u); // nothing leads to b
  runtime rt;
  BOOST_TEST(rt.load(graph).invoke({}).value()["log"] == words({"a", "join"}));
}

BOOST_AUTO_TEST_CASE(a_node_can_be_an_actor_and_its_death_fails_the_task) {
  caf::actor_system_config config;
  add_message_types(config);
  caf::actor_system system{config};
  auto echo = system.spawn([](caf::event_based_actor* self) -> caf::behavior {
    return {[self](const actor_task& task) -> actor_task_done {
      if (input_of(task)["log"].size() > 0)
        self->quit(caf::exit_reason::user_shutdown);
      return done_with(value::map({{"log", words({"actor"})}}));
    }};
  });
  state_graph<> g{log_only};
  g.add_node("n", actor_body(echo));
  g.add_edge(START, "n");
  auto graph = g.compile();
  {
    runtime rt{system};
    BOOST_TEST(rt.load(graph).invoke({}).value()["log"] == words({"actor"}));
    caf::anon_send_exit(echo, caf::exit_reason::kill);
    auto out = rt.load(graph).try_invoke({});
    BOOST_REQUIRE(!out);
    BOOST_TEST((out.error().code() == errc::node_lost));
  }
}

BOOST_AUTO_TEST_CASE(a_reader_goes_on_from_any_number_of_a_thread) {
  runtime rt{with_memory()};
  auto app = rt.load(three_nodes([](const auto&) {}));
  app.start({}, {.thread_id = "t"}, {stream_mode::updates}).get().value();
  std::vector<std::uint64_t> numbers;
  for (auto& part : app.follow("t", 1))
    numbers.push_back(part.seq);
  BOOST_TEST((numbers == std::vector<std::uint64_t>{2, 3}));
  auto beyond = app.follow("t", 9);
  BOOST_TEST((beyond.try_next().error().code() == errc::missing_key));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
