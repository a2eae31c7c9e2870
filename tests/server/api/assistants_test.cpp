// Assistants as clients see them: searches, and the bounds of all lists.
#include "tests/server/served_rooms.hpp"

namespace troupe::server::test {

BOOST_AUTO_TEST_SUITE(assistants_api)

BOOST_AUTO_TEST_CASE(a_search_for_assistants_of_an_unknown_graph_names_those_there_are) {
  served_rooms server;
  for (const char* path : {"/assistants/search", "/assistants/count"}) {
    BOOST_TEST(server.post(path, value::map({{"graph_id", "plain"}})).status == 200, path);
    auto refused = server.post(path, value::map({{"graph_id", "plane"}}));
    BOOST_TEST(refused.status == 404, path);
    auto detail = refused.json()["detail"].as<std::string>();
    BOOST_TEST(detail.find("'plane' not found") != detail.npos, detail);
    BOOST_TEST(detail.find("'plain'") != detail.npos, detail);
  }
}

BOOST_AUTO_TEST_CASE(an_answer_lists_so_many_entries_and_no_more) {
  served_rooms server;
  auto thread = server.post("/threads", value::map()).json()["thread_id"].as<std::string>();
  auto assistant = server.post("/assistants/search", value::map({{"graph_id", "plain"}}))
                     .json()[0]["assistant_id"]
                     .as<std::string>();
  auto bounded = [](std::string_view member, std::int64_t n) {
    return value::map().with(member, n);
  };
  for (const auto& path : {std::string{"/assistants/search"},
                           "/assistants/" + assistant + "/versions", std::string{"/threads/search"},
                           "/threads/" + thread + "/history", std::string{"/runs/crons/search"},
                           std::string{"/store/items/search"}, std::string{"/store/namespaces"}}) {
    auto most = server.post(path, bounded("limit", limits::server_page_max));
    BOOST_TEST(most.status == 200, path << ": " << most.body);
    BOOST_TEST(server.post(path, bounded("limit", limits::server_page_max + 1)).status == 422,
               path);
    BOOST_TEST(server.post(path, bounded("limit", 0)).status == 422, path);
    if (path.ends_with("/history"))
      continue;
    BOOST_TEST(server.post(path, bounded("offset", limits::server_offset_max)).status == 200, path);
    BOOST_TEST(server.post(path, bounded("offset", limits::server_offset_max + 1)).status == 422,
               path);
  }
  for (const char* list : {"/runs?limit=", "/history?limit="}) {
    auto path = "/threads/" + thread + list;
    BOOST_TEST(server.ask("GET", path + std::to_string(limits::server_page_max)).status == 200);
    BOOST_TEST(server.ask("GET", path + std::to_string(limits::server_page_max + 1)).status == 422);
  }
}

BOOST_AUTO_TEST_CASE(versions_levels_and_depths_have_bounds) {
  served_rooms server;
  auto assistant = server.post("/assistants/search", value::map({{"graph_id", "plain"}}))
                     .json()[0]["assistant_id"]
                     .as<std::string>();
  auto latest = [&](std::int64_t version) {
    return server
      .post("/assistants/" + assistant + "/latest", value::map().with("version", version))
      .status;
  };
  BOOST_TEST(latest(limits::server_version_max) == 404);
  BOOST_TEST(latest(limits::server_version_max + 1) == 422);
  auto drawn = [&](std::int64_t levels) {
    return server.ask("GET", "/assistants/" + assistant + "/graph?xray=" + std::to_string(levels))
      .status;
  };
  BOOST_TEST(drawn(limits::server_xray_max) == 200);
  BOOST_TEST(drawn(limits::server_xray_max + 1) == 422);
  auto listed = [&](std::int64_t depth) {
    return server.post("/store/namespaces", value::map().with("max_depth", depth)).status;
  };
  BOOST_TEST(listed(limits::server_namespace_depth_max) == 200);
  BOOST_TEST(listed(limits::server_namespace_depth_max + 1) == 422);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::server::test
