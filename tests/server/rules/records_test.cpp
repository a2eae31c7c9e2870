// Records as documents, and as clients see them.
#include "server/rules/records.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe::server {
namespace {

BOOST_AUTO_TEST_SUITE(server_records)

BOOST_AUTO_TEST_CASE(the_default_assistant_has_the_id_that_clients_compute) {
  BOOST_TEST(default_assistant_id("plain") == "8b184351-3358-5cdd-b03b-9a70de2251e5");
}

BOOST_AUTO_TEST_CASE(a_thread_is_read_as_it_was_stored_and_shows_nothing_private) {
  thread_record thread{.thread_id = "t",
                       .created_at = "2026-01-01T00:00:00.000000+00:00",
                       .metadata = value::map({{"user", "u"}}),
                       .status = thread_status::busy,
                       .config = value::map({{"tags", value::list({"a"})}}),
                       .ttl_minutes = 5.5,
                       .ttl_strategy = "keep_latest",
                       .had_runs = true,
                       .inflight = {"r1", "r2"},
                       .running = "r1"};
  auto again = thread_record::of(thread.body());
  BOOST_TEST(again.body() == thread.body());
  BOOST_TEST(again.inflight == thread.inflight);
  BOOST_TEST(again.running == "r1");
  BOOST_TEST(again.ttl_minutes.value() == 5.5);
  auto shown = public_form(thread.body());
  BOOST_TEST(!shown.contains("server"));
  BOOST_TEST(shown["status"] == value("busy"));
  BOOST_TEST(shown["error"].is_null());
  thread.had_runs = false;
  BOOST_TEST(!public_form(thread.body()).contains("error"));
}

BOOST_AUTO_TEST_CASE(a_run_is_read_as_it_was_stored) {
  run_record run{.run_id = "r",
                 .thread_id = "t",
                 .assistant_id = "a",
                 .status = run_status::timeout,
                 .kwargs = value::map({{"temporary", true}}),
                 .graph_id = "g",
                 .owner = "server",
                 .attempt = 3,
                 .cancel = cancel_action::rollback,
                 .error = value::map({{"error", "E"}})};
  auto again = run_record::of(run.body());
  BOOST_TEST(again.body() == run.body());
  BOOST_TEST((again.cancel == cancel_action::rollback));
  BOOST_TEST(again.flag("temporary"));
  BOOST_TEST(!again.flag("resumable"));
  BOOST_TEST(again.document_id() == "t/r");
}

BOOST_AUTO_TEST_CASE(members_are_selected_by_name) {
  auto body = value::map({{"a", 1}, {"b", 2}});
  BOOST_TEST(selected(body, {}) == body);
  BOOST_TEST(selected(body, {"b", "c"}) == value::map({{"b", 2}}));
}

BOOST_AUTO_TEST_CASE(names_are_read_back_and_others_are_none) {
  for (auto status : {run_status::pending, run_status::running, run_status::success,
                      run_status::error, run_status::timeout, run_status::interrupted}) {
    BOOST_TEST((parse_run_status(to_string(status)) == status));
    BOOST_TEST(is_over(status) == (status != run_status::pending && status != run_status::running));
  }
  BOOST_TEST(!parse_run_status("done"));
  BOOST_TEST(!parse_cancel_action("none"));
  BOOST_TEST((parse_cancel_action("rollback") == cancel_action::rollback));
  BOOST_TEST((parse_thread_status("idle") == thread_status::idle));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace
} // namespace troupe::server
