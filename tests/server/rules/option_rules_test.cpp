// Options of a server that exclude each other, and paths that are switched off.
#include "server/rules/option_rules.hpp"

#include <boost/test/unit_test.hpp>

#include <limits>

namespace troupe::server::test {
namespace {

using namespace std::chrono_literals;

// The problem of the default options after a change.
template <class F> std::string problem_after(F&& change) {
  server_options options;
  change(options);
  return options_problem(options);
}

bool names(const std::string& problem, std::string_view word) {
  return problem.find(word) != problem.npos;
}

} // namespace

BOOST_AUTO_TEST_SUITE(server_option_rules)

BOOST_AUTO_TEST_CASE(default_options_fit) {
  BOOST_TEST(problem_after([](server_options&) {}) == "");
}

BOOST_AUTO_TEST_CASE(records_are_kept_in_one_place) {
  BOOST_TEST(names(problem_after([](auto& o) {
                     o.data_dir = "data";
                     o.postgres = postgres_options{};
                   }),
                   "data_dir"));
  BOOST_TEST(problem_after([](auto& o) { o.postgres = postgres_options{}; }) == "");
}

BOOST_AUTO_TEST_CASE(a_certificate_needs_its_key_and_a_key_its_certificate) {
  BOOST_TEST(names(problem_after([](auto& o) { o.tls_certificate = "c"; }), "needs `tls_key`"));
  BOOST_TEST(names(problem_after([](auto& o) { o.tls_key = "k"; }), "needs `tls_certificate`"));
  BOOST_TEST(problem_after([](auto& o) { o.tls_certificate = o.tls_key = "k"; }) == "");
}

BOOST_AUTO_TEST_CASE(a_server_asks_who_calls_or_serves_everybody) {
  auto with_no_auth = [](auto&& set) {
    return problem_after([&set](server_options& o) {
      o.no_auth = true;
      set(o);
    });
  };
  BOOST_TEST(with_no_auth([](auto&) {}) == "");
  BOOST_TEST(names(with_no_auth([](auto& o) { o.api_keys = "keys"; }), "no_auth"));
  BOOST_TEST(
    names(with_no_auth([](auto& o) { o.tokens = token_rules{.jwks = "keys"}; }), "no_auth"));
  BOOST_TEST(names(with_no_auth([](auto& o) {
                     o.authenticate = [](const request_head&) { return result<caller>{caller{}}; };
                   }),
                   "no_auth"));
}

BOOST_AUTO_TEST_CASE(tokens_are_checked_with_keys_or_with_a_secret) {
  auto of = [](token_rules rules) {
    return problem_after([&rules](server_options& o) { o.tokens = rules; });
  };
  BOOST_TEST(names(of({.issuer = "me"}), "needs `jwks` or `secret_file`"));
  BOOST_TEST(names(of({.jwks = "a", .secret_file = "b"}), "exclude each other"));
  BOOST_TEST(names(of({.jwks = "a", .identity = ""}), "tokens.identity"));
  BOOST_TEST(of({.jwks = "a"}) == "");
  BOOST_TEST(of({.secret_file = "a"}) == "");
}

BOOST_AUTO_TEST_CASE(rates_are_amounts) {
  auto of = [](request_rate rate) {
    return problem_after([&rate](server_options& o) { o.rate = rate; });
  };
  constexpr auto nan = std::numeric_limits<double>::quiet_NaN();
  BOOST_TEST(of({.per_second = 5, .burst = 10}) == "");
  for (auto wrong : {request_rate{-1, 0}, request_rate{nan, 0}, request_rate{1, nan},
                     request_rate{0, 5}, request_rate{5, 0.5}})
    BOOST_TEST(names(of(wrong), "rate"));
}

BOOST_AUTO_TEST_CASE(credentials_are_for_origins_by_name) {
  BOOST_TEST(names(problem_after([](auto& o) { o.cors.credentials = true; }), "credentials"));
  BOOST_TEST(problem_after(
               [](auto& o) { o.cors = {.origins = {"https://app.example"}, .credentials = true}; })
             == "");
  BOOST_TEST(names(problem_after([](auto& o) { o.cors.max_age = -1s; }), "max_age"));
}

BOOST_AUTO_TEST_CASE(the_life_of_threads_has_bounds) {
  auto of = [](thread_expiry expiry) {
    return problem_after([&expiry](server_options& o) { o.expiry = expiry; });
  };
  BOOST_TEST(of({.minutes = 0.5, .strategy = "keep_latest"}) == "");
  BOOST_TEST(names(of({.strategy = "archive"}), "expiry.strategy"));
  for (double wrong :
       {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(), limits::server_ttl_minutes_max + 1})
    BOOST_TEST(names(of({.minutes = wrong}), "expiry.minutes"), wrong);
  for (auto wrong : {999ms, limits::server_sweep_interval_max + 1ms})
    BOOST_TEST(names(of({.sweep_interval = wrong}), "sweep_interval"), wrong.count());
}

BOOST_AUTO_TEST_CASE(switched_off_paths_are_those_of_their_group) {
  disabled_paths runs{.runs = true};
  for (const char* off : {"/runs", "/runs/crons", "/threads/{thread_id}/runs/stream",
                          "/threads/{id}/commands", "/threads/{id}/stream/events"})
    BOOST_TEST(!is_served(runs, off), off);
  for (const char* on : {"/threads", "/threads/{id}", "/threads/{id}/state", "/threads/search",
                         "/assistants", "/ok", "/info", "/runsheet"})
    BOOST_TEST(is_served(runs, on), on);
  disabled_paths threads{.threads = true};
  BOOST_TEST(!is_served(threads, "/threads/{id}/state"));
  BOOST_TEST(is_served(threads, "/threads/{thread_id}/runs"));
  BOOST_TEST(!is_served({.assistants = true}, "/assistants/{id}"));
  BOOST_TEST(!is_served({.store = true}, "/store/items"));
  BOOST_TEST(!is_served({.mcp = true}, "/mcp"));
  BOOST_TEST(!is_served({.a2a = true}, "/a2a/{id}"));
  for (const char* meta : {"/info", "/metrics", "/docs", "/openapi.json"})
    BOOST_TEST(!is_served({.meta = true}, meta), meta);
  BOOST_TEST(is_served({.meta = true}, "/ok"));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::server::test
