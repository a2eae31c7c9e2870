// Errors as answers, bodies as values, and frames of events.
#include "server/edge/events.hpp"
#include "server/edge/refusal.hpp"

#include <troupe/server/limits.hpp>

#include <boost/test/unit_test.hpp>

namespace troupe::server::test {
namespace {

int status_for(errc code) {
  return answer_of(error{code, "why"}).status;
}

std::string detail_for(std::string body) {
  try {
    json_body({.method = "POST", .target = "/", .body = std::move(body)});
  } catch (const refusal& no) {
    BOOST_TEST(no.status() == 422);
    return no.detail();
  }
  return "accepted";
}

} // namespace

BOOST_AUTO_TEST_SUITE(server_refusal)

BOOST_AUTO_TEST_CASE(a_refusal_is_a_detail_in_json) {
  auto answer = answer_of(refusal{429, "say \"no\"", {{"Retry-After", "3"}}});
  BOOST_TEST(answer.status == 429);
  BOOST_TEST(answer.body == R"({"detail":"say \"no\""})");
  BOOST_TEST(answer.headers[0].second == "3");
  BOOST_TEST(answer.headers[1].second == "application/json");
}

BOOST_AUTO_TEST_CASE(a_long_text_is_cut_between_characters) {
  BOOST_TEST(shortened("abc", 3) == "abc");
  BOOST_TEST(shortened("abcd", 3) == "abc…");
  BOOST_TEST(shortened("ab\xc3\xa9", 3) == "ab…");
  BOOST_TEST(shortened("\xc3\xa9", 1) == "…");
  auto answer = answer_of(refusal{422, std::string(1u << 20, 'x')});
  BOOST_TEST(answer.body.size() < limits::server_detail_bytes_max + 100);
  BOOST_TEST(answer.body.ends_with("x…\"}"));
}

BOOST_AUTO_TEST_CASE(an_error_has_the_status_of_its_code) {
  BOOST_TEST(status_for(errc::conflict) == 409);
  BOOST_TEST(status_for(errc::missing_key) == 404);
  BOOST_TEST(status_for(errc::checkpoint_missing) == 404);
  BOOST_TEST(status_for(errc::invalid_value) == 422);
  BOOST_TEST(status_for(errc::overloaded) == 429);
  BOOST_TEST(status_for(errc::runtime_stopped) == 503);
  BOOST_TEST(status_for(errc::storage_full) == 507);
  BOOST_TEST(status_for(errc::storage_failed) == 500);
}

BOOST_AUTO_TEST_CASE(the_text_of_an_inner_failure_stays_inside) {
  BOOST_TEST(answer_of(error{errc::storage_failed, "/secret/path"}).body
             == R"({"detail":"Internal Server Error"})");
}

BOOST_AUTO_TEST_CASE(json_of_others_is_written_as_it_was_read) {
  auto text = R"({"$bytes":"YQ==","a":{"$x":1}})";
  auto body = json_body({.method = "POST", .target = "/", .body = text});
  BOOST_TEST(json_answer(body).body == text);
  auto single = json_body({.method = "POST", .target = "/", .body = R"({"$bytes":"YQ=="})"});
  BOOST_TEST(json_answer(single).body == R"({"$bytes":"YQ=="})");
}

BOOST_AUTO_TEST_CASE(a_body_is_a_map) {
  BOOST_TEST(detail_for("") == "Invalid JSON in request body");
  BOOST_TEST(detail_for("{}") == "accepted");
  BOOST_TEST(detail_for("{bad") == "Invalid JSON in request body");
  BOOST_TEST(detail_for("[1]") == "[1] is not of type \"object\"");
  BOOST_TEST(detail_for("null") == "null is not of type \"object\"");
  BOOST_TEST(detail_for(std::string(1000, '[')) == "read JSON: too deep: at byte 129");
  auto large = detail_for('"' + std::string(10'000, 'x') + '"');
  BOOST_TEST(large.size() < limits::server_echo_bytes_max + 40);
}

BOOST_AUTO_TEST_CASE(a_frame_has_three_lines_and_no_more) {
  BOOST_TEST(event_frame("values", "{}", "7") == "event: values\ndata: {}\nid: 7\n\n");
  BOOST_TEST(event_frame("values", "{}") == "event: values\ndata: {}\n\n");
  BOOST_TEST(event_frame("a\ndata: x", "{}", "1\r\n2") == "event: adata: x\ndata: {}\nid: 12\n\n");
}

BOOST_AUTO_TEST_CASE(the_last_event_id_of_a_reader_is_a_position) {
  BOOST_TEST(position_after("17").value() == 17u);
  BOOST_TEST(position_after("-1").value() == 0u);
  BOOST_TEST(position_after("-").value() == 0u);
  for (const char* other : {"", "x", "-2", "+1", " 1", "1.0", "1234567890123456789"})
    BOOST_TEST(!position_after(other), other);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::server::test
