// Channels of the user's own in runs: triggers, checkpoints, subgraphs, updates from outside,
// errors.
#include "tests/fixtures/savers.hpp"
#include "tests/fixtures/small_graphs.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <stdexcept>

namespace troupe {
namespace {

/// DynamicBarrierValue of the reference's JavaScript: a write {"wait_for": [names]} sets the names,
/// and a name is an arrival. The barrier opens when every name has arrived; the task that it
/// triggers closes it.
channel_spec dynamic_barrier() {
  return define_channel(
    {.name = "dynamic_barrier",
     .update = [](const value& content, std::span<const value> writes) -> std::optional<value> {
       auto names = content["names"], seen = content["seen"];
       for (const auto& w : writes)
         if (w.contains("wait_for")) {
           names = w.at("wait_for");
           seen = value::list();
         } else if (!std::ranges::count(names.items(), w)) {
           throw error{errc::invalid_update, "nobody waits for " + to_json(w)};
         } else if (!std::ranges::count(seen.items(), w)) {
           seen = seen.append(w);
         }
       return value{{"names", names}, {"seen", seen}};
     },
     .get = [](const value& content) -> std::optional<value> {
       if (content.is_null() || content["seen"].size() < content["names"].size())
         return std::nullopt;
       return content["seen"];
     },
     .consume = [](const value&) -> std::optional<value> { return value{}; }});
}

/// `plan` names two workers and sends to them; `meet` runs when both have arrived.
compiled_graph meeting(std::function<void(const std::string&, context&)> body) {
  state_graph<> g{{{"met", dynamic_barrier()}, {"log", append}}};
  g.add_node("plan", [](const state_view&) {
    return command{.update = {{"met", value{{"wait_for", {"a", "b"}}}}},
                   .goto_ = std::vector<send>{{"work", "a"}, {"work", "b"}}};
  });
  g.add_node("work", [body](const value& who, context& ctx) {
    body(who.as<std::string>(), ctx);
    return state_update{{"met", who}, {"log", value::list({who})}};
  });
  g.add_node("meet", [](const state_view& s) {
    return state_update{{"log", value::list({value("met"), s["met"]})}};
  });
  g.add_edge(START, "plan");
  g.subscribe("meet", {"met"});
  return g.compile({.name = "meeting"});
}

channel_definition last_of() {
  return {.name = "last",
          .update = [](const value&, std::span<const value> writes) -> std::optional<value> {
            if (writes.back() == value("bad"))
              throw std::runtime_error{"a bad write"};
            return writes.back();
          }};
}

/// Counts the steps since its last write.
channel_spec age() {
  return define_channel(
    {.name = "age",
     .initial = 0,
     .update = [](const value& content, std::span<const value> writes) -> std::optional<value> {
       return writes.empty() ? value(content.as_int() + 1) : value(0);
     },
     .each_step = true});
}

/// START → a, which writes `what`.
compiled_graph writing(channel_definition rule, value what) {
  state_graph<> g{{{"x", define_channel(std::move(rule))}, {"y", last_value}}};
  g.add_node("a", [what](const state_view&) { return state_update{{"x", what}, {"y", 1}}; });
  g.add_edge(START, "a");
  return g.compile({.name = "writing"});
}

} // namespace

BOOST_AUTO_TEST_SUITE(coordinator_defined_channel)

BOOST_AUTO_TEST_CASE(barrier_whose_names_are_a_write_opens_when_all_have_arrived) {
  runtime rt{with_memory()};
  auto app = rt.load(meeting([](const std::string&, context&) {}));
  auto out = app.invoke(state_update{}, {.thread_id = "t"}).value();
  auto all = out["log"];
  BOOST_REQUIRE(all.size() == 4u);
  BOOST_TEST(all[2] == value("met"));
  BOOST_TEST(all[3] == value::list({"a", "b"}));
  BOOST_TEST(!out.contains("met")); // consumed
  BOOST_TEST(!app.get_state({.thread_id = "t"}).values.contains("met"));
}

BOOST_AUTO_TEST_CASE(content_is_stored_in_a_data_directory_and_survives_a_restart) {
  test::temporary_directory directory;
  auto graph = meeting([](const std::string& who, context& ctx) {
    if (who == "b")
      ctx.interrupt("may b come?");
  });
  {
    runtime rt{{.data_dir = directory.path()}};
    auto paused = rt.load(graph).invoke(state_update{}, {.thread_id = "t"});
    BOOST_TEST(paused.interrupts().size() == 1u);
  }
  runtime rt{{.data_dir = directory.path()}};
  auto app = rt.load(graph);
  BOOST_TEST(app.invoke(answer(true), {.thread_id = "t"}).value()["log"][3]
             == value::list({"a", "b"}));
  auto history = app.get_state_history({.thread_id = "t"});
  BOOST_TEST(history.size() >= 4u);
}

BOOST_AUTO_TEST_CASE(exception_of_update_fails_the_run_and_names_channel_and_writer) {
  runtime rt{with_memory()};
  auto app = rt.load(writing(last_of(), "bad"));
  auto refused = app.try_invoke(state_update{{"x", "good"}}, {.thread_id = "t"});
  BOOST_REQUIRE(!refused);
  BOOST_TEST(to_string(refused.error().code()) == "invalid_update");
  BOOST_TEST(refused.error().message()
             == "At key 'x': channel `last`, update: a bad write (written by node `a`)");
  auto now = app.get_state({.thread_id = "t"});
  BOOST_TEST(now.values["x"] == value("good")); // the thread stays at its last checkpoint
  BOOST_TEST(!now.values.contains("y"));
}

BOOST_AUTO_TEST_CASE(exceptions_of_consume_and_finish_fail_the_run) {
  auto rule = last_of();
  rule.finish = [](const value&) -> std::optional<value> { throw std::runtime_error{"no end"}; };
  runtime rt{with_memory()};
  auto refused = rt.load(writing(rule, 1)).try_invoke(state_update{}, {.thread_id = "t"});
  BOOST_REQUIRE(!refused);
  BOOST_TEST(refused.error().message() == "At key 'x': channel `last`, finish: no end");

  rule = last_of();
  rule.consume = [](const value&) -> std::optional<value> { throw std::runtime_error{"kept"}; };
  state_graph<> g{{{"x", define_channel(rule)}}};
  g.add_node("a", [] {});
  g.subscribe("a", {"x"});
  refused = rt.load(g.compile()).try_invoke(state_update{{"x", 1}}, {.thread_id = "u"});
  BOOST_REQUIRE(!refused);
  BOOST_TEST(refused.error().message() == "At key 'x': channel `last`, consume: kept");
}

BOOST_AUTO_TEST_CASE(finish_makes_a_channel_available_when_nothing_else_is_left) {
  channel_definition late{
    .name = "late",
    .update = [](const value&, std::span<const value> writes) -> std::optional<value> {
      return value::list({writes.back()});
    },
    .get = [](const value& content) -> std::optional<value> {
      return content.size() == 2 ? std::optional<value>{content[0]} : std::nullopt;
    },
    .consume = [](const value&) -> std::optional<value> { return value{}; },
    .finish = [](const value& content) -> std::optional<value> {
      return content.size() == 1 ? std::optional<value>{content.append(true)} : std::nullopt;
    }};
  state_graph<> g{{{"late", define_channel(late)}, {"log", append}}};
  g.add_node("a", [] { return state_update{{"late", 7}, {"log", words({"a"})}}; });
  g.add_node("b", [] { return log("b"); });
  g.add_node("last", [](const state_view& s) { return log(s["late"]); });
  g.add_edge(START, "a");
  g.add_edge("a", "b");
  g.subscribe("last", {"late"});
  runtime rt{with_memory()};
  auto out = rt.load(g.compile()).invoke(state_update{}, {.thread_id = "t"}).value();
  BOOST_TEST(out["log"] == value::list({"a", "b", 7}));
}

BOOST_AUTO_TEST_CASE(writes_after_a_consume_meet_the_content_that_it_left) {
  channel_definition pairs{
    .name = "pairs",
    .initial = 0,
    .update = [](const value& content, std::span<const value> writes) -> std::optional<value> {
      return content.as_int() + static_cast<std::int64_t>(writes.size());
    },
    .get = [](const value& content) -> std::optional<value> {
      return content.as_int() < 2 ? std::nullopt : std::optional<value>{content};
    },
    .consume = [](const value&) -> std::optional<value> { return 0; }};
  state_graph<> g{{{"pairs", define_channel(pairs)}, {"log", append}}};
  std::vector<std::string> names{"a", "b", "c", "d", "e"};
  for (const auto& name : names)
    g.add_node(name, [] { return state_update{{"pairs", 1}}; });
  g.add_node("pair", [](const state_view& s) { return log(s["pairs"]); });
  g.add_edge(START, "a");
  for (std::size_t i = 1; i < names.size(); ++i)
    g.add_edge(names[i - 1], names[i]);
  g.subscribe("pair", {"pairs"});
  runtime rt{with_memory()};
  auto out = rt.load(g.compile()).invoke(state_update{}, {.thread_id = "t"}).value();
  // `pair` runs beside c, whose write comes after the consume; and so with e.
  BOOST_TEST(out["log"] == value::list({2, 2}));
}

BOOST_AUTO_TEST_CASE(channel_of_each_step_counts_from_its_initial_content) {
  state_graph<> g{{{"age", age()}, {"log", append}}};
  g.add_node("a", [] { return log("a"); });
  g.add_edge(START, "a");
  runtime rt{with_memory()};
  auto app = rt.load(g.compile());
  BOOST_TEST(app.invoke(state_update{}, {.thread_id = "t"}).value()["age"] == value(2)); // START, a
  BOOST_TEST(app.invoke(state_update{}, {.thread_id = "t"}).value()["age"] == value(4));
}

BOOST_AUTO_TEST_CASE(channel_of_each_step_that_its_finish_makes_available_sees_the_next_step) {
  channel_definition late{
    .name = "late",
    .update = [](const value& content, std::span<const value> writes) -> std::optional<value> {
      if (!writes.empty())
        return value("written");
      return content == value("open") ? std::optional<value>{"seen"} : std::nullopt;
    },
    .get = [](const value& content) -> std::optional<value> {
      return content.is_null() || content == value("written") ? std::nullopt
                                                              : std::optional<value>{content};
    },
    .finish = [](const value& content) -> std::optional<value> {
      return content == value("written") ? std::optional<value>{"open"} : std::nullopt;
    },
    .each_step = true};
  state_graph<> g{{{"late", define_channel(late)}, {"log", append}}};
  g.add_node("a", [] { return state_update{{"late", 1}}; });
  g.add_node("b", [](const state_view& s) { return log(s["late"]); });
  g.add_node("later", [] {}); // `finish` makes the channel available a step after its write
  g.add_edge(START, "a");
  g.add_edge("a", "later");
  g.subscribe("b", {"late"});
  runtime rt{with_memory()};
  auto out = rt.load(g.compile()).invoke(state_update{}, {.thread_id = "t"}).value();
  BOOST_TEST(out["log"] == words({"open", "seen"}));
}

BOOST_AUTO_TEST_CASE(channel_of_each_step_sees_the_steps_that_do_not_write_to_it) {
  state_graph<> g{{{"age", age()}, {"log", append}}};
  g.add_node("a", [] { return state_update{{"age", "reset"}}; });
  g.add_node("b", [](const state_view& s) { return log(s["age"]); });
  g.add_node("c", [](const state_view& s) { return log(s["age"]); });
  g.add_edge(START, "a");
  g.add_edge("a", "b");
  g.add_edge("b", "c");
  runtime rt{with_memory()};
  auto app = rt.load(g.compile());
  auto out = app.invoke(state_update{}, {.thread_id = "t"}).value();
  BOOST_TEST(out["log"] == value::list({0, 1}));
  BOOST_TEST(out["age"] == value(2));
  BOOST_TEST(app.get_state({.thread_id = "t"}).values["age"] == value(2));
}

BOOST_AUTO_TEST_CASE(updates_from_outside_go_through_the_rule) {
  runtime rt{with_memory()};
  auto app = rt.load(writing(last_of(), 1));
  app.invoke(state_update{}, {.thread_id = "t"});
  app.update_state({.thread_id = "t"}, state_update{{"x", 5}}, "a");
  BOOST_TEST(app.get_state({.thread_id = "t"}).values["x"] == value(5));
  auto refused = app.try_update_state({.thread_id = "t"}, state_update{{"x", "bad"}}, "a");
  BOOST_REQUIRE(!refused);
  BOOST_TEST(
    refused.error().message().starts_with("At key 'x': channel `last`, update: a bad write"));
}

BOOST_AUTO_TEST_CASE(subgraph_has_a_channel_of_its_own_under_the_same_rule) {
  state_graph<> inner{{{"x", define_channel(last_of())}}};
  inner.add_node("up", [](const state_view& s) {
    return state_update{{"x", s["x"].as_int() + 1}};
  });
  inner.add_edge(START, "up");
  state_graph<> g{{{"x", define_channel(last_of())}}};
  g.add_node("sub", inner.compile());
  g.add_edge(START, "sub");
  runtime rt{with_memory()};
  BOOST_TEST(rt.load(g.compile()).invoke(state_update{{"x", 1}}, {.thread_id = "t"}).value()["x"]
             == value(2));
}

BOOST_AUTO_TEST_CASE(stored_value_that_the_rule_refuses_is_an_error_that_names_the_channel) {
  auto checkpoints = make_memory_saver();
  runtime rt{{.saver = checkpoints}};
  rt.load(writing(last_of(), "text")).invoke(state_update{}, {.thread_id = "t"});
  auto changed = last_of();
  changed.from_checkpoint = [](const value& stored) { return value(stored.as_int()); };
  auto refused = rt.load(writing(changed, 1)).try_invoke(state_update{}, {.thread_id = "t"});
  BOOST_REQUIRE(!refused);
  BOOST_TEST(to_string(refused.error().code()) == "checkpoint_corrupt");
  BOOST_TEST(refused.error().message().find("channel `last`, from_checkpoint")
             != std::string::npos);
}

BOOST_AUTO_TEST_CASE(typed_state_may_have_a_defined_channel) {
  struct kept {
    std::int64_t n = 0;
    TROUPE_STATE(kept, (n, define_channel(last_of())))
  };
  state_graph<kept> g;
  g.add_node("a", [](const kept& k) { return set(&kept::n, k.n + 1); });
  g.add_edge(START, "a");
  runtime rt{with_memory()};
  BOOST_TEST(rt.load(g.compile()).invoke({{"n", 1}}, {.thread_id = "t"}).state().n == 2);
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace troupe
