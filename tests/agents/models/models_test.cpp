// Chat models over HTTP, against a provider that answers by a script; and what is put around
// models.
#include "tests/fixtures/coroutine_body.hpp"
#include "tests/provider/fake_provider.hpp"

#include <troupe/agents/agent.hpp>
#include <troupe/agents/middleware.hpp>
#include <troupe/agents/model_providers.hpp>
#include <troupe/agents/react_agent.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <stdlib.h>

#include <string>
#include <thread>
#include <vector>

namespace troupe {
namespace {

using namespace std::chrono_literals;
namespace data = boost::unit_test::data;
using test::delivery;
using test::fails;
using test::fake_provider;
using test::says;

constexpr auto model_key = "sk-test-0123456789";
const std::vector<std::string> both_providers{"anthropic", "openai"};

struct models_fixture {
  models_fixture() { setenv("TROUPE_TEST_MODEL_KEY", model_key, 1); }
  ~models_fixture() { unsetenv("TROUPE_TEST_MODEL_KEY"); }
};

chat_model_options at(const fake_provider& server, const std::string& provider) {
  return {.base_url = server.url() + (provider == "openai" ? "/v1" : ""),
          .api_key_variable = "TROUPE_TEST_MODEL_KEY",
          .retry_first = 1ms,
          .retry_max = 2ms};
}

chat_model_ptr model_at(const fake_provider& server, const std::string& provider) {
  return init_chat_model(provider + ":m", at(server, provider));
}

// One call: the answer, the parts that a reader was given, and what was thrown.
struct asked {
  value answer;
  std::vector<value> parts;
  std::optional<model_error> failure;
  std::optional<error> other;

