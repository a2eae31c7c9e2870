// Nodes with a cache: what is found, under which key, for how long, and what is not kept.
#include "tests/fixtures/small_graphs.hpp"

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <stdexcept>

namespace troupe {
namespace {

using namespace std::chrono_literals;

runtime_options with_cache() {
  return {.saver = make_memory_saver(), .cache = make_memory_cache()};
}

const cache_policy for_good{};

const schema x_only{{"x", last_value}};

/// Doubles `x` into `y`; counts.
compiled_graph doubling(counter& ran, cache_policy cache, std::string name = "doubling") {
  node_options options;
  options.cache_policy = std::move(cache);
  options.input_schema = x_only;
  state_graph<> g{{{"x", last_value}, {"y", last_value}}};
  g.add_node(
    "n",
    [&ran](const state_view& s) {
      ++ran;
      return state_update{{"y", s["x"].as_int() * 2}};
    },
    options);
  g.add_edge(START, "n");
  return g.compile({.name = std::move(name)});
}

run_config thread(int n) {
  return {.thread_id = "t" + std::to_string(n)};
}

/// A cache on which every call fails.
class broken_cache : public node_cache {
public:
  result<std::optional<value>> get(const cache_key&, clock::time_point) override {
    return broken();
  }
  result<void> set(const cache_key&, const value&, std::optional<clock::time_point>) override {
    return broken();
  }
  result<void> clear(const std::vector<std::string>&) override { return broken(); }

private:
  static error broken() { return {errc::storage_failed, "cache: injected"}; }
};

/// Keeps what was set, and until when.
class noting_cache : public node_cache {
public:
  result<std::optional<value>> get(const cache_key&, clock::time_point) override {
    return std::optional<value>{};
  }
  result<void> set(const cache_key& key, const value&,
                   std::optional<clock::time_point> until) override {
    keys.push_back(key);
    untils.push_back(until);
    return {};
  }
  result<void> clear(const std::vector<std::string>&) override { return {}; }
  std::vector<cache_key> keys;
  std::vector<std::optional<clock::time_point>> untils;
};

} // namespace

BOOST_AUTO_TEST_SUITE(coordinator_cache)

BOOST_AUTO_TEST_CASE(a_node_with_a_cache_runs_once_for_an_input_in_all_threads) {
  counter ran{0};
  runtime rt{with_cache()};
  auto app = rt.load(doubling(ran, for_good));
  for (int i = 0; i < 5; ++i)
    BOOST_TEST(app.invoke({{"x", 4}}, thread(i)).value()["y"] == value(8));
  BOOST_TEST(ran == 1);
  BOOST_TEST(app.invoke({{"x", 5}}, thread(0)).value()["y"] == value(10));
  BOOST_TEST(ran == 2);
}

BOOST_AUTO_TEST_CASE(a_node_without_a_policy_and_a_runtime_without_a_cache_keep_nothing) {
  counter ran{0};
  runtime rt{with_cache()}, without{{.saver = make_memory_saver()}};
  auto app = rt.load(doubling(ran, no_cache_policy));
  auto other = without.load(doubling(ran, for_good));
  for (int i = 0; i < 3; ++i) {
    app.invoke({{"x", 4}}, thread(i));
    other.invoke({{"x", 4}}, thread(i));
  }
  BOOST_TEST(ran == 6);
}

BOOST_AUTO_TEST_CASE(what_comes_from_the_cache_is_streamed_as_cached_and_stored_like_any_other) {
  counter ran{0};
  runtime rt{with_cache()};
  auto app = rt.load(doubling(ran, for_good));
  app.invoke({{"x", 4}}, thread(1));
  std::vector<std::string> parts;
  for (const auto& p : app.stream({{"x", 4}}, thread(2)))
    parts.push_back(to_json(p.data));
  const std::vector<std::string> expected{R"({"__metadata__":{"cached":true},"n":{"y":8}})"};
  BOOST_TEST(parts == expected, boost::test_tools::per_element());
  BOOST_TEST(to_json(app.get_state(thread(2)).values) == R"({"x":4,"y":8})");
}

BOOST_AUTO_TEST_CASE(a_command_comes_from_the_cache_whole) {
  counter ran{0};
  state_graph<> g{{{"x", last_value}, {"log", append}}};
  g.add_node("n",
             [&ran](const state_view&) {
               ++ran;
               command c;
               c.update = state_update{{"log", words({"n"})}};
               c.goto_ = std::vector<destination>{"a", send{"w", value(1)}};
               return c;
             },
             {.cache_policy = for_good});
  g.add_node("a", [] { return state_update{{"log", words({"a"})}}; });
  g.add_node("w", [](const value& v) { return state_update{{"log", value::list({v})}}; });
  g.add_edge(START, "n");
  runtime rt{with_cache()};
  auto app = rt.load(g.compile());
  for (int i = 0; i < 2; ++i)
    BOOST_TEST(to_json(app.invoke({{"x", 1}}, thread(i)).value()["log"]) == R"(["n","a",1])");
  BOOST_TEST(ran == 1);
}

BOOST_AUTO_TEST_CASE(sent_tasks_are_known_by_what_they_were_sent) {
  counter ran{0};
  state_graph<> g{{{"log", append}}};
  g.add_node("w",
             [&ran](const value& v) {
               ++ran;
               return state_update{{"log", value::list({v})}};
             },
             {.cache_policy = for_good});
  g.add_conditional_edges(START, [](const state_view&) {
    return destinations{std::vector<send>{{"w", value(1)}, {"w", value(2)}}};
  });
  runtime rt{with_cache()};
  auto app = rt.load(g.compile());
  for (int i = 0; i < 3; ++i)
    BOOST_TEST(to_json(app.invoke({}, thread(i)).value()["log"]) == "[1,2]");
  BOOST_TEST(ran == 2);
}

// ---- keys -----------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_key_function_says_which_inputs_are_the_same) {
  counter ran{0};
  auto parity = for_good;
  parity.key_func = [](const value& in) { return std::to_string(in["x"].as_int() % 2); };
  runtime rt{with_cache()};
  auto app = rt.load(doubling(ran, parity));
  BOOST_TEST(app.invoke({{"x", 1}}, thread(1)).value()["y"] == value(2));
  BOOST_TEST(app.invoke({{"x", 3}}, thread(2)).value()["y"] == value(2)); // found under "1"
  BOOST_TEST(app.invoke({{"x", 4}}, thread(3)).value()["y"] == value(8));
  BOOST_TEST(ran == 2);
}

