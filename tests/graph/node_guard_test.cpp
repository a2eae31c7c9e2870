// Circuit breakers and rate limiters: when attempts may begin, by a clock of the test.
#include "graph/node_guard.hpp"

#include <troupe/troupe.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

namespace troupe {
namespace {

using namespace std::chrono_literals;

constexpr circuit_breaker_policy two_failures{.failures = 2, .open_for = 10s};
const guard_time start{1000s};

constexpr const char* secret = "of the first caller";

/// A graph of one node that fails while `broken` is set.
compiled_graph fragile(bool& broken, std::atomic<int>& ran, node_options options) {
  state_graph<> g{{{"log", append}}};
  g.add_node(
    "call",
    [&](const state_view&) -> state_update {
      ++ran;
      if (broken)
        throw std::runtime_error{secret};
      return state_update{{"log", value::list({"call"})}};
    },
    std::move(options));
  g.add_edge(START, "call");
  return g.compile();
}

} // namespace

BOOST_AUTO_TEST_SUITE(graph_node_guard)

BOOST_AUTO_TEST_CASE(a_breaker_opens_after_failures_in_a_row) {
  circuit_breaker b;
  b.ended(two_failures, true, start);
  BOOST_TEST(!b.refuses(two_failures, start));
  b.ended(two_failures, false, start); // not in a row
  b.ended(two_failures, true, start);
  BOOST_TEST(!b.refuses(two_failures, start));
  b.ended(two_failures, true, start);
  BOOST_TEST((b.refuses(two_failures, start + 4s) == 6s));
}

BOOST_AUTO_TEST_CASE(an_open_breaker_lets_one_attempt_try) {
  circuit_breaker b;
  b.ended(two_failures, true, start);
  b.ended(two_failures, true, start);
  BOOST_TEST(!b.refuses(two_failures, start + 10s));
  BOOST_TEST((b.refuses(two_failures, start + 11s) == 9s)); // the other ones wait
  b.ended(two_failures, true, start + 12s);
  BOOST_TEST((b.refuses(two_failures, start + 13s) == 9s));
  BOOST_TEST(!b.refuses(two_failures, start + 22s));
  b.ended(two_failures, false, start + 23s);
  BOOST_TEST(!b.refuses(two_failures, start + 23s));
  BOOST_TEST(!b.refuses(two_failures, start + 23s)); // closed: all may begin
}

BOOST_AUTO_TEST_CASE(an_attempt_that_never_ends_does_not_keep_a_breaker_open) {
  circuit_breaker b;
  b.ended(two_failures, true, start);
  b.ended(two_failures, true, start);
  BOOST_TEST(!b.refuses(two_failures, start + 10s));
  BOOST_TEST(!b.refuses(two_failures, start + 20s));
}

BOOST_AUTO_TEST_CASE(a_limiter_spreads_attempts_after_a_burst) {
  constexpr rate_limit_policy ten_a_second{.permits = 10, .per = 1s, .burst = 2};
  node_rate_limiter r;
  BOOST_TEST((r.reserve(ten_a_second, start) == 0s));
  BOOST_TEST((r.reserve(ten_a_second, start) == 0s));
  BOOST_TEST((r.reserve(ten_a_second, start) == 100ms));
  BOOST_TEST((r.reserve(ten_a_second, start) == 200ms));
  BOOST_TEST((r.reserve(ten_a_second, start + 1s) == 0s)); // after a quiet time, a burst again
  BOOST_TEST((r.reserve(ten_a_second, start + 1s) == 0s));
  BOOST_TEST((r.reserve(ten_a_second, start + 1s) == 100ms));
}

BOOST_AUTO_TEST_CASE(an_open_breaker_fails_the_tasks_of_all_runs_without_their_bodies) {
  bool broken = true;
  std::atomic<int> ran{0};
  runtime rt;
  auto app = rt.load(fragile(broken, ran, {.circuit_breaker = {.failures = 2, .open_for = 1h}}));
  for (int i = 0; i < 2; ++i)
    BOOST_TEST((app.try_invoke({}).error().code() == errc::node_failed));
  broken = false;
  auto refused = app.try_invoke({});
  BOOST_TEST((refused.error().code() == errc::overloaded));
  BOOST_TEST(refused.error().type() == "CircuitOpenError");
  BOOST_TEST(refused.error().message().find("node `call`") == 0U);
  auto at = refused.error().message().find(", the last one with std::runtime_error");
  BOOST_REQUIRE(at != std::string::npos);
  BOOST_TEST(refused.error().message().find(secret, at) == std::string::npos); // of another run
  BOOST_TEST(ran == 2);
}

BOOST_AUTO_TEST_CASE(a_breaker_counts_every_attempt) {
  bool broken = true;
  std::atomic<int> ran{0};
  runtime rt;
  auto app = rt.load(fragile(broken, ran,
                             {.retry_policy = {.initial_interval = 0ns,
                                               .max_attempts = 5,
                                               .jitter = false,
                                               .retry_on = [](const error&) { return true; }},
                              .circuit_breaker = {.failures = 3, .open_for = 1h}}));
  BOOST_TEST((app.try_invoke({}).error().code() == errc::overloaded));
  BOOST_TEST(ran == 3);
}

BOOST_AUTO_TEST_CASE(limited_attempts_wait_for_their_place) {
  bool broken = false;
  std::atomic<int> ran{0};
  runtime rt;
  auto app = rt.load(fragile(broken, ran, {.rate_limit = {.permits = 1, .per = 20ms}}));
  auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < 3; ++i)
    app.invoke({});
  BOOST_TEST((std::chrono::steady_clock::now() - began >= 40ms));
  BOOST_TEST(ran == 3);
}

