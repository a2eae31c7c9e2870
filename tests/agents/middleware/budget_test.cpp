// Sums of use, prices, and budgets.
#include <troupe/agents/budgets.hpp>
#include <troupe/agents/middleware.hpp>
#include <troupe/runtime.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <unistd.h>

namespace troupe {
namespace {

using budget_script = std::vector<scripted_model::answer>;

value priced(const value& message, std::int64_t input, std::int64_t output) {
  return value::extension(
    value_kind::message,
    message.payload().with("usage", value{{"input_tokens", input}, {"output_tokens", output}}));
}

value priced_call(const std::string& id, std::int64_t input = 90, std::int64_t output = 10) {
  return priced(ai_message("", {{.name = "add", .args = value{{"a", 1}}, .id = id}}), input,
                output);
}

value final_answer() {
  return priced(ai_message("done"), 90, 10);
}

const value price_json{
  {"currency", "EUR"},
  {"models",
   {{"test:", {{"input", 1.0}, {"output", 2.0}}},
    {"test:big",
     {{"input", 10.0}, {"output", 20.0}, {"cache_read", 1.0}, {"cache_write", 12.0}}}}}};

std::shared_ptr<const price_list> prices() {
  return std::make_shared<price_list>(price_json);
}

compiled_graph budgeted(usage_budget_options options, budget_script script,
                        std::shared_ptr<std::atomic<int>> ran = nullptr) {
  auto add = tool{"add",
                  "",
                  [ran](arg<"a", std::int64_t> a) {
                    if (ran)
                      ++*ran;
                    return *a + 1;
                  },
                  {.lane = lane::standard}};
  return create_agent({.model = std::make_shared<scripted_model>(
                         std::move(script), scripted_options{.name = "test:big"}),
                       .tools = {add},
                       .middleware = {usage_budget(std::move(options))},
                       .name = "worker"});
}

value budget_hello() {
  return value{{"messages", value::list({human_message("hi")})}};
}

} // namespace

BOOST_AUTO_TEST_SUITE(agents_budget)

// ---- sums and prices ----------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(the_use_of_an_answer_has_tokens_calls_and_cost) {
  auto answer = value::extension(
    value_kind::message,
    priced_call("1").payload().with(
      "usage",
      value{{"input_tokens", 100},
            {"output_tokens", 10},
            {"input_token_details",
             {{"cache_read", 50}, {"cache_creation", 10}, {"ephemeral_1h_input_tokens", 10}}}}));
  auto list = prices();
  auto use = usage_of(answer, "test:big-1", list.get());
  BOOST_TEST(use.tokens() == 110);
  BOOST_TEST(use.cache_read_tokens == 50);
  BOOST_TEST(use.cache_write_tokens == 20);
  BOOST_TEST(use.model_calls == 1);
  BOOST_TEST(use.tool_calls == 1);
  BOOST_TEST(use.cost == (30 * 10.0 + 50 * 1.0 + 20 * 12.0 + 10 * 20.0) / 1'000'000);
  BOOST_TEST(usage_of(answer, "test:small", list.get()).cost == (100 * 1.0 + 10 * 2.0) / 1'000'000);
  BOOST_TEST(usage_of(answer, "other:m", list.get()).cost == 0);
  BOOST_TEST(usage_of(ai_message("no usage")).tokens() == 0);
  BOOST_TEST(list->currency() == "EUR");
  BOOST_TEST(!list->cost("other:m", use).has_value());
}

BOOST_AUTO_TEST_CASE(sums_survive_as_a_value) {
  auto use = usage_of(priced_call("1"), "test:big", prices().get());
  use.model_time = std::chrono::milliseconds{7};
  BOOST_TEST((value::of(use).as<usage_sums>() == use));
  BOOST_TEST((value{{"model_calls", "many"}, {"cost", -1.0}}.as<usage_sums>().model_calls == 0));
  BOOST_TEST(((use + use).tokens() == 200));
}

BOOST_AUTO_TEST_CASE(the_use_of_agents_is_that_of_their_answers) {
  auto by = [](const value& message, const char* name) {
    return value::extension(value_kind::message, message.payload().with("name", name));
  };
  auto sums = usage_by_agent(value::list({human_message("hi"), by(priced_call("1"), "a"),
                                          by(priced_call("2"), "b"), by(final_answer(), "a")}));
  BOOST_TEST(sums.size() == 2u);
  BOOST_TEST(sums["a"].tokens() == 200);
  BOOST_TEST(sums["a"].tool_calls == 1);
  BOOST_TEST(sums["b"].model_calls == 1);
}