BOOST_AUTO_TEST_CASE(a_key_function_that_throws_keeps_nothing_and_fails_nothing) {
  counter ran{0};
  auto policy = for_good;
  policy.key_func = [](const value&) -> std::string { throw std::runtime_error{"no key"}; };
  runtime rt{with_cache()};
  auto app = rt.load(doubling(ran, policy));
  for (int i = 0; i < 2; ++i)
    BOOST_TEST(app.invoke({{"x", 4}}, thread(i)).value()["y"] == value(8));
  BOOST_TEST(ran == 2);
}

BOOST_AUTO_TEST_CASE(nodes_and_graphs_of_other_names_share_nothing) {
  counter ran{0};
  runtime rt{with_cache()};
  rt.load(doubling(ran, for_good, "one")).invoke({{"x", 4}}, thread(1));
  rt.load(doubling(ran, for_good, "two")).invoke({{"x", 4}}, thread(2));
  BOOST_TEST(ran == 2);
  rt.load(doubling(ran, for_good, "one")).invoke({{"x", 4}}, thread(3)); // loaded again
  BOOST_TEST(ran == 2);
}

// ---- how long -------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_graph_within_another_one_has_the_runtimes_cache_but_not_that_of_the_other) {
  for (bool is_runtimes : {true, false}) {
    counter ran = 0;
    state_graph<> outer{{{"x", last_value}, {"y", last_value}}};
    outer.add_node("inner", doubling(ran, for_good));
    outer.add_edge(START, "inner");
    auto own = is_runtimes ? nullptr : make_memory_cache();
    runtime rt{is_runtimes ? with_cache() : runtime_options{.saver = make_memory_saver()}};
    auto app = rt.load(outer.compile({.cache = own}));
    for (int n = 0; n < 2; ++n)
      BOOST_TEST(app.invoke({{"x", 2}}, thread(n)).value()["y"] == value(4));
    BOOST_TEST(ran == (is_runtimes ? 1 : 2));
  }
}

