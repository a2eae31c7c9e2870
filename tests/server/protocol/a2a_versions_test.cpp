// The names and forms of A2A's two versions.
#include "server/protocol/a2a_forms.hpp"
#include "server/protocol/a2a_versions.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

namespace troupe::server::test {
namespace {

namespace data = boost::unit_test::data;

const a2a_task_id a_task{"11111111-1111-4111-8111-111111111111",
                         "22222222-2222-4222-8222-222222222222"};

value json_of(const std::string& json) {
  return from_json(json, json_form::plain).value();
}

std::string current(const value& form) {
  return to_json(a2a_form(form, a2a_version::v1_0));
}

struct part_case {
  const char* current;
  const char* old;
};
std::ostream& operator<<(std::ostream& out, const part_case& c) {
  return out << c.current;
}
const std::vector<part_case> parts{
  {R"({"text":"hi"})", R"({"kind":"text","text":"hi"})"},
  {R"({"data":{"n":1}})", R"({"data":{"n":1},"kind":"data"})"},
  {R"({"filename":"a.png","mediaType":"image/png","raw":"aGk="})",
   R"({"file":{"bytes":"aGk=","mimeType":"image/png","name":"a.png"},"kind":"file"})"},
  {R"({"mediaType":"text/csv","url":"https://x/y"})",
   R"({"file":{"mimeType":"text/csv","uri":"https://x/y"},"kind":"file"})"}};

} // namespace

BOOST_AUTO_TEST_SUITE(server_a2a_versions)

BOOST_AUTO_TEST_CASE(a_method_has_a_name_in_each_version) {
  auto old = a2a_method_of("message/send");
  auto newer = a2a_method_of("SendMessage");
  BOOST_REQUIRE((old && newer));
  BOOST_TEST((old->version == a2a_version::v0_3 && newer->version == a2a_version::v1_0));
  BOOST_TEST((old->action == newer->action));
  BOOST_TEST((a2a_method_of("ListTasks")->action == a2a_action::list_tasks));
  for (const char* unknown : {"", "sendmessage", "message/Send", "SendMessage "})
    BOOST_TEST(!a2a_method_of(unknown).has_value(), unknown);
}

BOOST_AUTO_TEST_CASE(states_and_roles_are_known_by_both_names) {
  BOOST_TEST(a2a_state_of("TASK_STATE_INPUT_REQUIRED").value() == "input-required");
  BOOST_TEST(a2a_state_of("input-required").value() == "input-required");
  BOOST_TEST(!a2a_state_of("TASK_STATE_UNSPECIFIED").has_value());
  BOOST_TEST((is_a2a_role("user") && is_a2a_role("ROLE_AGENT")));
  BOOST_TEST((!is_a2a_role("") && !is_a2a_role("human")));
}

BOOST_DATA_TEST_CASE(a_part_of_either_version_is_the_same_part, data::make(parts), one) {
  BOOST_TEST(to_json(a2a_part_of(json_of(one.current))) == one.old);
  BOOST_TEST(to_json(a2a_part_of(json_of(one.old))) == one.old);
  auto message = value::map({{"parts", value::list({json_of(one.old)})}});
  BOOST_TEST(current(message) == std::string{R"({"parts":[)"} + one.current + "]}");
}

BOOST_AUTO_TEST_CASE(a_part_of_no_known_form_stays) {
  for (const char* one : {R"({"zz":1})", R"({"text":1})", R"({"raw":1})", "[1]", "null"})
    BOOST_TEST(to_json(a2a_part_of(json_of(one))) == one);
}

BOOST_AUTO_TEST_CASE(a_task_has_no_kind_in_the_newer_version) {
  auto said = agent_message(text_parts("hi"), "m", a_task, false);
  auto form =
    a2a_task_form(a_task, status_form("input-required", "now", said), value::list({said}))
      .with("artifacts",
            value::list({json_of(R"({"artifactId":"a","parts":[{"kind":"text","text":"x"}]})")}));
  BOOST_TEST(to_json(a2a_form(form, a2a_version::v0_3)) == to_json(form));
  auto message = R"({"messageId":"m","parts":[{"text":"hi"}],"role":"ROLE_AGENT","taskId":")"
                 + a_task.text() + R"("})";
  BOOST_TEST(current(form)
             == R"({"artifacts":[{"artifactId":"a","parts":[{"text":"x"}]}],"contextId":")"
                  + a_task.thread_id + R"(","history":[)" + message + R"(],"id":")" + a_task.text()
                  + R"(","status":{"message":)" + message
                  + R"(,"state":"TASK_STATE_INPUT_REQUIRED","timestamp":"now"}})");
}

BOOST_AUTO_TEST_CASE(members_that_a_client_made_up_stay) {
  for (const char* one :
       {R"({"state":5})", R"({"status":"x"})", R"({"role":null})", R"({"x":[1]})"})
    BOOST_TEST(current(json_of(one)) == one);
}

BOOST_AUTO_TEST_CASE(an_event_of_the_newer_version_says_what_it_is_outside) {
  auto payload = [](const value& form) { return a2a_payload(form, a2a_version::v1_0); };
  auto status = payload(status_update(a_task, status_form("completed", "now"), true));
  BOOST_TEST(status.size() == 1u);
  BOOST_TEST(status["statusUpdate"]["status"]["state"] == value("TASK_STATE_COMPLETED"));
  BOOST_TEST(!status["statusUpdate"].contains("final"));
  auto artifact = payload(artifact_update(a_task, artifact_form(json_of("{}"), "id", "A")));
  BOOST_TEST(artifact["artifactUpdate"]["lastChunk"] == value(true));
  BOOST_TEST(
    payload(a2a_task_form(a_task, status_form("working", "now"), value::list()))["task"]["id"]
    == value(a_task.text()));
  auto old = status_update(a_task, status_form("completed", "now"), true);
  BOOST_TEST(to_json(a2a_payload(old, a2a_version::v0_3)) == to_json(old));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::server::test