BOOST_AUTO_TEST_CASE(malformed_prices_are_refused_with_their_place) {
  auto refused = [](const value& json, const std::string& why) {
    BOOST_CHECK_EXCEPTION(price_list{json}, error, [&](const error& e) {
      return e.code() == errc::invalid_config && e.message().find(why) != std::string::npos;
    });
  };
  refused(value::list(), "models");
  refused(value{{"models", {{"m", 1}}}}, "models.`m`");
  refused(value{{"models", {{"m", {{"input", -1}, {"output", 1}}}}}}, "models.`m`.input");
  refused(value{{"models", {{"m", {{"input", 1}}}}}}, "models.`m`.output");
  refused(value{{"models", value::map()}, {"currency", 1}}, "currency");
}

BOOST_AUTO_TEST_CASE(prices_are_read_from_a_file) {
  auto file = std::filesystem::temp_directory_path()
              / ("troupe-prices-" + std::to_string(::getpid()) + ".json");
  std::ofstream{file} << to_json(price_json);
  BOOST_TEST(price_list::of_file(file).currency() == "EUR");
  std::ofstream{file} << "{";
  BOOST_CHECK_THROW(price_list::of_file(file), error);
  std::filesystem::remove(file);
  BOOST_CHECK_EXCEPTION(price_list::of_file(file), error, [](const error& e) {
    return e.message().find("can't be read") != std::string::npos;
  });
}

BOOST_AUTO_TEST_CASE(a_bound_is_reached_by_a_sum_as_large_as_it) {
  usage_sums sums{.input_tokens = 90, .output_tokens = 10, .model_calls = 2, .cost = 0.5};
  BOOST_TEST(!reached_budget(sums, {}).has_value());
  BOOST_TEST(!reached_budget(sums, {.tokens = 101, .cost = 0.6}).has_value());
  auto over = reached_budget(sums, {.tokens = 100, .cost = 0.5});
  BOOST_REQUIRE(over.has_value());
  BOOST_TEST(over->what == "tokens");
  BOOST_TEST(over->spent == 100);
  BOOST_TEST(reached_budget(sums, {.cost = 0.5})->what == "cost");
  sums.model_time = std::chrono::milliseconds{9};
  BOOST_TEST(reached_budget(sums, {.time = std::chrono::milliseconds{9}})->what == "time");
  BOOST_TEST(reached_budget(sums, {.model_calls = 2})->bound == 2);
}

// ---- the middleware -----------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(use_is_summed_up_by_run_thread_and_agent) {
  runtime rt{{.saver = make_memory_saver()}};
  auto app =
    rt.load(budgeted({.prices = prices()}, {priced_call("1"), final_answer(), final_answer()}));
  run_config config{.thread_id = "t"};
  auto usage = app.invoke(budget_hello(), config).value()["usage"];
  BOOST_TEST((usage["run"]["model_calls"] == value(2)));
  BOOST_TEST((usage["run"]["tool_calls"] == value(1)));
  usage = app.invoke(budget_hello(), config).value()["usage"];
  BOOST_TEST((usage["run"]["input_tokens"] == value(90)));
  BOOST_TEST((usage["thread"]["input_tokens"] == value(270)));
  BOOST_TEST((usage["agents"]["worker"]["model_calls"] == value(3)));
  BOOST_TEST(usage["thread"].as<usage_sums>().cost == 3 * (90 * 10.0 + 10 * 20.0) / 1'000'000);
}

BOOST_AUTO_TEST_CASE(agents_of_a_team_with_the_channel_share_the_sums_of_the_thread) {
  auto member = [](const std::string& name, usage_budget_options options) {
    return create_agent({.model = std::make_shared<scripted_model>(budget_script{final_answer()}),
                         .middleware = {usage_budget(std::move(options))},
                         .name = name});
  };
  auto team = [&](const usage_budget_options& of_second) {
    state_graph<> g{{{"messages", add_messages}, {"usage", last_value}}};
    g.add_node("a", member("a", {}));
    g.add_node("b", member("b", of_second));
    g.add_edge(START, "a");
    g.add_edge("a", "b");
    return g.compile();
  };
  runtime rt;
  auto usage = rt.load(team({})).invoke(budget_hello()).value()["usage"];
  BOOST_TEST((usage["thread"]["input_tokens"] == value(180)));
  BOOST_TEST((usage["run"]["input_tokens"] == value(90))); // it begins anew with each agent
  BOOST_TEST((usage["agents"]["a"]["model_calls"] == value(1)));
  BOOST_TEST((usage["agents"]["b"]["model_calls"] == value(1)));
  auto ended = rt.load(team({.thread = {.tokens = 100}})).try_invoke(budget_hello());
  BOOST_REQUIRE(!ended);
  BOOST_TEST(budget_facts(ended.error())->scope == "thread");
}