BOOST_AUTO_TEST_CASE(what_has_run_out_is_run_again) {
  counter ran{0};
  auto policy = for_good;
  policy.ttl = 1ns; // over before anybody looks
  runtime rt{with_cache()};
  auto app = rt.load(doubling(ran, policy));
  for (int i = 0; i < 3; ++i)
    app.invoke({{"x", 4}}, thread(i));
  BOOST_TEST(ran == 3);
}

BOOST_AUTO_TEST_CASE(a_policy_without_an_end_keeps_for_good_and_one_with_an_end_until_then) {
  counter ran{0};
  auto cache = std::make_shared<noting_cache>();
  runtime rt{{.cache = cache}};
  auto policy = for_good;
  rt.load(doubling(ran, policy, "for good")).invoke({{"x", 1}});
  policy.ttl = 1h;
  auto before = node_cache::clock::now();
  rt.load(doubling(ran, policy, "an hour")).invoke({{"x", 1}});
  BOOST_REQUIRE(cache->untils.size() == 2u);
  BOOST_TEST(!cache->untils[0].has_value());
  BOOST_REQUIRE(cache->untils[1].has_value());
  BOOST_TEST((*cache->untils[1] >= before + 1h));
  BOOST_TEST((cache->keys[0] != cache->keys[1]));
}

BOOST_AUTO_TEST_CASE(clearing_forgets_the_nodes_it_names_or_all) {
  counter ran{0}, other_ran{0};
  runtime rt{with_cache()};
  auto app = rt.load(doubling(ran, for_good));
  auto other = rt.load(doubling(other_ran, for_good, "other"));
  auto run = [&] {
    app.invoke({{"x", 4}}, thread(1));
    other.invoke({{"x", 4}}, thread(2));
    return std::pair{ran.load(), other_ran.load()};
  };
  BOOST_TEST((run() == std::pair{1, 1}));
  app.clear_cache({"nobody"}).value();
  BOOST_TEST((run() == std::pair{1, 1}));
  app.clear_cache({"n"}).value();
  BOOST_TEST((run() == std::pair{2, 1}));
  other.clear_cache().value();
  BOOST_TEST((run() == std::pair{2, 2}));
  runtime without;
  auto refused = without.load(doubling(ran, for_good)).clear_cache();
  BOOST_REQUIRE(!refused);
  BOOST_TEST((refused.error().code() == errc::invalid_config));
}

// ---- what is not kept -----------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(failures_and_questions_are_not_kept) {
  counter failed{0}, asked{0};
  state_graph<> g{{{"x", last_value}, {"y", last_value}}};
  g.add_node("fails",
             [&failed](const state_view&) {
               if (++failed == 1)
                 throw std::runtime_error{"once"};
             },
             {.cache_policy = for_good});
  g.add_node("asks",
             [&asked](const state_view&, context& ctx) {
               ++asked;
               return state_update{{"y", ctx.interrupt("y?")}};
             },
             {.cache_policy = for_good});
  g.add_edge(START, "fails");
  g.add_edge("fails", "asks");
  runtime rt{with_cache()};
  auto app = rt.load(g.compile());
  BOOST_TEST((code_of(app.try_invoke({{"x", 1}}, thread(1))) == errc::node_failed));
  BOOST_TEST(app.invoke(nullptr, thread(1)).interrupts().size() == 1u);
  BOOST_TEST(failed == 2);
  BOOST_TEST(app.invoke(answer("mine"), thread(1)).value()["y"] == value("mine"));
  BOOST_TEST(asked == 2);
  BOOST_TEST(app.invoke({{"x", 1}}, thread(2)).value()["y"] == value("mine")); // now it is
  BOOST_TEST(failed == 2);
  BOOST_TEST(asked == 2);
}