BOOST_AUTO_TEST_CASE(a_policy_that_can_t_be_kept_is_refused) {
  bool broken = false;
  std::atomic<int> ran{0};
  BOOST_CHECK_EXCEPTION(fragile(broken, ran, {.rate_limit = {.permits = 1, .per = 0ns}}), error,
                        [](const error& e) { return e.code() == errc::invalid_graph; });
  BOOST_CHECK_EXCEPTION(fragile(broken, ran, {.circuit_breaker = {.failures = 1, .open_for = 0ns}}),
                        error, [](const error& e) { return e.code() == errc::invalid_graph; });
}

// The message of the refusal to compile a node with these options.
std::string refusal_of(node_options options) {
  bool broken = false;
  std::atomic<int> ran{0};
  try {
    fragile(broken, ran, std::move(options));
  } catch (const error& e) {
    return e.code() == errc::invalid_graph ? e.message() : "another code: " + e.message();
  }
  return "nothing was refused";
}

BOOST_AUTO_TEST_CASE(a_policy_takes_no_negative_time) {
  const retry_policy shrinking{.backoff_factor = std::numeric_limits<double>::quiet_NaN()};
  BOOST_TEST(refusal_of({.timeout = -20ms})
             == "node `call`: timeout.run_timeout must not be negative; 0 stands for unbounded");
  BOOST_TEST(refusal_of({.timeout = {0ns, -1ns}})
             == "node `call`: timeout.idle_timeout must not be negative; 0 stands for unbounded");
  BOOST_TEST(refusal_of({.retry_policy = {.initial_interval = -1s}})
             == "node `call`: retry_policy.initial_interval must not be negative");
  BOOST_TEST(refusal_of({.retry_policy = {.otherwise = {{.max_interval = -1s}}}})
             == "node `call`: retry_policy.max_interval must not be negative");
  BOOST_TEST(refusal_of({.retry_policy = shrinking})
             == "node `call`: retry_policy.backoff_factor must be a number of at least 0");
  BOOST_TEST(refusal_of({.cache_policy = {.ttl = -1s}})
             == "node `call`: cache_policy.ttl must not be negative");
  BOOST_TEST(refusal_of({.cache_policy = {.ttl = 0s}}) == "nothing was refused");
}

BOOST_AUTO_TEST_CASE(defaults_tasks_and_workflows_take_no_negative_time) {
  auto has_code = [](const error& e) { return e.code() == errc::invalid_graph; };
  state_graph<> g{{{"log", append}}};
  g.add_node("a", [](const state_view&) -> state_update { return {}; });
  g.add_edge(START, "a");
  g.set_node_defaults({.timeout = -1s});
  BOOST_TEST((g.try_compile().error().code() == errc::invalid_graph));
  auto same = [](std::int64_t n) { return n; };
  BOOST_CHECK_EXCEPTION(task("t", same, {.timeout = -1s}), error, has_code);
  BOOST_CHECK_EXCEPTION(entrypoint("e", same, {.timeout = -1s}), error, has_code);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