BOOST_AUTO_TEST_CASE(a_budget_ends_the_run_after_its_step_and_a_larger_one_resumes_it) {
  runtime rt{{.saver = make_memory_saver()}};
  auto ran = std::make_shared<std::atomic<int>>(0);
  auto app = rt.load(
    budgeted({.run = {.tokens = 100}}, {priced_call("1"), priced_call("2"), final_answer()}, ran));
  run_config config{.thread_id = "t"};
  auto ended = app.try_invoke(budget_hello(), config);
  BOOST_REQUIRE(!ended);
  BOOST_TEST(ended.error().type() == "BudgetExceededError");
  auto facts = budget_facts(ended.error());
  BOOST_REQUIRE(facts.has_value());
  BOOST_TEST(facts->scope == "run");
  BOOST_TEST(facts->what == "tokens");
  BOOST_TEST(facts->spent == 100);
  BOOST_TEST(facts->bound == 100);
  BOOST_TEST(ran->load() == 1);                 // the tools of the step ran
  BOOST_TEST(!app.try_invoke(nullptr, config)); // with the same budget it ends again
  config.configurable = value{{"budget", {{"run", {{"tokens", 1000}}}}}};
  auto resumed = app.invoke(nullptr, config);
  BOOST_TEST(message_text(resumed.value()["messages"][5]) == "done");
  BOOST_TEST(ran->load() == 2);
  BOOST_TEST((resumed.value()["usage"]["run"]["model_calls"] == value(3)));
  BOOST_TEST(!budget_facts(error{errc::node_failed, "x"}).has_value());
}

BOOST_AUTO_TEST_CASE(a_budget_may_ask_for_more) {
  runtime rt{{.saver = make_memory_saver()}};
  auto app = rt.load(budgeted({.thread = {.model_calls = 1}, .at_limit = budget_exit::ask},
                              {priced_call("1"), priced_call("2"), final_answer()}));
  run_config config{.thread_id = "t"};
  auto asked = app.invoke(budget_hello(), config);
  BOOST_REQUIRE(asked.interrupts().size() == 1u);
  auto question = asked.interrupts()[0].value;
  BOOST_TEST(to_json(question)
             == R"({"bound":1,"scope":"thread","spent":1,"type":"budget","what":"model_calls"})");
  auto refused = app.try_invoke(command{.resume = value{{"thread", {{"models", 3}}}}}, config);
  BOOST_REQUIRE(!refused);
  BOOST_TEST((refused.error().code() == errc::invalid_resume));
  BOOST_TEST(!app.try_invoke(command{.resume = value("more")}, config));
  asked = app.invoke(command{.resume = value{{"thread", {{"model_calls", 2}}}}}, config);
  BOOST_TEST((asked.interrupts().at(0).value["spent"] == value(2)));
  auto done = app.invoke(command{.resume = value{{"thread", {{"model_calls", nullptr}}}}}, config);
  BOOST_TEST(message_text(done.value()["messages"][5]) == "done");
}

BOOST_AUTO_TEST_CASE(money_and_agents_have_bounds) {
  runtime rt;
  auto ended = rt.load(budgeted({.agent = {.cost = 0.001}, .prices = prices()},
                                {priced_call("1"), final_answer()}))
                 .try_invoke(budget_hello());
  BOOST_REQUIRE(!ended);
  auto facts = budget_facts(ended.error());
  BOOST_REQUIRE(facts.has_value());
  BOOST_TEST(facts->scope == "agent");
  BOOST_TEST(facts->what == "cost");
  BOOST_TEST(facts->spent == 0.0011);
}

BOOST_AUTO_TEST_CASE(a_bound_of_cost_needs_the_price_of_the_model) {
  BOOST_CHECK_THROW(usage_budget({.run = {.cost = 1}}), error);
  auto others =
    std::make_shared<price_list>(value{{"models", {{"other:", {{"input", 1}, {"output", 1}}}}}});
  runtime rt;
  auto refused = rt.load(budgeted({.run = {.cost = 1}, .prices = others}, {final_answer()}))
                   .try_invoke(budget_hello());
  BOOST_REQUIRE(!refused);
  BOOST_TEST(refused.error().message().find("test:big") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(malformed_budgets_are_refused) {
  BOOST_CHECK_EXCEPTION(usage_budget({.thread = {.tokens = 0}}), error, [](const error& e) {
    return e.code() == errc::invalid_config
           && e.message().find("thread.tokens") != std::string::npos;
  });
  BOOST_CHECK_THROW(usage_budget({.run = {.time = std::chrono::milliseconds{-1}}}), error);
  for (const auto& wrong : {value("much"), value{{"runs", value::map()}}, value{{"run", 1}},
                            value{{"run", {{"tokens", -1}}}}, value{{"run", {{"token", 1}}}}}) {
    runtime rt;
    run_config config;
    config.configurable = value{{"budget", wrong}};
    auto refused = rt.load(budgeted({}, {final_answer()})).try_invoke(budget_hello(), config);
    BOOST_TEST_CONTEXT(to_json(wrong)) {
      BOOST_REQUIRE(!refused);
      BOOST_TEST(refused.error().message().find("set a budget") != std::string::npos);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
