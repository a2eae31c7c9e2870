// Answers that are data, and what agents do about a conversation's length and its tool calls.
#include "agents/models/anthropic_wire.hpp"
#include "agents/models/openai_wire.hpp"

#include <troupe/agents/middleware.hpp>
#include <troupe/agents/model_providers.hpp>
#include <troupe/agents/teams.hpp>
#include <troupe/runtime.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <string>
#include <vector>

namespace troupe {
namespace {

using structured_script = std::vector<scripted_model::answer>;

const value weather =
  value::map({{"title", "Weather"},
              {"type", "object"},
              {"properties", value::map({{"degrees", value::map({{"type", "integer"}})}})},
              {"required", value::list({"degrees"})}});

std::shared_ptr<scripted_model> structured_model(structured_script of) {
  return std::make_shared<scripted_model>(std::move(of));
}

value calling(std::vector<tool_call> of) {
  return ai_message("", std::move(of));
}

tool_call answering(value degrees, std::string id) {
  return {
    .name = "Weather", .args = value::map({{"degrees", std::move(degrees)}}), .id = std::move(id)};
}

tool counting_adder(std::atomic<int>* ran = nullptr) {
  return {"add",
          "Adds one",
          [ran](arg<"a", std::int64_t> a) {
            if (ran)
              ++*ran;
            return *a + 1;
          },
          {.lane = lane::standard}};
}

value structured_question() {
  return value{{"messages", value::list({human_message("hi")})}};
}

result<run_result> answer_of(agent_options options) {
  runtime rt;
  return rt.load(create_agent(std::move(options))).try_invoke(structured_question());
}

std::string structured_talk(const value& messages) {
  std::string out;
  for (const auto& m : messages.items())
    out += std::string{message_role(m)} + ": " + message_text(m) + "\n";
  return out;
}

// A model with a profile.
class profiled_model final : public chat_model {
public:
  profiled_model(std::shared_ptr<scripted_model> model, value profile,
                 std::string name = "scripted:small")
    : model_{std::move(model)},
      profile_(std::move(profile)),
      name_{std::move(name)} {}
  std::string name() const override { return name_; }
  value profile() const override { return profile_; }
  coro<value> invoke(model_request request, context& ctx) override {
    return model_->invoke(std::move(request), ctx);
  }

private:
  std::shared_ptr<scripted_model> model_;
  value profile_;
  std::string name_;
};

} // namespace

BOOST_AUTO_TEST_SUITE(agents_structured)

BOOST_AUTO_TEST_CASE(a_schema_as_a_tool_has_to_be_called_for_and_ends_the_agent) {
  auto model = structured_model({calling({answering(7, "c1")})});
  auto out = answer_of({.model = model,
                        .tools = {counting_adder()},
                        .response_format = {weather, structured_strategy::tool}})
               .value()
               .value();
  BOOST_TEST(out["structured_response"] == value::map({{"degrees", 7}}));
  BOOST_TEST(structured_talk(out["messages"])
             == "user: hi\nassistant: \ntool: Returning structured response: {\"degrees\": 7}\n");
  auto asked = model->requests().at(0);
  BOOST_TEST(asked.tool_choice == value("any"));
  BOOST_TEST(asked.response_schema.is_null());
  BOOST_TEST(asked.tools.size() == 2u);
  BOOST_TEST(asked.tools[1]["parameters"] == weather);
}

BOOST_AUTO_TEST_CASE(a_call_that_does_not_fit_is_told_why_and_made_again) {
  for (bool tools : {false, true}) {
    auto model =
      structured_model({calling({answering("warm", "c1")}), calling({answering(8, "c2")})});
    agent_options options{.model = model, .response_format = {weather, structured_strategy::tool}};
    if (tools)
      options.tools = {counting_adder()};
    auto out = answer_of(std::move(options)).value().value();
    BOOST_TEST(out["structured_response"]["degrees"] == value(8));
    auto told = message_text(out["messages"][2]);
    BOOST_TEST(
      told.starts_with("Error: Failed to parse structured output for tool 'Weather': Failed "
                       "to parse data to Weather: degrees: "));
    BOOST_TEST(told.ends_with(".\n Please fix your mistakes."));
  }
}

BOOST_AUTO_TEST_CASE(calls_that_never_fit_end_in_an_error_and_not_in_a_loop) {
  structured_script wrong(9, calling({answering("warm", "c")}));
  auto model = structured_model(wrong);
  auto failed =
    answer_of({.model = model, .response_format = {weather, structured_strategy::tool}});
  BOOST_TEST(reference_name(failed.error()) == "StructuredOutputValidationError");
  BOOST_TEST(model->requests().size() == 3u);
}

BOOST_AUTO_TEST_CASE(a_text_where_a_call_was_asked_for_is_an_error) {
  auto failed = answer_of({.model = structured_model({"It is warm."}),
                           .response_format = {weather, structured_strategy::tool}});
  BOOST_TEST(reference_name(failed.error()) == "StructuredOutputValidationError");
}

BOOST_AUTO_TEST_CASE(of_several_structured_calls_none_is_taken) {
  auto model = structured_model(
    {calling({answering(1, "c1"), answering(2, "c2")}), calling({answering(3, "c3")})});
  auto out = answer_of({.model = model, .response_format = {weather, structured_strategy::tool}})
               .value()
               .value();
  BOOST_TEST(out["structured_response"]["degrees"] == value(3));
  for (std::size_t i : {2U, 3U})
    BOOST_TEST(message_text(out["messages"][i]).find("(Weather, Weather) when only one is expected")
               != std::string::npos);
}

BOOST_AUTO_TEST_CASE(several_structured_calls_in_the_last_attempt_are_an_error_of_their_own) {
  structured_script twice(9, calling({answering(1, "c1"), answering(2, "c2")}));
  auto failed = answer_of(
    {.model = structured_model(twice), .response_format = {weather, structured_strategy::tool}});
  BOOST_TEST(reference_name(failed.error()) == "MultipleStructuredOutputsError");
}

BOOST_AUTO_TEST_CASE(a_wrapper_sees_that_data_does_not_fit_and_may_ask_again) {
  for (auto how : {structured_strategy::provider, structured_strategy::tool}) {
    bool by_tool = how == structured_strategy::tool;
    middleware retry;
    retry.name = "retry";
    auto seen = std::make_shared<std::string>();
    retry.wrap_model_call = [seen](model_call c, model_executor next) -> coro<model_response> {
      for (int attempt = 0;; ++attempt) {
        try {
          auto again = c;
          auto asked = next(std::move(again));
          auto response = co_await asked;
          co_return response;
        } catch (const node_error& e) {
          *seen += e.type() + ' ';
          if (attempt == 2)
            throw;
        }
      }
    };
    // Asked for data without a tool, the model answers with the JSON of the value it is given.
    auto wrong = by_tool ? calling({answering("warm", "c1")}) : value{{"degrees", "warm"}};
    auto right = by_tool ? calling({answering(7, "c2")}) : value{{"degrees", 7}};
    response_format format{weather, how};
    format.attempts_max = 1;
    auto model = structured_model({wrong, right});
    auto out = answer_of({.model = model, .middleware = {retry}, .response_format = format});
    BOOST_REQUIRE(out.has_value());
    BOOST_TEST(model->requests().size() == 2u);
    BOOST_TEST(*seen == "StructuredOutputValidationError ");
    BOOST_TEST(out->value()["structured_response"]["degrees"] == value(7));
  }
}

BOOST_AUTO_TEST_CASE(data_that_a_wrapper_gives_is_kept_without_a_response_format) {
  middleware gives;
  gives.name = "gives";
  gives.wrap_model_call = [](model_call c, model_executor next) -> coro<model_response> {
    auto asked = next(std::move(c));
    auto response = co_await asked;
    if (message_text(response.answer) == "data")
      response.structured_response = value{{"degrees", 5}};
    co_return response;
  };
  std::atomic<int> ran = 0;
  auto model = structured_model(
    {"data", calling({{.name = "add", .args = value{{"a", 1}}, .id = "c2"}}), "done"});
  runtime rt{{.saver = make_memory_saver()}};
  auto app =
    rt.load(create_agent({.model = model, .tools = {counting_adder(&ran)}, .middleware = {gives}}));
  auto out = app.invoke(structured_question(), {.thread_id = "t"}).value();
  BOOST_TEST(out["structured_response"] == (value{{"degrees", 5}}));
  // It does not end the next turn.
  out = app.invoke(structured_question(), {.thread_id = "t"}).value();
  BOOST_TEST(out["structured_response"].is_null());
  BOOST_TEST(model->requests().size() == 3u);
  BOOST_TEST(ran == 1);
}

BOOST_AUTO_TEST_CASE(a_wrapper_may_ask_for_other_data_in_one_call) {
  auto rain = value::map({{"title", "Rain"}, {"type", "object"}});
  middleware asks;
  asks.name = "asks";
  asks.wrap_model_call = [rain](model_call c, model_executor next) {
    c.request.response_schema = rain;
    return next(std::move(c));
  };
  auto model = structured_model({calling({{.name = "Rain", .args = value{{"mm", 3}}, .id = "c"}})});
  auto out = answer_of({.model = model,
                        .middleware = {asks},
                        .response_format = {weather, structured_strategy::tool}});
  BOOST_REQUIRE(out.has_value());
  BOOST_TEST(out->value()["structured_response"] == (value{{"mm", 3}}));
}

BOOST_AUTO_TEST_CASE(tools_of_the_same_answer_still_run_and_the_model_is_not_asked_again) {
  std::atomic<int> ran = 0;
  auto model = structured_model(
    {calling({{.name = "add", .args = value{{"a", 1}}, .id = "c1"}, answering(7, "c2")})});
  auto out = answer_of({.model = model,
                        .tools = {counting_adder(&ran)},
                        .response_format = {weather, structured_strategy::tool}})
               .value()
               .value();
  BOOST_TEST(ran == 1);
  BOOST_TEST(model->requests().size() == 1u);
  BOOST_TEST(out["structured_response"]["degrees"] == value(7));
}

BOOST_AUTO_TEST_CASE(each_member_of_a_one_of_is_a_tool) {
  auto rain = value::map({{"title", "Rain"}, {"type", "object"}});
  auto model = structured_model({calling({{.name = "Rain", .args = value::map(), .id = "c1"}})});
  response_format format{value::map({{"oneOf", value::list({weather, rain})}}),
                         structured_strategy::tool};
  format.tool_message = "Noted.";
  auto out = answer_of({.model = model, .response_format = format}).value().value();
  BOOST_TEST(message_text(out["messages"][2]) == "Noted.");
  BOOST_TEST(out["structured_response"] == value::map());
  BOOST_TEST(model->requests().at(0).tools.size() == 2u);
  format.schema = value::map({{"oneOf", value::list({rain, rain})}});
  BOOST_CHECK_THROW(create_agent({.model = model, .response_format = format}), error);
  auto add = value::map({{"title", "add"}, {"type", "object"}});
  BOOST_CHECK_THROW(create_agent({.model = model,
                                  .tools = {counting_adder()},
                                  .response_format = {add, structured_strategy::tool}}),
                    error);
}

BOOST_AUTO_TEST_CASE(the_model_decides_how_it_is_asked_for_data) {
  auto by_tool = std::make_shared<profiled_model>(structured_model({calling({answering(1, "c")})}),
                                                  value::map({{"structured_output", false}}));
  auto by_provider = structured_model({value::map({{"degrees", 1}})});
  for (const chat_model_ptr& model : std::vector<chat_model_ptr>{by_tool, by_provider}) {
    auto out = answer_of({.model = model, .response_format = weather}).value().value();
    BOOST_TEST(out["structured_response"]["degrees"] == value(1));
  }
  BOOST_TEST(by_provider->requests().at(0).response_schema == weather);
}

BOOST_AUTO_TEST_CASE(what_is_known_of_a_model_is_known_of_what_stands_around_it) {
  auto known = value::map({{"max_input_tokens", 5}});
  auto model = init_chat_model("openai:small",
                               {.base_url = "http://127.0.0.1:1/v1", .profile = known});
  auto around = with_agent_name(
    bind_settings(with_fallbacks(with_rate_limit(model, std::make_shared<rate_limiter>(1.0)), {}),
                  value::map({{"temperature", 0}})),
    agent_name_mode::inline_);
  BOOST_TEST(around->profile() == known);
  BOOST_CHECK_THROW(
    init_chat_model("openai:small", {.base_url = "http://127.0.0.1:1/v1", .profile = 5}), error);
}

BOOST_AUTO_TEST_CASE(a_later_turn_of_a_thread_is_not_ended_by_the_data_of_an_earlier_one) {
  auto model = structured_model({calling({answering(1, "c1")}),
                                 calling({{.name = "add", .args = value{{"a", 1}}, .id = "c2"}}),
                                 calling({answering(2, "c3")})});
  runtime rt{{.saver = make_memory_saver()}};
  auto app = rt.load(create_agent({.model = model,
                                   .tools = {counting_adder()},
                                   .response_format = {weather, structured_strategy::tool}}));
  app.invoke(structured_question(), {.thread_id = "t"});
  auto out = app.invoke(structured_question(), {.thread_id = "t"}).value();
  BOOST_TEST(out["structured_response"]["degrees"] == value(2));
  BOOST_TEST(model->requests().size() == 3u);
}

// ---- summaries ------------------------------------------------------------------------------

value long_conversation() {
  std::vector<value> out;
  for (int i = 0; i < 6; ++i)
    out.push_back(human_message(std::string(400, 'a') + std::to_string(i))); // over 100 tokens each
  return value{{"messages", value::list(std::move(out))}};
}

std::size_t kept_of(chat_model_ptr by, summary_options options) {
  runtime rt;
  auto app =
    rt.load(create_agent({.model = structured_model({"done"}),
                          .middleware = {summarization(std::move(by), std::move(options))}}));
  auto out = app.invoke(long_conversation()).value()["messages"];
  bool summarized = message_text(out[0]).starts_with("Here is a summary");
  return out.size() - 1 - (summarized ? 1 : 0);
}

BOOST_AUTO_TEST_CASE(a_summary_is_made_at_a_fraction_of_what_the_model_can_read) {
  auto reads = [](int tokens) {
    return std::make_shared<profiled_model>(structured_model({"In short."}),
                                            value::map({{"max_input_tokens", tokens}}));
  };
  BOOST_TEST(kept_of(reads(1000), {.trigger_fraction = 0.5, .keep_messages = 2}) == 2u);
  BOOST_TEST(kept_of(reads(10'000), {.trigger_fraction = 0.5, .keep_messages = 2}) == 6u);
  BOOST_TEST(kept_of(reads(1000), {.trigger_fraction = 0.5, .keep_fraction = 0.35}) == 3u);
  BOOST_TEST(kept_of(reads(1000), {.trigger_messages = 1, .keep_tokens = 1}) == 1u);
}

BOOST_AUTO_TEST_CASE(a_fraction_needs_a_model_that_says_what_it_can_read) {
  for (double fraction : {0.5, 1.5, -1.0})
    BOOST_CHECK_THROW(summarization(structured_model({}), {.trigger_fraction = fraction}), error);
  BOOST_CHECK_THROW(summarization(structured_model({}), {.trigger_tokens = -1}), error);
}

BOOST_AUTO_TEST_CASE(the_tokens_that_the_model_counted_itself_count) {
  // An answer as the wire to Anthropic stores it.
  auto short_answer = anthropic_answer(from_json(R"({"type":"message","role":"assistant",
    "model":"m","content":[{"type":"text","text":"short"}],"stop_reason":"end_turn",
    "usage":{"input_tokens":890,"output_tokens":10}})")
                                         .value(),
                                       "a");
  auto conversation =
    value{{"messages", value::list({human_message("q"), short_answer, human_message("go on")})}};
  for (const char* provider : {"anthropic", "other"}) {
    auto by = std::make_shared<profiled_model>(structured_model({"In short."}), value::map(),
                                               std::string{provider} + ":small");
    runtime rt;
    auto app = rt.load(create_agent(
      {.model = structured_model({"done"}),
       .middleware = {summarization(by, {.trigger_tokens = 800,
                                         .keep_messages = 1,
                                         .token_counter = [](const value&) { return 0; }})}}));
    auto out = app.invoke(conversation).value()["messages"];
    BOOST_TEST(out.size() == (std::string_view{provider} == "anthropic" ? 3u : 4u));
  }
}

// ---- one question a call --------------------------------------------------------------------

struct reviewed_agent {
  std::atomic<int> ran = 0;
  runtime rt{{.saver = make_memory_saver()}};
  app<> agent;

  explicit reviewed_agent(std::vector<tool_call> calls)
    : agent{rt.load(create_agent(
      {.model = structured_model({calling(std::move(calls)), "done"}),
       .tools = {counting_adder(&ran), {"free", "Runs at once", [] { return "free"; }}},
       .middleware = {human_in_the_loop({{"add", {}}}, review_mode::per_call)}}))} {}

  std::vector<interrupt> ask() {
    return agent.invoke(structured_question(), {.thread_id = "t"}).interrupts();
  }
  std::string answer(std::vector<value::map_init> by_id) {
    auto out = agent.invoke(command{.resume = value::map(std::move(by_id))}, {.thread_id = "t"});
    return structured_talk(out.value()["messages"]);
  }
};

tool_call adding(int a, std::string id) {
  return {.name = "add", .args = value::map({{"a", a}}), .id = std::move(id)};
}

BOOST_AUTO_TEST_CASE(each_call_has_a_question_of_its_own_and_others_run_meanwhile) {
  reviewed_agent a{{adding(1, "c1"), adding(2, "c2"), {.name = "free", .id = "c3"}}};
  auto asked = a.ask();
  BOOST_REQUIRE(asked.size() == 2u);
  BOOST_TEST(a.ran == 0);
  BOOST_TEST(asked[0].value["type"] == value("tool_approval"));
  BOOST_TEST(asked[0].value["tool_call_id"] == value("c1"));
  BOOST_TEST(asked[1].value["args"] == value::map({{"a", 2}}));
  BOOST_TEST(asked[0].response_schema["oneOf"].size() == 4u);
  auto out = a.answer({{asked[0].id, value::map({{"type", "approve"}})},
                       {asked[1].id, value::map({{"type", "reject"}, {"message", "no!"}})}});
  BOOST_TEST(a.ran == 1);
  BOOST_TEST(out.find("tool: 2\ntool: User rejected the tool call for `add` with reason: no!\n"
                      "tool: free\nassistant: done\n")
             != std::string::npos);
}

BOOST_AUTO_TEST_CASE(an_edited_call_stays_one_of_its_tool) {
  for (const char* name : {"add", "free"}) {
    reviewed_agent a{{adding(1, "c1")}};
    auto id = a.ask().at(0).id;
    auto edit =
      value::map({{"type", "edit"},
                  {"edited_action", value::map({{"name", name}, {"args", value{{"a", 41}}}})}});
    if (std::string_view{name} == "add") {
      auto out = a.answer({{id, edit}});
      BOOST_TEST(out.find("Tool response:\n42") != std::string::npos);
    } else {
      BOOST_CHECK_THROW(a.answer({{id, edit}}), error);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_decision_that_is_not_allowed_leaves_the_question_open) {
  reviewed_agent a{{adding(1, "c1")}};
  auto id = a.ask().at(0).id;
  BOOST_CHECK_THROW(a.answer({{id, value::map({{"type", "maybe"}})}}), error);
  BOOST_TEST(a.ran == 0);
  auto out = a.answer({{id, value::map({{"type", "respond"}, {"message", "it is 3"}})}});
  BOOST_TEST(out.find("tool: it is 3\n") != std::string::npos);
}

// ---- what the model gets for a misfit -----------------------------------------------------------

namespace {

agent_options misfitting(tool_errors handle, structured_script script) {
  agent_options options;
  options.model = structured_model(std::move(script));
  options.response_format = {weather, structured_strategy::tool};
  options.response_format.handle_errors = std::move(handle);
  return options;
}

// The message after a call that does not fit, or the class of the error.
std::string misfit_answer(tool_errors handle, const value& first) {
  auto out = answer_of(misfitting(std::move(handle), {first, calling({answering(7, "2")})}));
  return out ? message_text(out->value()["messages"][2]) : reference_name(out.error());
}

const value one_misfit = calling({answering("warm", "1")});
const value two_answers = calling({answering(1, "1"), answering(2, "b")});

} // namespace

BOOST_AUTO_TEST_CASE(a_misfit_is_told_in_any_of_the_forms_of_handle_errors) {
  auto reason = misfit_answer(true, one_misfit);
  BOOST_TEST(reason.find("Error: Failed to parse structured output for tool 'Weather'") == 0u);
  BOOST_TEST(misfit_answer("Numbers, please.", one_misfit) == "Numbers, please.");
  BOOST_TEST(misfit_answer(false, one_misfit) == "StructuredOutputValidationError");
  BOOST_TEST(misfit_answer(tool_errors::handler([](const error& e) {
                             return std::optional{"got " + reference_name(e)};
                           }),
                           one_misfit)
             == "got StructuredOutputValidationError");
  BOOST_TEST(
    misfit_answer(tool_errors::handler([](const error&) { return std::optional<std::string>{}; }),
                  one_misfit)
    == "StructuredOutputValidationError");
}

BOOST_AUTO_TEST_CASE(classes_of_misfits_are_handled_with_those_derived_from_them) {
  auto reason = misfit_answer(true, one_misfit);
  BOOST_TEST(misfit_answer({"StructuredOutputValidationError"}, one_misfit) == reason);
  BOOST_TEST(misfit_answer({"StructuredOutputError"}, one_misfit) == reason);
  BOOST_TEST(misfit_answer({"Exception"}, one_misfit) == reason);
  BOOST_TEST(misfit_answer({"MultipleStructuredOutputsError"}, one_misfit)
             == "StructuredOutputValidationError");
  BOOST_TEST(misfit_answer({"StructuredOutputValidationError"}, two_answers)
             == "MultipleStructuredOutputsError");
  BOOST_TEST(misfit_answer({"MultipleStructuredOutputsError"}, two_answers)
               .find("Error: Model incorrectly returned multiple")
             == 0u);
}

BOOST_AUTO_TEST_CASE(a_provider_is_asked_to_enforce_a_schema) {
  auto model = structured_model({value::map({{"degrees", 7}})});
  agent_options options;
  options.model = model;
  options.response_format = {weather, structured_strategy::provider};
  options.response_format.strict = true;
  BOOST_REQUIRE(answer_of(std::move(options)));
  auto asked = model->requests().at(0);
  auto format = [&asked] {
    return openai_request("m", {}, asked, false, true)["response_format"]["json_schema"];
  };
  BOOST_TEST((format()["strict"] == value(true)));
  asked.response_strict = std::nullopt; // the schema has no additionalProperties: false
  BOOST_TEST((format()["strict"] == value(false)));
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace troupe
