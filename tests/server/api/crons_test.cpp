// Crons as clients see them: their runs' config and context, their dates, what becomes of threads.
#include "server/runs/document_changes.hpp"
#include "tests/server/served_rooms.hpp"

namespace troupe::server::test {
namespace {

class crons_world {
public:
  std::string path_of(const value& made) const {
    return "/runs/crons/" + made["cron_id"].as<std::string>();
  }
  value create(const value& members, const std::string& place = "/runs/crons") const {
    auto body = value::map({{"assistant_id", "plain"}, {"schedule", "0 0 1 1 *"}});
    for (const auto& e : members.entries())
      body = body.with(e.key(), e.val);
    auto made = server.post(place, body);
    BOOST_REQUIRE_MESSAGE(made.status == 200, made.body);
    return made.json();
  }
  heard_answer change(const value& cron, const char* body) const {
    return server.ask("PATCH", path_of(cron), body);
  }

  served_rooms server;
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(crons_api, crons_world)

BOOST_AUTO_TEST_CASE(a_cron_may_have_a_context_though_its_id_is_configurable) {
  auto made = create(value::map({{"context", value::map({{"a", 1}})}}));
  auto id = made["cron_id"];
  auto changed = change(made, R"({"context":{"q":1}})");
  BOOST_REQUIRE_MESSAGE(changed.status == 200, changed.body);
  BOOST_TEST(changed.json()["payload"]["context"] == (value{{"q", 1}}));
  changed = change(made, R"({"config":{"tags":["z"]}})");
  BOOST_TEST(changed.json()["payload"]["config"]
             == value::map(
               {{"tags", value::list({"z"})}, {"configurable", value::map().with("cron_id", id)}}));
  BOOST_TEST(change(made, R"({"config":{"configurable":{"x":1}}})").status == 400); // and a context

  auto cron = cron_record::of(changed.json());
  auto along = [&] { return change_to(document_kind::cron, cron.cron_id, cron.body()); };
  start_cron(server.with, cron, along);
  auto runs = server.documents->search({.kind = document_kind::run}).value().documents;
  BOOST_REQUIRE(runs.size() == 1u);
  auto kwargs = run_record::of(runs[0].body).kwargs;
  BOOST_TEST(kwargs["config"]["configurable"]["cron_id"] == id);
  BOOST_TEST(kwargs["context"]["q"] == value(1));
}

BOOST_AUTO_TEST_CASE(a_cron_that_is_switched_off_has_its_next_date) {
  auto made = create(value::map({{"enabled", false}}));
  BOOST_TEST(made["enabled"] == value(false));
  BOOST_TEST(made["next_run_date"].is_string());
  BOOST_TEST(change(made, R"({"enabled":true})").json()["next_run_date"] == made["next_run_date"]);
}

BOOST_AUTO_TEST_CASE(only_a_cron_without_a_thread_decides_what_becomes_of_its_threads) {
  auto keep = value::map({{"on_run_completed", "keep"}});
  BOOST_TEST(create(keep)["on_run_completed"] == value("keep"));
  auto thread = server.post("/threads", value::map()).json()["thread_id"].as<std::string>();
  auto made = create(keep, "/threads/" + thread + "/runs/crons");
  BOOST_TEST(made["on_run_completed"].is_null());
  BOOST_TEST(change(made, R"({"on_run_completed":"keep"})").json()["on_run_completed"].is_null());
}

BOOST_AUTO_TEST_CASE(an_empty_change_is_refused) {
  auto refused = change(create(value::map()), "{}");
  BOOST_TEST(refused.status == 400);
  BOOST_TEST(refused.json()["detail"] == value("Request body cannot be empty"));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::server::test
