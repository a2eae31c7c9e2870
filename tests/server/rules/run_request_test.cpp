// Requests for runs: defaults, refusals, and the run that is made of them.
#include "server/edge/refusal.hpp"
#include "server/rules/run_request.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

namespace troupe::server {
namespace {

namespace data = boost::unit_test::data;

value asked(const char* json) {
  return from_json(json, json_form::plain).value();
}

struct refused_request {
  const char* json;
  int status;
  const char* names; // a part of the detail
};
std::ostream& operator<<(std::ostream& out, const refused_request& one) {
  return out << one.json;
}
const std::vector<refused_request> refused_requests{
  {R"({})", 422, "assistant_id"},
  {R"({"assistant_id": 5})", 422, "assistant_id: 5"},
  {R"({"assistant_id": "a", "stream_mode": "bogus"})", 422, "stream_mode: \"bogus\""},
  {R"({"assistant_id": "a", "stream_mode": [1]})", 422, "stream_mode: 1"},
  {R"({"assistant_id": "a", "multitask_strategy": "bogus"})", 422,
   "reject, enqueue, interrupt, rollback"},
  {R"({"assistant_id": "a", "config": "x"})", 422, "config: \"x\""},
  {R"({"assistant_id": "a", "config": {"configurable": 1}})", 422, "config.configurable"},
  {R"({"assistant_id": "a", "config": {"configurable": {"k": 1}}, "context": {"u": 1}})", 400,
   "both"},
  {R"({"assistant_id": "a", "after_seconds": -1})", 422, "after_seconds: -1"},
  {R"({"assistant_id": "a", "after_seconds": 1e300})", 422, "after_seconds"},
  {R"({"assistant_id": "a", "interrupt_before": [1]})", 422, "interrupt_before"},
  {R"({"assistant_id": "a", "interrupt_after": "node"})", 422, "interrupt_after"},
  {R"({"assistant_id": "a", "command": []})", 422, "command"},
  {R"({"assistant_id": "a", "command": {"update": 5}})", 422, "command: update"},
  {R"({"assistant_id": "a", "command": {"update": "x"}})", 422, "command: update"},
  {R"({"assistant_id": "a", "command": {"update": [["x"]]}})", 422, "command: update"},
  {R"({"assistant_id": "a", "command": {"goto": 5}})", 422, "command: goto"},
  {R"({"assistant_id": "a", "command": {"goto": ["n", {"node": 5}]}})", 422, "command: goto"},
  {R"({"assistant_id": "a", "config": {"recursion_limit": "x"}})", 422, "config.recursion_limit"},
  {R"({"assistant_id": "a", "config": {"recursion_limit": 2.5}})", 422, "config.recursion_limit"},
  {R"({"assistant_id": "a", "config": {"tags": "x"}})", 422, "config.tags"},
  {R"({"assistant_id": "a", "config": {"tags": [1]}})", 422, "config.tags"},
  {R"({"assistant_id": "a", "checkpoint": {"checkpoint_id": 5}})", 422, "checkpoint.checkpoint_id"},
  {R"({"assistant_id": "a", "durability": "never"})", 422, "durability"},
  {R"({"assistant_id": "a", "stream_subgraphs": "yes"})", 422, "stream_subgraphs"},
};

BOOST_AUTO_TEST_SUITE(server_run_request)

BOOST_DATA_TEST_CASE(a_member_that_cannot_be_is_refused_by_name, data::make(refused_requests),
                     one) {
  BOOST_CHECK_EXCEPTION(read_run_request(asked(one.json)), refusal, [&](const refusal& no) {
    return no.status() == one.status && no.detail().find(one.names) != std::string::npos;
  });
}

BOOST_AUTO_TEST_CASE(members_that_are_missing_have_the_defaults_of_the_reference) {
  auto run =
    read_run_request(asked(R"({"assistant_id": "a", "unknown_member": 1, "input": null})"));
  BOOST_TEST((run.strategy == double_texting::enqueue));
  BOOST_TEST(!run.cancels_on_disconnect);
  BOOST_TEST(!run.creates_thread);
  BOOST_TEST(!run.keeps_thread);
  BOOST_TEST(wire_modes(run.kwargs) == std::vector<std::string>{"values"});
  BOOST_TEST(run.kwargs["durability"] == value("async"));
  BOOST_TEST(input_of(run.kwargs).get().index() == run_input(nullptr).get().index());
}

BOOST_AUTO_TEST_CASE(a_command_comes_before_an_input_and_one_without_members_says_nothing) {
  auto both = read_run_request(asked(
    R"({"assistant_id": "a", "input": {"x": 1}, "command": {"resume": "yes", "goto": ["n", {"node": "m", "input": 2}], "update": [["k", 1], ["k", 2]]}})"));
  auto given = input_of(both.kwargs);
  const auto& c = std::get<command>(given.get());
  BOOST_TEST(c.resume.value() == value("yes"));
  BOOST_TEST(c.goto_.list().size() == 2u);
  BOOST_TEST(std::get<send>(c.goto_.list()[1]).arg == value(2));
  BOOST_TEST(c.update->entries().size() == 2u);
  auto none = read_run_request(asked(
    R"({"assistant_id": "a", "input": {"x": 1}, "command": {"resume": null, "goto": null}})"));
  BOOST_TEST(std::get<value>(input_of(none.kwargs).get()) == value::map({{"x", 1}}));
}

BOOST_AUTO_TEST_CASE(the_assistant_s_config_lies_below_the_request_s) {
  assistant_record assistant{.config =
                               asked(R"({"recursion_limit": 7, "configurable": {"a": 1, "b": 1}})"),
                             .context = asked(R"({"a": 1, "b": 1})")};
  auto run = read_run_request(asked(
    R"({"assistant_id": "a", "config": {"configurable": {"b": 2}, "tags": ["t"]}, "checkpoint": {"checkpoint_id": "1f1eafe6-f9db-6b6e-bfff-240be1a5c761"}, "interrupt_before": "*"})"));
  run_record record{.run_id = "r",
                    .thread_id = "t",
                    .assistant_id = "as",
                    .metadata = value::map({{"m", 1}}),
                    .kwargs = with_assistant(run.kwargs, assistant),
                    .graph_id = "g",
                    .attempt = 1};
  auto config = config_of(record);
  BOOST_TEST(config.recursion_limit.value() == 7u);
  BOOST_TEST(config.configurable["a"] == value(1));
  BOOST_TEST(config.configurable["b"] == value(2));
  BOOST_TEST(config.context["b"] == value(2)); // configurable is a context, too
  BOOST_TEST(config.metadata["m"] == value(1));
  BOOST_TEST(config.metadata["run_id"] == value("r"));
  BOOST_TEST(config.checkpoint_id == "1f1eafe6-f9db-6b6e-bfff-240be1a5c761");
  BOOST_TEST(config.thread_id == "t");
  BOOST_TEST(config.interrupt_before == std::vector<std::string>{"*"});
  BOOST_TEST(config.tags == std::vector<std::string>{"t"});
  BOOST_TEST(!config.strict_resume);
}

BOOST_AUTO_TEST_CASE(a_recursion_limit_below_one_is_an_error) {
  run_record record{
    .kwargs =
      read_run_request(asked(R"({"assistant_id": "a", "config": {"recursion_limit": 0}})")).kwargs};
  BOOST_CHECK_EXCEPTION(config_of(record), error,
                        [](const error& e) { return e.code() == errc::invalid_config; });
}

BOOST_AUTO_TEST_CASE(modes_of_the_wire_are_modes_of_the_engine_each_once) {
  BOOST_TEST(engine_modes({"messages", "messages-tuple", "values"}).size() == 2u);
  BOOST_TEST(shown_modes({"messages", "messages-tuple", "events", "values"}).size() == 2u);
}

BOOST_AUTO_TEST_CASE(events_are_made_of_other_modes_and_of_nested_graphs) {
  BOOST_TEST(shown_modes({"events"}).empty());
  BOOST_TEST(engine_modes({"events", "messages"}).size() == 3u); // and debug, tools
  BOOST_TEST(has_events({"values", "events"}));
  auto body = asked(R"({"assistant_id": "a", "stream_mode": ["events"]})");
  BOOST_TEST(config_of({.kwargs = read_run_request(body).kwargs}).subgraphs);
  body = asked(R"({"assistant_id": "a", "stream_mode": ["values"]})");
  BOOST_TEST(!config_of({.kwargs = read_run_request(body).kwargs}).subgraphs);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace
} // namespace troupe::server