BOOST_AUTO_TEST_CASE(a_cache_that_fails_is_as_good_as_none) {
  counter ran{0};
  runtime rt{{.saver = make_memory_saver(), .cache = std::make_shared<broken_cache>()}};
  auto app = rt.load(doubling(ran, for_good));
  for (int i = 0; i < 2; ++i)
    BOOST_TEST(app.invoke({{"x", 4}}, thread(i)).value()["y"] == value(8));
  BOOST_TEST(ran == 2);
  auto refused = app.clear_cache();
  BOOST_REQUIRE(!refused);
  BOOST_TEST((refused.error().code() == errc::storage_failed));
}

BOOST_AUTO_TEST_CASE(what_another_program_left_under_a_key_is_no_result) {
  counter ran{0};
  auto cache = make_memory_cache();
  auto noted = std::make_shared<noting_cache>();
  auto graph = doubling(ran, for_good);
  runtime{{.cache = noted}}.load(graph).invoke({{"x", 4}});
  BOOST_REQUIRE(noted->keys.size() == 1u);
  for (const auto& strange : {value(7), value::list(), words({"y"}), value::list({words({"y"})})}) {
    cache->set(noted->keys[0], strange, std::nullopt).value();
    runtime rt{{.cache = cache}};
    BOOST_TEST(rt.load(graph).invoke({{"x", 4}}).value()["y"] == value(8));
  }
  BOOST_TEST(ran == 5);
}

BOOST_AUTO_TEST_CASE(a_step_of_cached_and_uncached_nodes_applies_them_in_task_order) {
  counter ran{0};
  state_graph<> g{{{"x", last_value}, {"log", append}}};
  for (const char* name : {"d", "b", "a", "c"}) {
    node_options options;
    options.input_schema = x_only;
    if (name[0] % 2)
      options.cache_policy = for_good;
    g.add_node(
      name,
      [&ran, name](const state_view&) {
        ++ran;
        return state_update{{"log", words({name})}};
      },
      options);
    g.add_edge(START, name);
  }
  runtime rt{with_cache()};
  auto app = rt.load(g.compile());
  for (int i = 0; i < 2; ++i)
    BOOST_TEST(app.invoke({{"x", 1}}, thread(i)).value()["log"] == words({"a", "b", "c", "d"}));
  BOOST_TEST(ran == 6);
}

BOOST_AUTO_TEST_CASE(what_is_cached_of_a_task_is_forgotten_by_its_name) {
  std::atomic<int> ran{0};
  auto twice = task("twice",
                    [&ran](std::int64_t n) {
                      ++ran;
                      return 2 * n;
                    },
                    {.cache_policy = cache_policy{}});
  runtime rt{{.cache = make_memory_cache()}};
  auto app = rt.load(
    entrypoint("flow", [twice](std::int64_t n, context& ctx) { return twice(ctx, n).get(); }));
  for (int i = 0; i < 2; ++i)
    BOOST_TEST(app.invoke(value(4)).value() == value(8));
  BOOST_TEST(ran == 1);
  app.clear_cache({"other"}).value();
  BOOST_TEST(app.invoke(value(4)).value() == value(8));
  BOOST_TEST(ran == 1);
  app.clear_cache({"twice"}).value();
  BOOST_TEST(app.invoke(value(4)).value() == value(8));
  BOOST_TEST(ran == 2);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
