// The failure of a model as the caller of its agent sees it.
#include "agents/models/model_wire.hpp"
#include "tests/provider/fake_provider.hpp"

#include <troupe/agents/agent.hpp>
#include <troupe/agents/model_providers.hpp>
#include <troupe/agents/react_agent.hpp>
#include <troupe/runtime.hpp>
#include <troupe/state_graph.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <optional>
#include <string>
#include <vector>

namespace troupe {
namespace {

using namespace std::chrono_literals;
namespace data = boost::unit_test::data;
using test::fails;
using test::fake_provider;
using test::says;

chat_model_ptr model_of(const fake_provider& server, unsigned attempts = 1) {
  return init_chat_model("openai:m", {.base_url = server.url() + "/v1",
                                      .api_key_variable = "TROUPE_TEST_NO_SUCH_KEY",
                                      .attempts_max = attempts,
                                      .retry_first = 1ms,
                                      .retry_max = 2ms});
}

compiled_graph agent_of(const std::string& kind, const fake_provider& server) {
  if (kind == "react")
    return create_react_agent({.model = model_of(server)});
  return create_agent({.model = model_of(server), .name = "support"});
}

const value hi{{"messages", value::list({human_message("hi")})}};

// An agent as the node of another graph.
compiled_graph around(compiled_graph inner) {
  state_graph<> g{{{"messages", add_messages}}};
  g.add_node("inner", std::move(inner));
  g.add_edge(START, "inner");
  return g.compile();
}

void check_facts(const error& failure) {
  auto known = model_facts(failure);
  BOOST_REQUIRE(known);
  BOOST_TEST(known->status == 429);
  BOOST_TEST(known->kind == "rate_limit_exceeded");
  BOOST_TEST(known->request_id == "req_7");
  BOOST_TEST((known->retry_after == 600s));
  BOOST_TEST(known->may_try_again);
  BOOST_TEST(failure.type() == "RateLimitError");
}

void refuse(fake_provider& server) {
  server.always(fails(429, "slow down", {{"x-request-id", "req_7"}, {"Retry-After", "600"}}));
}

} // namespace

BOOST_AUTO_TEST_SUITE(agents_model_failures)

BOOST_DATA_TEST_CASE(the_caller_of_an_agent_reads_the_facts_of_its_models_failure,
                     data::make({"react", "agent"}) * data::make({false, true}), kind, nested) {
  fake_provider server;
  refuse(server);
  runtime rt;
  auto graph = agent_of(kind, server);
  auto app = rt.load(nested ? around(std::move(graph)) : std::move(graph));
  auto tried = app.try_invoke(hi);
  BOOST_REQUIRE(!tried);
  check_facts(tried.error());
  std::optional<error> thrown;
  try {
    app.invoke(hi);
  } catch (const error& e) {
    thrown = e;
  }
  BOOST_REQUIRE(thrown);
  check_facts(*thrown);
  auto parts = app.stream(hi, {}, {stream_mode::messages});
  auto next = parts.try_next();
  while (next && *next)
    next = parts.try_next();
  BOOST_REQUIRE(!next);
  check_facts(next.error());
}

BOOST_AUTO_TEST_CASE(an_error_that_is_not_a_models_has_no_such_facts) {
  BOOST_TEST(!model_facts(error{errc::node_failed, "x"}));
  BOOST_TEST(error(errc::node_failed, "x").details().is_null());
  auto other = error{errc::node_failed, "x"}.with_details(value{{"status", "later"}});
  BOOST_TEST(!model_facts(other));
  BOOST_TEST((other.details()["status"] == value("later")));
}

BOOST_AUTO_TEST_CASE(giving_up_reports_where_and_how_long_the_provider_asks_to_wait) {
  fake_provider server;
  refuse(server);
  runtime rt;
  auto failed = rt.load(agent_of("agent", server)).try_invoke(hi);
  BOOST_REQUIRE(!failed);
  BOOST_TEST(failed.error().message()
             == "node `model` of graph `support`: ask model `openai:m`: status 429, "
                "rate_limit_exceeded: slow down ("
                  + server.url()
                  + "/v1/chat/completions, request req_7); the provider asks to wait 600 s, longer "
                    "than the 120 s that a call waits");
}

BOOST_AUTO_TEST_CASE(an_address_is_shown_without_name_password_and_query) {
  auto messages = value::list();
  hidden_texts hidden{"", messages};
  model_error raw{errc::invalid_value, "no", "NotFoundError", {.status = 404}};
  BOOST_TEST(told_error("openai:m", raw, hidden, "https://me:word@host:8/a/b?key=x#y").message()
             == "ask model `openai:m`: status 404: no (https://host:8/a/b)");
  hidden_texts with_key{"sk-1234567", messages};
  BOOST_TEST(told_error("openai:m", raw, with_key, "https://host/sk-1234567/v1").message()
             == "ask model `openai:m`: status 404: no");
}

BOOST_AUTO_TEST_CASE(a_stream_that_begins_with_what_is_not_json_is_tried_again) {
  fake_provider server;
  test::http_reply broken{.headers = {{"Content-Type", "text/event-stream"}}, .chunked = true};
  broken.body.emplace_back(test::send_bytes{"data: {\"half\": \n\n"});
  server.then(test::replies(broken));
  server.then(says({.text = "hello"}));
  runtime rt;
  auto app = rt.load(create_react_agent({.model = model_of(server, 3)}));
  auto parts = app.stream(hi, {}, {stream_mode::messages});
  std::string text;
  while (auto part = parts.next())
    text += message_text(part->data[0]);
  BOOST_TEST(text == "hello");
  BOOST_TEST(server.requests().size() == 2u);
}

BOOST_AUTO_TEST_CASE(a_node_that_fails_is_named_with_its_graph) {
  state_graph<> g{{{"n", last_value}}};
  g.add_node("n", [](const state_view&) -> value { throw std::runtime_error{"it is out"}; });
  g.add_edge(START, "n");
  runtime rt;
  auto failed = rt.load(g.compile({.name = "shop"})).try_invoke(value{{"n", 1}});
  BOOST_REQUIRE(!failed);
  BOOST_TEST(failed.error().message()
             == "node `n` of graph `shop` failed: std::runtime_error: it is out");
  BOOST_TEST(failed.error().text() == "it is out");
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