  std::string text() const { return message_text(answer); }
  std::string kind() const { return failure ? failure->kind() : "no failure"; }
};

asked ask(chat_model& model, bool stream, const run_config& config = {},
          node_options options = {}) {
  runtime rt;
  asked out;
  auto how = test::try_body(
    rt,
    [&](context& ctx) -> coro<value> {
      model_request request{value::list({human_message("hello there")})};
      if (stream)
        request.on_part = [&out](const value& part) { out.parts.push_back(part); };
      try {
        auto call = model.invoke(std::move(request), ctx);
        out.answer = co_await call;
      } catch (const model_error& e) {
        out.failure = e;
      }
      co_return value{};
    },
    config, std::move(options));
  if (!how)
    out.other = how.error();
  return out;
}

const test::model_answer hello{.text = "Grüße an alle", .id = "id_1"};

} // namespace

BOOST_FIXTURE_TEST_SUITE(agents_models, models_fixture)

// ---- answers ------------------------------------------------------------------------------------

BOOST_DATA_TEST_CASE(a_model_answers_whole_and_in_parts_whose_sum_is_the_answer,
                     data::make(both_providers) * data::make({false, true}), provider, stream) {
  fake_provider server;
  server.always(says({.text = "Grüße an alle",
                      .calls = {{.id = "c1", .name = "add", .arguments = R"({"a": 1})"},
                                {.id = "c2", .name = "add", .arguments = R"({"a": 2})"}},
                      .usage = {.input = 10, .output = 5, .cache_read = 2}}));
  auto model = model_at(server, provider);
  auto got = ask(*model, stream);
  BOOST_TEST(got.text() == "Grüße an alle");
  const auto& calls = message_tool_calls(got.answer);
  BOOST_TEST(calls.size() == 2u);
  BOOST_TEST((calls[1]["args"] == value{{"a", 2}}));
  BOOST_TEST((calls[1]["id"] == value("c2")));
  BOOST_TEST((message_member(got.answer, "usage")["output_tokens"] == value(5)));
  BOOST_TEST(
    (message_member(got.answer, "usage")["input_token_details"]["cache_read"] == value(2)));
  BOOST_TEST(got.parts.empty() != stream);
  if (stream)
    BOOST_TEST(to_json(join_chunks(got.parts)) == to_json(got.answer));
  auto seen = server.requests().at(0);
  BOOST_TEST((seen.body["stream"] == value(true)) == stream);
  BOOST_TEST(model->name() == provider + ":m");
}

BOOST_AUTO_TEST_CASE(each_provider_gets_the_key_where_it_looks_for_it) {
  fake_provider server;
  server.always(says(hello));
  ask(*model_at(server, "anthropic"), false);
  ask(*model_at(server, "openai"), false);
  auto options = at(server, "anthropic");
  options.bearer_key = true;
  options.api_version = "2026-10-21";
  options.headers = {{"anthropic-beta", "x"}};
  ask(*init_chat_model("anthropic:m", options), false);
  options.api_key_variable = "TROUPE_TEST_NO_SUCH_KEY"; // not needed here
  ask(*init_chat_model("anthropic:m", options), false);
  auto seen = server.requests();
  BOOST_TEST(seen[0].target == "/v1/messages");
  BOOST_TEST(seen[0].header_of("x-api-key") == model_key);
  BOOST_TEST(seen[0].header_of("anthropic-version") == "2023-06-01");
  BOOST_TEST(seen[1].target == "/v1/chat/completions");
  BOOST_TEST(seen[1].header_of("authorization") == std::string{"Bearer "} + model_key);
  BOOST_TEST(seen[2].header_of("authorization") == std::string{"Bearer "} + model_key);
  BOOST_TEST(seen[2].header_of("x-api-key").empty());
  BOOST_TEST(seen[2].header_of("anthropic-version") == "2026-10-21");
  BOOST_TEST(seen[2].header_of("anthropic-beta") == "x");
  BOOST_TEST(seen[3].header_of("authorization").empty());
}

BOOST_DATA_TEST_CASE(streams_are_read_however_they_are_cut_and_connections_used_again,
                     data::make(both_providers), provider) {
  fake_provider server;
  auto model = model_at(server, provider);
  for (std::size_t bytes : {1u, 2u, 5u, 1000u}) {
    server.then(says(hello, {.chunk_bytes = bytes}));
    BOOST_TEST(ask(*model, true).text() == hello.text);
  }
  BOOST_TEST(server.connections() == 1u);
}

BOOST_DATA_TEST_CASE(a_server_that_does_not_stream_though_it_was_asked_to_is_understood,
                     data::make(both_providers), provider) {
  fake_provider server;
  server.always(says(hello, {.stream = false}));
  auto got = ask(*model_at(server, provider), true);
  BOOST_TEST(got.text() == hello.text);
  BOOST_TEST(got.parts.empty());
}

BOOST_AUTO_TEST_CASE(parts_come_before_the_answer_is_whole) {
  fake_provider server;
  test::gate rest;
  server.always(says(hello, {.before_event = rest, .gated_from = 4}));
  auto model = model_at(server, "anthropic");
  runtime rt;
  std::size_t at_first = 0;
  auto how = test::try_body(rt, [&](context& ctx) -> coro<value> {
    model_request request{value::list({human_message("x")})};
    request.on_part = [&](const value&) {
      if (at_first++ == 0)
        rest.open(); // would hang if parts were kept to the end
    };
    auto call = model->invoke(std::move(request), ctx);
    auto answer = co_await call;
    co_return value(message_text(answer));
  });
  BOOST_TEST((how.value() == value(hello.text)));
}

BOOST_AUTO_TEST_CASE(an_agent_calls_its_tools_over_http) {
  fake_provider server;
  server.then(says({.calls = {{.id = "c1", .name = "add", .arguments = R"({"a": 41})"}}}));
  server.then(says({.text = "It is 42"}));
  runtime rt;
  tool add{"add", "Adds one", [](arg<"a", std::int64_t> a) { return *a + 1; }};
  auto agent = rt.load(create_react_agent({.model = model_at(server, "openai"), .tools = {add}}));
  auto out = agent.invoke(value{{"messages", value::list({human_message("41 + 1?")})}}).value();
  BOOST_TEST(message_text(out["messages"][3]) == "It is 42");
  auto second = server.requests().at(1).body["messages"];
  BOOST_TEST((second[2]["content"] == value("42")));
  BOOST_TEST((second[2]["tool_call_id"] == value("c1")));
}

BOOST_DATA_TEST_CASE(schemas_of_tools_are_sent_as_they_are, data::make(both_providers), provider) {
  fake_provider server;
  server.always(says(hello));
  auto model = model_at(server, provider);
  auto schema = value::map(
    {{"type", "object"}, {"properties", value::map({{"a", value::map({{"$ref", "#/x"}})}})}});
  runtime rt;
  test::try_body(rt, [&](context& ctx) -> coro<value> {
    model_request request{value::list({human_message("x")})};
    request.tools = value::list({value::map({{"name", "f"}, {"parameters", schema}})});
    auto call = model->invoke(std::move(request), ctx);
    co_return co_await call;
  }).value();
  BOOST_TEST(server.requests().at(0).text.find(R"({"$ref": "#/x"})") != std::string::npos);
}

// ---- attempts -----------------------------------------------------------------------------------

BOOST_DATA_TEST_CASE(what_may_go_away_by_itself_is_tried_again,
                     data::make({408, 409, 429, 500, 502, 529}) * data::make({false, true}), status,
                     stream) {
  fake_provider server;
  server.then(fails(status, "later"));
  server.then(fails(status, "later"));
  server.then(says(hello));
  BOOST_TEST(ask(*model_at(server, "anthropic"), stream).text() == hello.text);
  BOOST_TEST(server.requests().size() == 3u);
}

BOOST_DATA_TEST_CASE(what_stays_is_told_at_once, data::make({400, 401, 403, 404, 413, 422}),
                     status) {
  fake_provider server;
  server.always(fails(status, "no"));
  auto got = ask(*model_at(server, "openai"), true);
  BOOST_REQUIRE(got.failure);
  BOOST_TEST(got.failure->status() == status);
  BOOST_TEST(got.failure->message().find("openai:m") != std::string::npos);
  BOOST_TEST(server.requests().size() == 1u);
}

BOOST_AUTO_TEST_CASE(attempts_end_with_the_last_error_and_its_facts) {
  fake_provider server;
  server.always(fails(429, "slow down", {{"request-id", "req_7"}, {"Retry-After", "0.001"}}));
  auto got = ask(*model_at(server, "anthropic"), false);
  BOOST_REQUIRE(got.failure);
  BOOST_TEST(server.requests().size() == limits::model_attempts_default);
  BOOST_TEST(got.failure->kind() == "rate_limit_error");
  BOOST_TEST(got.failure->type() == "RateLimitError");
  BOOST_TEST(got.failure->request_id() == "req_7");
  BOOST_TEST((got.failure->retry_after() == 1ms));
  BOOST_TEST((got.failure->code() == errc::overloaded));
  BOOST_TEST(got.failure->message()
             == "ask model `anthropic:m`: status 429, rate_limit_error: slow down (" + server.url()
                  + "/v1/messages, request req_7); the provider asks to wait 1 ms");
}

BOOST_AUTO_TEST_CASE(a_server_decides_itself_whether_and_when_it_is_asked_again) {
  fake_provider server;
  auto model = model_at(server, "anthropic");
  server.then(fails(500, "x", {{"x-should-retry", "false"}}));
  BOOST_TEST(ask(*model, false).failure->status() == 500);
  server.then(fails(400, "x", {{"x-should-retry", "true"}}));
  server.then(says(hello));
  BOOST_TEST(ask(*model, false).text() == hello.text);
  server.then(fails(429, "x", {{"Retry-After", "121"}})); // longer than anybody should wait
  BOOST_TEST(ask(*model, false).failure->status() == 429);
  BOOST_TEST(server.requests().size() == 4u);
}

BOOST_DATA_TEST_CASE(a_stream_that_is_cut_is_tried_again_only_while_nothing_was_given,
                     data::make(both_providers) * data::make({false, true}), provider, reset) {
  fake_provider server;
  server.then(says(hello, {.cut_after = 10, .reset = reset}));
  server.then(says(hello));
  BOOST_TEST(ask(*model_at(server, provider), true).text() == hello.text);
  // In the middle of an event, after some words.
  auto whole = test::streamed_answer(
    test::format_of(provider == "openai" ? "/chat/completions" : "/messages"), hello);
  std::size_t bytes = 0;
  for (std::size_t i = 0; i + 3 < whole.size(); ++i)
    bytes += whole[i].size();
  server.then(says(hello, {.cut_after = bytes + 3, .reset = reset}));
  auto got = ask(*model_at(server, provider), true);
  BOOST_TEST(got.kind() == "connection");
  BOOST_TEST(!got.parts.empty());
  BOOST_TEST(server.requests().size() == 3u);
}

BOOST_AUTO_TEST_CASE(a_stream_that_ends_without_its_last_event_is_no_answer) {
  fake_provider server;
  auto events = test::streamed_answer(test::model_format::anthropic, hello);
  events.pop_back(); // message_stop
  test::http_reply reply{.headers = {{"Content-Type", "text/event-stream"}}, .chunked = true};
  for (const auto& event : events)
    reply.body.emplace_back(test::send_bytes{event});
  server.always(test::replies(reply));
  auto got = ask(*model_at(server, "anthropic"), true);
  BOOST_TEST(got.kind() == "connection");
  BOOST_TEST(got.failure->message().find("before the end of the answer") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(an_overloaded_event_before_the_first_word_is_tried_again) {
  fake_provider server;
  const std::string overloaded =
    "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\","
    "\"message\":\"Overloaded\"}}\n\n";
  test::http_reply reply{.headers = {{"Content-Type", "text/event-stream"}},
                         .body = {test::send_bytes{overloaded}}};
  server.then(test::replies(reply));
  server.then(says(hello));
  BOOST_TEST(ask(*model_at(server, "anthropic"), true).text() == hello.text);
  auto events = test::streamed_answer(test::model_format::anthropic, hello);
  reply.body = {test::send_bytes{events[0] + events[1] + events[2] + events[3] + overloaded}};
  server.then(test::replies(reply));
  auto got = ask(*model_at(server, "anthropic"), true);
  BOOST_TEST(got.kind() == "overloaded_error");
  BOOST_TEST(server.requests().size() == 3u);
}

BOOST_AUTO_TEST_CASE(nobody_there_is_a_connection_error_after_all_attempts) {
  auto model = [] {
    fake_provider gone;
    return model_at(gone, "openai");
  }();
  auto got = ask(*model, true);
  BOOST_TEST(got.kind() == "connection");
  BOOST_TEST(got.failure->type() == "APIConnectionError");
}

BOOST_AUTO_TEST_CASE(middleware_does_not_try_again_what_a_provider_calls_final) {
  fake_provider server;
  auto options = at(server, "anthropic");
  options.attempts_max = 1;
  for (const auto& [status, requests] : {std::pair{400, 1u}, {500, 3u}}) {
    server.always(fails(status));
    auto before = server.requests().size();
    runtime rt;
    auto agent = rt.load(create_agent({.model = init_chat_model("anthropic:m", options),
                                       .middleware = {model_retry({.delay = 1ms})}}));
    auto how = agent.try_invoke(value{{"messages", value::list({human_message("x")})}});
    BOOST_TEST(!how.has_value());
    BOOST_TEST(server.requests().size() - before == requests);
  }
}

// ---- time ---------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_first_word_and_the_next_ones_have_their_bounds_and_so_has_the_call) {
  fake_provider server;
  test::gate never;
  auto options = at(server, "anthropic");
  options.attempts_max = 1;
  auto kind_of = [&](auto change, delivery how, bool stream) {
    server.then(says(hello, std::move(how)));
    auto changed = options;
    change(changed);
    auto got = ask(*init_chat_model("anthropic:m", changed), stream);
    BOOST_REQUIRE(got.failure);
    BOOST_TEST((got.failure->code() == errc::node_timeout));
    return got.failure->message();
  };
  auto first = [](auto& o) { o.first_token_timeout = 20ms; };
  BOOST_TEST(kind_of(first, {.before_head = never}, true).find("did not begin")
             != std::string::npos);
  BOOST_TEST(kind_of(first, {.before_event = never, .gated_from = 3}, true).find("did not begin")
             != std::string::npos); // message_start does not begin the answer
  auto idle = [](auto& o) { o.idle_timeout = 20ms; };
  BOOST_TEST(kind_of(idle, {.before_event = never, .gated_from = 4}, true).find("stopped before")
             != std::string::npos);
  auto total = [](auto& o) { o.timeout = 20ms; };
  BOOST_TEST(kind_of(total, {.before_head = never}, false).find("the whole request")
             != std::string::npos);
}

BOOST_DATA_TEST_CASE(a_call_ends_with_its_node, data::make({false, true}), while_it_waits) {
  fake_provider server;
  test::gate never;
  auto options = at(server, "anthropic");
  if (while_it_waits) { // for its next attempt
    options.retry_first = options.retry_max = 1h;
    options.timeout = 10h;
    server.always(fails(500));
  } else {
    server.always(test::never_ends());
  }
  auto model = init_chat_model("anthropic:m", options);
  run_control control;
  run_config config;
  config.control = control;
  std::thread canceller{[&] {
    server.wait_for_requests(1);
    control.cancel();
  }};
  auto got = ask(*model, true, config);
  canceller.join();
  BOOST_REQUIRE(got.other);
  BOOST_TEST((got.other->code() == errc::cancelled));
  if (!while_it_waits)
    server.wait_for_closed(1);
}

// ---- answers that are not valid ----------------------------------------------------------------

BOOST_DATA_TEST_CASE(what_is_no_json_is_told_and_tried_again_only_in_a_stream_that_gave_nothing,
                     data::make(both_providers) * data::make({false, true}), provider, stream) {
  fake_provider server;
  test::http_reply reply{
    .headers = {{"Content-Type", stream ? "text/event-stream" : "application/json"}},
    .body = {test::send_bytes{"event: x\ndata: {\"a\": \n\n"}}};
  server.always(test::replies(reply));
  BOOST_TEST(ask(*model_at(server, provider), stream).kind() == "broken_answer");
  BOOST_TEST(server.requests().size() == (stream ? limits::model_attempts_default : 1u));
}

BOOST_DATA_TEST_CASE(an_answer_of_more_than_its_bound_is_not_read_to_its_end,
                     data::make({false, true}), stream) {
  fake_provider server;
  auto piece = "data: {\"choices\":[{\"delta\":{\"content\":\"" + std::string(60'000, 'x')
               + "\"}}]}\n\n";
  server.always(
    test::replies({.headers = {{"Content-Type", stream ? "text/event-stream" : "application/json"}},
                   .body = {test::send_again{piece}}, // no end
                   .chunked = true}));
  auto got = ask(*model_at(server, "openai"), stream);
  BOOST_TEST(got.kind() == "too_large");
  BOOST_TEST(server.requests().size() == 1u);
  server.wait_for_closed(1);
}

BOOST_AUTO_TEST_CASE(neither_the_key_nor_the_prompt_is_in_an_error) {
  fake_provider server;
  server.then(fails(401, std::string{"Incorrect API key provided: "} + model_key));
  server.then(fails(400, "cannot read: hello there"));
  auto model = model_at(server, "openai");
  BOOST_TEST(ask(*model, false).failure->message().find("sk-test") == std::string::npos);
  BOOST_TEST(ask(*model, false).failure->message().find("hello") == std::string::npos);
}

// ---- making models ------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(models_are_found_by_name_and_what_is_wrong_is_named) {
  auto told = [](std::string_view name, const chat_model_options& options = {}) {
    try {
      init_chat_model(name, options);
    } catch (const error& e) {
      BOOST_TEST((e.code() == errc::invalid_config));
      return e.message();
    }
    return std::string{"no error"};
  };
  auto has = [](const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
  };
  unsetenv("ANTHROPIC_API_KEY");
  unsetenv("ANTHROPIC_BASE_URL");
  BOOST_TEST(has(told("acme:x"), "anthropic, echo, openai"));
  BOOST_TEST(has(told("anthropic"), "the name of the model is missing"));
  BOOST_TEST(has(told("openai:"), "the name of the model is missing"));
  BOOST_TEST(has(told("anthropic:m"), "ANTHROPIC_API_KEY"));
  BOOST_TEST(has(told("anthropic:m", {.api_key_variable = "TROUPE_NO_KEY"}), "TROUPE_NO_KEY"));
  for (const char* bad : {"sk-1\nX: y", "sk-1\r", "sk 1", "sk-\x01", "sk-ü"}) {
    setenv("TROUPE_TEST_MODEL_KEY", bad, 1);
    auto text = told("anthropic:m", {.api_key_variable = "TROUPE_TEST_MODEL_KEY"});
    BOOST_TEST(has(text, "TROUPE_TEST_MODEL_KEY"));
    BOOST_TEST(!has(text, "sk"));
  }
  for (const char* url : {"ftp://x", "x", "http://u:p@x", "http://a b"})
    BOOST_TEST(told("openai:m", {.base_url = url}) != "no error");
  const std::string local = "http://127.0.0.1:1/v1";
  BOOST_TEST(told("openai:m", {.base_url = local}) == "no error");
  BOOST_TEST(has(told("openai:m", {.base_url = local, .idle_timeout = 0ms}), "time-out"));
  BOOST_TEST(has(told("openai:m", {.base_url = local, .attempts_max = 0}), "attempts_max"));
  BOOST_TEST(
    has(told("openai:m", {.base_url = local, .attempts_max = limits::model_attempts_max + 1}),
        "attempts_max"));
  BOOST_TEST(told("openai:m", {.base_url = local, .attempts_max = limits::model_attempts_max})
             == "no error");
  BOOST_TEST(told("openai:m", {.base_url = local, .max_tokens = 0}) != "no error");
  BOOST_TEST(told("openai:m", {.base_url = local, .headers = {{"A", "b\nc"}}}) != "no error");
  BOOST_TEST(init_chat_model("echo")->name() == "echo");
}

BOOST_AUTO_TEST_CASE(the_environment_says_where_a_provider_is_unless_the_options_do) {
  fake_provider server;
  server.always(says(hello));
  setenv("OPENAI_BASE_URL", (server.url() + "/v1/").c_str(), 1);
  auto from_environment = init_chat_model("openai:m");
  unsetenv("OPENAI_BASE_URL");
  BOOST_TEST(ask(*from_environment, false).text() == hello.text);
  setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1", 1);
  auto from_options = model_at(server, "anthropic");
  unsetenv("ANTHROPIC_BASE_URL");
  BOOST_TEST(ask(*from_options, false).text() == hello.text);
}

// ---- wrappers -----------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_rate_limiter_gives_a_burst_and_then_a_turn_each_interval) {
  rate_limiter limiter{10.0, 3.0};
  rate_limiter::clock::time_point now{1h};
  for (int i = 0; i < 3; ++i)
    BOOST_TEST((limiter.take_turn(now) == 0ns));
  BOOST_TEST((limiter.take_turn(now) == 100ms));
  BOOST_TEST((limiter.take_turn(now) == 200ms));
  BOOST_TEST((limiter.take_turn(now + 150ms) == 150ms));
  BOOST_TEST((limiter.take_turn(now + 1h) == 0ns)); // rested
  for (int i = 0; i < 2; ++i)
    BOOST_TEST((limiter.take_turn(now + 1h) == 0ns)); // and no more than a burst
  BOOST_TEST((limiter.take_turn(now + 1h) == 100ms));
  for (const auto& [rate, burst] :
       {std::pair{0.0, 1.0}, {-1.0, 1.0}, {1.0, 0.5}, {1e-7, 1.0}, {1.0, 1e300}, {0.0 / 0.0, 1.0}})
    BOOST_CHECK_THROW(rate_limiter(rate, burst), error);
}

BOOST_AUTO_TEST_CASE(models_share_a_limiter) {
  auto limiter = std::make_shared<rate_limiter>(1e-3, 2.0); // then nothing for a quarter of an hour
  auto one = with_rate_limit(std::make_shared<echo_model>(), limiter);
  auto other = with_rate_limit(std::make_shared<echo_model>(), limiter);
  BOOST_TEST(ask(*one, false).text() == "hello there");
  BOOST_TEST(ask(*other, false).text() == "hello there");
  auto third = ask(*one, false, {}, {.timeout = timeout_policy{10ms}});
  BOOST_TEST((third.other->code() == errc::node_timeout));
}

BOOST_AUTO_TEST_CASE(fallbacks_are_asked_in_order_until_one_answers) {
  fake_provider down;
  down.always(fails(400, "no"));
  fake_provider up;
  up.always(says(hello));
  auto model = with_fallbacks(model_at(down, "anthropic"),
                              {model_at(down, "openai"), model_at(up, "openai")});
  BOOST_TEST(ask(*model, true).text() == hello.text);
  BOOST_TEST(down.requests().size() == 2u);
  auto hopeless = with_fallbacks(model_at(down, "anthropic"), {model_at(down, "openai")});
  BOOST_TEST(ask(*hopeless, false).failure->message().find("openai:m") != std::string::npos);
  BOOST_CHECK_THROW(with_fallbacks(nullptr, {}), error);
  std::vector<chat_model_ptr> many(limits::model_fallbacks_max, model_at(up, "openai"));
  with_fallbacks(model_at(up, "openai"), many);
  many.push_back(many[0]);
  BOOST_CHECK_THROW(with_fallbacks(model_at(up, "openai"), many), error);
}

BOOST_AUTO_TEST_CASE(once_a_part_was_given_nobody_else_is_asked) {
  fake_provider server;
  auto events = test::streamed_answer(test::model_format::anthropic, hello);
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < 5; ++i)
    bytes += events[i].size();
  server.always(says(hello, {.cut_after = bytes}));
  fake_provider other;
  other.always(says(hello));
  auto model = with_fallbacks(model_at(server, "anthropic"), {model_at(other, "openai")});
  BOOST_TEST(ask(*model, true).kind() == "connection");
  BOOST_TEST(other.requests().empty());
}

BOOST_AUTO_TEST_CASE(wrappers_keep_what_is_bound) {
  tool add{"add", "Adds one", [](arg<"a", std::int64_t> a) { return *a + 1; }};
  auto limiter = std::make_shared<rate_limiter>(1000.0, 1000.0);
  auto bound = bind_tools(std::make_shared<echo_model>(), {add});
  auto wrapped = with_fallbacks(with_rate_limit(bound, limiter), {});
  BOOST_TEST(wrapped->bound_tools().size() == 1u);
  auto bare = wrapped->unbound();
  BOOST_REQUIRE(bare);
  BOOST_TEST(bare->bound_tools().is_null());
  BOOST_TEST(!bare->unbound());
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
