// Answers of an Agent Server as values and errors.
#include "client/answers.hpp"

#include <troupe/client/limits.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <ostream>

namespace troupe {
namespace {

struct status_case {
  int status;
  errc code;
  const char* type;
};
std::ostream& operator<<(std::ostream& out, const status_case& one) {
  return out << one.status;
}
const status_case status_cases[] = {{400, errc::invalid_value, "BadRequestError"},
                                    {401, errc::invalid_config, "AuthenticationError"},
                                    {403, errc::invalid_config, "PermissionDeniedError"},
                                    {404, errc::missing_key, "NotFoundError"},
                                    {409, errc::conflict, "ConflictError"},
                                    {418, errc::node_failed, "APIStatusError"},
                                    {422, errc::invalid_value, "UnprocessableEntityError"},
                                    {429, errc::overloaded, "RateLimitError"},
                                    {500, errc::node_failed, "InternalServerError"},
                                    {503, errc::overloaded, "InternalServerError"},
                                    {504, errc::node_timeout, "InternalServerError"}};

} // namespace

BOOST_AUTO_TEST_SUITE(client_answers)

BOOST_DATA_TEST_CASE(a_status_has_a_code_and_the_class_of_the_reference,
                     boost::unit_test::data::make(status_cases), one) {
  auto failed = refusal_of(one.status, R"({"detail":"the reason"})", {});
  BOOST_TEST((failed.code() == one.code));
  BOOST_TEST(failed.type() == one.type);
  BOOST_TEST(failed.message().find("the reason") != std::string::npos);
  BOOST_TEST((failed.details()["status"] == value(one.status)));
  BOOST_TEST((failed.details()["detail"] == value("the reason")));
}

BOOST_AUTO_TEST_CASE(a_body_of_any_form_gives_a_text_of_one_line_that_is_cut) {
  BOOST_TEST(
    (refusal_of(500, "Internal\r\nServer", {}).details()["detail"] == value("Internal  Server")));
  BOOST_TEST((refusal_of(400, R"({"error":{"message":"no"}})", {}).details()["detail"]
              == value(R"({"message":"no"})")));
  BOOST_TEST((refusal_of(404, "", {}).message() == "ask the agent server: status 404"));
  std::string umlauts;
  while (umlauts.size() < 2 * limits::client_detail_bytes_max)
    umlauts += "xü";
  auto detail = refusal_of(400, umlauts, {}).details()["detail"].as<std::string>();
  BOOST_TEST(detail.size() <= limits::client_detail_bytes_max + 3);
  BOOST_TEST((detail.ends_with("x…") || detail.ends_with("ü…")));
}

BOOST_AUTO_TEST_CASE(a_secret_that_the_server_repeats_is_not_in_the_error) {
  auto failed = refusal_of(401, R"({"detail":"bad key lsv2_secret, lsv2_secret!"})",
                           {"lsv2_secret", "a"});
  BOOST_TEST(failed.message().find("lsv2_secret") == std::string::npos);
  BOOST_TEST((failed.details()["detail"] == value("bad key ***, ***!")));
}

BOOST_AUTO_TEST_CASE(a_wait_gives_the_values_or_the_error_of_the_run) {
  BOOST_TEST((values_of_wait(value::map({{"n", 1}})) == value::map({{"n", 1}})));
  auto broken =
    value::map({{"__error__", value::map({{"error", "ValueError"}, {"message", "boom"}})}});
  BOOST_CHECK_EXCEPTION(values_of_wait(broken), error, [](const error& e) {
    return e.code() == errc::node_failed && e.type() == "ValueError" && e.text() == "boom";
  });
}

BOOST_AUTO_TEST_CASE(an_answer_is_json_after_the_signs_of_a_server_that_works) {
  BOOST_TEST((json_of_answer("\n\n{\"$bytes\":\"x\"}") == value::map({{"$bytes", "x"}})));
  BOOST_TEST(json_of_answer(" \n").is_null());
  BOOST_CHECK_EXCEPTION(json_of_answer("<html>"), error,
                        [](const error& e) { return e.code() == errc::invalid_value; });
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
