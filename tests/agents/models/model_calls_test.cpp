// Calls of models over HTTP: what goes out with them, how long a server is waited for, and what is
// never said.
#include "tests/fixtures/coroutine_body.hpp"
#include "tests/fixtures/full_port.hpp"
#include "tests/provider/fake_provider.hpp"

#include <troupe/agents/model_providers.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <stdlib.h>

#include <algorithm>
#include <string>
#include <vector>

namespace troupe {
namespace {

using namespace std::chrono_literals;
namespace data = boost::unit_test::data;
using test::fails;
using test::fake_provider;
using test::says;

constexpr auto call_key = "sk-calls-0123456789";

struct key_in_environment {
  key_in_environment() { setenv("TROUPE_TEST_CALL_KEY", call_key, 1); }
  ~key_in_environment() { unsetenv("TROUPE_TEST_CALL_KEY"); }
};

chat_model_options options_at(const std::string& url) {
  return {.base_url = url,
          .api_key_variable = "TROUPE_TEST_CALL_KEY",
          .retry_first = 1ms,
          .retry_max = 2ms};
}

// The result of a call, or its failure.
struct called {
  std::string text;
  std::string failure;
  std::optional<model_error> error;
};

called call_model(chat_model& model, model_request request, const run_config& config = {}) {
  runtime rt;
  called out;
  auto how = test::try_body(
    rt,
    [&](context& ctx) -> coro<value> {
      try {
        auto asked = model.invoke(request, ctx);
        auto answer = co_await asked;
        out.text = message_text(answer);
      } catch (const model_error& e) {
        out.error = e;
        throw;
      }
      co_return value{};
    },
    config);
  if (!how)
    out.failure = how.error().message();
  return out;
}

model_request greeting() {
  return model_request{value::list({human_message("hello there")})};
}

model_request streamed_greeting() {
  auto out = greeting();
  out.on_part = [](const value&) {};
  return out;
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(agents_model_calls, key_in_environment)

BOOST_AUTO_TEST_CASE(a_request_has_headers_of_its_own_behind_the_model_s) {
  fake_provider server;
  server.always(says({.text = "hi"}));
  auto options = options_at(server.url());
  options.headers = {{"X-Model", "m"}};
  auto model = init_chat_model("anthropic:m", options);
  auto request = greeting();
  request.headers = {{"X-Stainless-Helper", "compaction"}};
  BOOST_TEST(call_model(*model, request).text == "hi");
  BOOST_TEST(call_model(*model, greeting()).text == "hi");
  auto seen = server.requests();
  BOOST_TEST(seen[0].header_of("x-stainless-helper") == "compaction");
  BOOST_TEST(seen[0].header_of("x-model") == "m");
  BOOST_TEST(seen[1].header_of("x-stainless-helper").empty());
}

BOOST_AUTO_TEST_CASE(tools_of_anthropic_s_bring_their_betas_each_once) {
  fake_provider server;
  server.always(says({.text = "hi"}));
  auto options = options_at(server.url());
  options.headers = {{"Anthropic-Beta", "files-api, computer-use-2025-11-24"}};
  auto request = greeting();
  request.headers = {{"anthropic-beta", "other"}};
  auto of_type = [](const char* type) { return value{{"type", type}, {"name", type}}; };
  request.tools =
    value::list({of_type("memory_20250818"), of_type("computer_20251124"),
                 of_type("tool_search_tool_bm25_20251119"),
                 of_type("tool_search_tool_regex_20251119"), of_type("bash_20250124")});
  call_model(*init_chat_model("anthropic:m", options), request);
  auto seen = server.requests().at(0);
  BOOST_TEST(seen.header_of("anthropic-beta")
             == "files-api, computer-use-2025-11-24,other,context-management-2025-06-27,"
                "advanced-tool-use-2025-11-20");
  auto betas = std::ranges::count_if(seen.headers, [](const auto& header) {
    return header.first.size() == std::string_view{"anthropic-beta"}.size()
           && header.first.ends_with("eta");
  });
  BOOST_TEST(betas == 1);
  call_model(*init_chat_model("openai:m", options_at(server.url())), greeting());
  BOOST_TEST(server.requests().at(1).header_of("anthropic-beta").empty());
}

BOOST_AUTO_TEST_CASE(a_header_that_would_be_more_than_one_is_refused_and_nothing_sent) {
  fake_provider server;
  auto model = init_chat_model("openai:m", options_at(server.url()));
  auto request = greeting();
  request.headers = {{"X-Note", "a\r\nX-Other: b"}};
  auto got = call_model(*model, request);
  BOOST_REQUIRE(got.error);
  BOOST_TEST((got.error->code() == errc::invalid_value));
  BOOST_TEST(!got.error->may_try_again());
  BOOST_TEST(server.requests().empty());
}

BOOST_DATA_TEST_CASE(a_model_is_asked_through_the_proxy_that_its_options_name,
                     data::make({false, true}), stream) {
  fake_provider proxy;
  proxy.always(says({.text = "through"}));
  auto options = options_at("http://model.invalid/v1");
  options.proxy = proxy.url();
  auto model = init_chat_model("openai:m", options);
  BOOST_TEST(call_model(*model, stream ? streamed_greeting() : greeting()).text == "through");
  BOOST_TEST(proxy.requests().at(0).target == "http://model.invalid/v1/chat/completions");
  options.proxy = "http://user:secret@127.0.0.1:1";
  try {
    init_chat_model("openai:m", options);
    BOOST_FAIL("a name and password in a proxy's address");
  } catch (const error& e) {
    BOOST_TEST((e.code() == errc::invalid_config));
    BOOST_TEST(e.message().find("secret") == std::string::npos);
  }
}

// ---- waiting --------------------------------------------------------------------------------

BOOST_DATA_TEST_CASE(
  a_server_that_wants_to_be_left_alone_longer_than_the_call_lasts_is_not_asked_again,
  data::make({"Retry-After", "retry-after-ms"}), header) {
  fake_provider server;
  server.always(fails(429, "later", {{header, "60000"}})); // a minute, or much longer
  auto options = options_at(server.url());
  options.timeout = 30s;
  auto model = init_chat_model("anthropic:m", options);
  auto got = call_model(*model, greeting());
  BOOST_REQUIRE(got.error);
  BOOST_TEST(got.error->type() == "RateLimitError");
  BOOST_TEST(server.requests().size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_connection_that_is_not_made_in_time_is_a_time_out) {
  test::full_port nobody;
  auto options = options_at(nobody.url());
  options.connect_timeout = 20ms;
  options.attempts_max = 2;
  auto got = call_model(*init_chat_model("anthropic:m", options), streamed_greeting());
  BOOST_REQUIRE(got.error);
  BOOST_TEST(got.error->type() == "APITimeoutError");
  BOOST_TEST(got.error->kind() == "timeout");
  BOOST_TEST((got.error->code() == errc::node_timeout));
  BOOST_TEST(got.failure.find("no connection in time") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_call_that_is_cancelled_between_two_words_ends_there) {
  fake_provider server;
  test::gate rest;
  server.always(says({.text = "one two three"}, {.before_event = rest, .gated_from = 4}));
  auto model = init_chat_model("anthropic:m", options_at(server.url()));
  run_control control;
  run_config config;
  config.control = control;
  auto request = greeting();
  request.on_part = [&control](const value&) { control.cancel(); };
  auto got = call_model(*model, request, config);
  BOOST_TEST(got.text.empty());
  BOOST_TEST(!got.failure.empty());
  BOOST_TEST(server.requests().size() == 1u); // and no further attempt
  server.wait_for_closed(1);
}

BOOST_AUTO_TEST_CASE(a_connection_that_closes_between_two_calls_is_no_failure) {
  fake_provider server;
  auto model = init_chat_model("anthropic:m", options_at(server.url()));
  for (int i = 0; i < 3; ++i) {
    server.then(says({.text = "bye"}, {.close = true}));
    BOOST_TEST(call_model(*model, streamed_greeting()).text == "bye");
  }
}

// ---- what is never said ---------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(no_failure_says_the_key_whatever_it_is) {
  const std::vector<std::function<void(fake_provider&)>> failures{
    [](auto& s) { s.always(fails(401, std::string{"bad key "} + call_key)); },
    [](auto& s) { s.always(fails(400, std::string{"starts like "} + "sk-cal***")); },
    [](auto& s) {
      s.always(
        test::replies({.status = 500, .body = {test::send_bytes{std::string{"<p>"} + call_key}}}));
    },
    [](auto& s) {
      s.always(test::replies(
        {.status = 429,
         .headers = {{"request-id", call_key}},
         .body = {test::send_bytes{std::string{R"({"error":{"type":")"} + call_key
                                   + R"(","message":")" + std::string{call_key} + "\"}}"}}}));
    },
    [](auto& s) { s.always(test::raw({test::hang_up{true}})); },
    [](auto& s) {
      s.always(test::replies(
        {.headers = {{"Content-Type", "text/event-stream"}},
         .body = {test::send_bytes{"event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":"
                                   "\"api_error\",\"message\":\""
                                   + std::string{call_key} + "\"}}\n\n"}}}));
    },
  };
  for (const auto& fail : failures)
    for (const auto* provider : {"anthropic:m", "openai:m"}) {
      fake_provider server;
      fail(server);
      auto got = call_model(*init_chat_model(provider, options_at(server.url())),
                            streamed_greeting());
      BOOST_TEST(!got.failure.empty());
      BOOST_TEST(got.failure.find("sk-cal") == std::string::npos, got.failure);
      BOOST_REQUIRE(got.error);
      for (const auto& text : {got.error->message(), got.error->kind(), got.error->request_id()})
        BOOST_TEST(text.find("sk-cal") == std::string::npos, text);
    }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
