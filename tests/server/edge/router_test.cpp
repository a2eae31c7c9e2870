// Routes: which pattern a path fits.
#include "server/edge/router.hpp"

#include <boost/test/unit_test.hpp>

#include <utility>

namespace troupe::server::test {
namespace {

router some_routes() {
  router out;
  for (auto [method, pattern] : std::vector<std::pair<const char*, const char*>>{
         {"GET", "/"},
         {"GET", "/threads/{thread_id}"},
         {"PATCH", "/threads/{thread_id}"},
         {"POST", "/threads"},
         {"POST", "/threads/search"},
         {"GET", "/threads/{thread_id}/runs/{run_id}"},
         {"GET", "/threads/{thread_id}/runs/crons"}})
    out.add({.method = method, .pattern = pattern, .handle = {}});
  return out;
}

// The pattern and its parameters, or the status.
std::string matched(std::string_view method, std::string_view path) {
  auto routes = some_routes();
  auto got = routes.match(method, path);
  if (auto* no = std::get_if<no_route>(&got))
    return std::to_string(no->status) + (no->allow.empty() ? "" : " " + no->allow);
  auto& yes = std::get<route_match>(got);
  std::string out{yes.found->pattern};
  for (const auto& parameter : yes.parameters)
    out += " " + parameter;
  return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(server_router)

BOOST_AUTO_TEST_CASE(segments_fit_one_by_one) {
  BOOST_TEST(matched("GET", "/") == "/");
  BOOST_TEST(matched("GET", "/threads/7") == "/threads/{thread_id} 7");
  BOOST_TEST(matched("HEAD", "/threads/7") == "/threads/{thread_id} 7");
  BOOST_TEST(matched("GET", "/threads/7/runs/8") == "/threads/{thread_id}/runs/{run_id} 7 8");
  BOOST_TEST(matched("POST", "/threads/search") == "/threads/search");
  BOOST_TEST(matched("GET", "/threads/a%20b%2Fc%C3%A9") == "/threads/{thread_id} a b/c\xc3\xa9");
}

BOOST_AUTO_TEST_CASE(a_fixed_segment_goes_before_a_parameter) {
  BOOST_TEST(matched("GET", "/threads/7/runs/crons") == "/threads/{thread_id}/runs/crons 7");
}

BOOST_AUTO_TEST_CASE(other_paths_and_methods_have_no_route) {
  for (const char* path :
       {"", "threads", "/nope", "/nope/", "/threads//runs/8", "//threads", "/threads//",
        "/threads/%zz", "/threads/%ff", "/threads/%00", "/threads/7/runs", "*"})
    BOOST_TEST(matched("GET", path).starts_with("40"), path);
  BOOST_TEST(matched("GET", "/threads/%ff") == "404");
  BOOST_TEST(matched("PUT", "/threads") == "405 POST");
  BOOST_TEST(matched("PUT", "/threads/7") == "405 GET, PATCH");
  BOOST_TEST(matched("HEAD", "/threads") == "405 POST");
  BOOST_TEST(matched("get", "/threads/7").starts_with("405"));
}

BOOST_AUTO_TEST_CASE(a_last_slash_too_many_leads_to_the_path_without_it) {
  for (const char* path : {"/threads/", "/threads/7/", "/threads/search/"})
    BOOST_TEST(matched("GET", path) == "307", path);
}

BOOST_AUTO_TEST_CASE(an_authoriser_sees_members_of_body_path_and_query) {
  auto members = [](const char* pattern, std::vector<std::string> parameters,
                    std::string_view query, std::string body) {
    api_call call;
    call.parameters = std::move(parameters);
    call.query = query_parameters{query};
    call.request.body = std::move(body);
    return to_json(asked_members(
      {.method = "POST", .pattern = pattern, .handle = {}, .access = {"threads", "read"}}, call));
  };
  BOOST_TEST(members("/threads/{id}/runs/{run_id}", {"7", "8"}, "", "{}")
             == R"({"run_id":"8","thread_id":"7"})");
  // The path decides, as it does for the handler.
  BOOST_TEST(members("/threads/{id}", {"7"}, "x=1", R"({"thread_id":"9","n":1})")
             == R"({"n":1,"thread_id":"7"})");
  BOOST_TEST(members("/x", {}, "namespace=a.b&namespace=c&key=k", "")
             == R"({"key":"k","namespace":["a.b","c"]})");
  BOOST_TEST(members("/threads/{id}", {"7"}, "", "[1]") == "[1]");
  BOOST_TEST(members("/threads/{id}", {"7"}, "", "{") == "null");
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::server::test
