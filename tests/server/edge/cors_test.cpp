// Cross-origin requests: preflights and headers.
#include "server/edge/cors.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>

namespace troupe::server::test {
namespace {

std::string header_in(const http_headers& headers, std::string_view name) {
  auto at = std::ranges::find_if(headers, [name](const auto& h) { return h.first == name; });
  return at == headers.end() ? "none" : at->second;
}

http_asked preflight(std::string origin, http_headers more = {}) {
  http_asked out{.method = "OPTIONS", .target = "/threads"};
  out.headers = {{"origin", std::move(origin)}, {"access-control-request-method", "POST"}};
  out.headers.insert(out.headers.end(), more.begin(), more.end());
  return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(server_cors)

BOOST_AUTO_TEST_CASE(a_preflight_is_answered_as_the_reference_does) {
  auto asked = preflight("http://localhost:3000",
                         {{"access-control-request-headers", "content-type,x-api-key"}});
  auto answer = preflight_answer({}, asked).value();
  BOOST_TEST(answer.status == 200);
  BOOST_TEST(answer.body == "OK");
  BOOST_TEST(header_in(answer.headers, "Access-Control-Allow-Origin") == "*");
  BOOST_TEST(header_in(answer.headers, "Access-Control-Allow-Headers") == "content-type,x-api-key");
  BOOST_TEST(header_in(answer.headers, "Access-Control-Max-Age") == "600");
  BOOST_TEST(header_in(answer.headers, "Access-Control-Allow-Private-Network") == "none");
}

BOOST_AUTO_TEST_CASE(a_private_network_is_opened_by_request) {
  auto asked = preflight("https://a.example", {{"access-control-request-private-network", "true"}});
  BOOST_TEST(header_in(preflight_answer({}, asked)->headers, "Access-Control-Allow-Private-Network")
             == "true");
  BOOST_TEST(header_in(preflight_answer({.private_network = false}, asked)->headers,
                       "Access-Control-Allow-Private-Network")
             == "none");
}

BOOST_AUTO_TEST_CASE(other_requests_are_not_preflights) {
  BOOST_TEST(!preflight_answer({}, {.method = "OPTIONS", .target = "/"}).has_value());
  auto get = preflight("https://a.example");
  get.method = "GET";
  BOOST_TEST(!preflight_answer({}, get).has_value());
}

BOOST_AUTO_TEST_CASE(pages_that_are_not_listed_may_not_ask) {
  cors_options rules{.origins = {"https://a.example"}};
  BOOST_TEST(preflight_answer(rules, preflight("https://b.example"))->status == 400);
  auto allowed = preflight_answer(rules, preflight("https://a.example")).value();
  BOOST_TEST(header_in(allowed.headers, "Access-Control-Allow-Origin") == "https://a.example");
  BOOST_TEST(header_in(cors_headers(rules, preflight("https://a.example.evil")),
                       "Access-Control-Allow-Origin")
             == "none");
  BOOST_TEST(is_allowed_origin(rules, ""));
  BOOST_TEST(!is_allowed_origin(rules, "null"));
}

BOOST_AUTO_TEST_CASE(an_answer_shows_the_headers_that_clients_read) {
  auto headers = cors_headers({}, preflight("http://x"));
  BOOST_TEST(header_in(headers, "Access-Control-Expose-Headers")
             == "content-location, location, x-pagination-total, x-pagination-next, x-request-id");
  BOOST_TEST(header_in(headers, "Vary") == "Origin");
  BOOST_TEST(cors_headers({}, {.method = "GET", .target = "/"}).size() == 1u);
}

BOOST_AUTO_TEST_CASE(with_credentials_an_origin_is_named) {
  auto headers = cors_headers({.credentials = true}, preflight("http://x"));
  BOOST_TEST(header_in(headers, "Access-Control-Allow-Origin") == "http://x");
  BOOST_TEST(header_in(headers, "Access-Control-Allow-Credentials") == "true");
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::server::test
