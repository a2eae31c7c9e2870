// Models without a network, and the prebuilt agent.
#include <troupe/agents/agent.hpp>
#include <troupe/agents/react_agent.hpp>
#include <troupe/runtime.hpp>

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

namespace troupe {
namespace {

using script = std::vector<scripted_model::answer>;

std::shared_ptr<scripted_model> model_of(script answers, scripted_options options = {}) {
  return std::make_shared<scripted_model>(std::move(answers), std::move(options));
}

value calls(std::int64_t a, std::string id) {
  return ai_message("", {{.name = "add", .args = value{{"a", a}}, .id = std::move(id)}});
}

tool adding(tool_options options = {.lane = lane::standard}) {
  return {"add", "Adds one", [](arg<"a", std::int64_t> a) { return *a + 1; }, std::move(options)};
}

value ask(std::string_view text) {
  return value{{"messages", value::list({human_message(text)})}};
}

value run(react_agent_options options, const run_config& config = {}) {
  runtime rt;
  return rt.load(create_react_agent(std::move(options))).invoke(ask("hi"), config).value();
}

// "role: text" of each message.
std::string shown(const value& messages) {
  std::string out;
  for (const auto& m : messages.items())
    out += std::string{message_role(m)} + ": " + message_text(m) + "\n";
  return out;
}

std::string class_of_failure(const react_agent_options& options) {
  try {
    run(options);
  } catch (const error& e) {
    return reference_name(e);
  }
  return {};
}

} // namespace

BOOST_AUTO_TEST_SUITE(agents_agent)

BOOST_AUTO_TEST_CASE(a_tool_of_an_agent_reads_what_its_run_is_configured_with) {
  std::vector<value> seen;
  tool look{"look", "", [&seen](tool_runtime& runtime) {
              seen.push_back(runtime.configurable());
              seen.push_back(runtime.info().configurable());
              return "ok";
            }};
  auto calls_it = ai_message("", {{.name = "look", .id = "1"}});
  auto given = value{{"user", "ada"}, {"rights", value::list({"read"})}};
  runtime rt;
  for (const auto& graph :
       {create_react_agent({.model = model_of({calls_it, "done"}), .tools = {look}}),
        create_agent({.model = model_of({calls_it, "done"}), .tools = {look}})})
    rt.load(graph).invoke(ask("hi"), {.configurable = given});
  BOOST_TEST((seen == std::vector<value>(4, given)));
  seen.clear();
  run({.model = model_of({calls_it, "done"}), .tools = {look}});
  BOOST_TEST((seen == std::vector<value>(2)));
}

// ---- models ---------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_streaming_model_gives_its_words_and_their_sum_is_its_answer) {
  auto model = model_of({ai_message("one two  three", {{.name = "add", .id = "c"}}), "end"},
                        {.stream = true});
  runtime rt;
  auto app = rt.load(create_react_agent({.model = model, .tools = {adding()}}));
  auto parts = app.stream(ask("hi"), {}, {stream_mode::messages});
  std::vector<value> first;
  while (auto part = parts.next())
    if (part->data[0].payload()["chunk"] == value(true) && first.size() < 4)
      first.push_back(part->data[0]);
  BOOST_REQUIRE(first.size() == 4u);
  BOOST_TEST(message_member(first[1], "content") == value("two  "));
  auto answer = join_chunks(first);
  BOOST_TEST(message_text(answer) == "one two  three");
  BOOST_TEST(message_tool_calls(answer)[0]["name"] == value("add"));
  BOOST_TEST(answer.payload()["id"] == parts.outcome()->value()["messages"][1].payload()["id"]);
}

BOOST_AUTO_TEST_CASE(a_stream_of_more_words_than_its_queue_holds_goes_on) {
  std::string words;
  for (int i = 0; i < 1000; ++i)
    words += "word ";
  runtime rt;
  auto app = rt.load(create_react_agent({.model = model_of({words}, {.stream = true})}));
  auto parts = app.stream(ask("hi"), {}, {stream_mode::messages});
  int seen = 0;
  while (parts.next())
    ++seen;
  BOOST_TEST(seen == 1000);
}

BOOST_AUTO_TEST_CASE(a_model_without_an_answer_left_fails) {
  BOOST_TEST(class_of_failure({.model = model_of({})}) == "KeyError");
}

BOOST_AUTO_TEST_CASE(a_model_is_found_by_the_name_of_its_provider) {
  BOOST_TEST(init_chat_model("echo")->name() == "echo");
  BOOST_CHECK_THROW(init_chat_model("nobody:model"), error);
  BOOST_TEST(shown(run({.model = init_chat_model("echo")})["messages"])
             == "user: hi\nassistant: hi\n");
}

// ---- the agent ------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(an_agent_calls_its_tools_until_it_has_an_answer) {
  for (const auto* version : {"v1", "v2"}) {
    auto model = model_of({calls(1, "x"), calls(5, "y"), "done"});
    auto out =
      run({.model = model, .tools = {adding()}, .prompt = "Be brief.", .version = version});
    BOOST_TEST(shown(out["messages"])
               == "user: hi\nassistant: \ntool: 2\nassistant: \ntool: 6\nassistant: done\n");
    BOOST_TEST(shown(model->requests()[0].messages) == "system: Be brief.\nuser: hi\n");
    BOOST_TEST(model->requests()[0].tools == tool_definitions({adding()}));
  }
}

BOOST_AUTO_TEST_CASE(a_prompt_may_be_a_function_of_the_state) {
  auto model = model_of({"done"});
  run({.model = model, .prompt = [](const state_view& s, context&) {
         return value::list({system_message(std::to_string(s["messages"].size()))});
       }});
  BOOST_TEST(shown(model->requests()[0].messages) == "system: 1\n");
}

BOOST_AUTO_TEST_CASE(a_function_may_choose_the_model_of_each_call) {
  auto first = bind_tools(model_of({calls(1, "x")}), {adding()});
  auto second = model_of({"done"});
  auto choose = [=](const state_view& s, context&) -> chat_model_ptr {
    return s["messages"].size() == 1 ? first : second;
  };
  BOOST_TEST(shown(run({.model = choose, .tools = {adding()}})["messages"])
             == "user: hi\nassistant: \ntool: 2\nassistant: done\n");
  auto later = [=](const state_view&, context& ctx) -> coro<chat_model_ptr> {
    auto job = ctx.blocking([] { return 1; });
    co_await job;
    co_return chat_model_ptr{model_of({"later"})};
  };
  BOOST_TEST(shown(run({.model = later})["messages"]) == "user: hi\nassistant: later\n");
}

BOOST_AUTO_TEST_CASE(tools_that_are_bound_already_must_be_the_agent_s) {
  auto bound = bind_tools(model_of({"done"}), {adding()});
  BOOST_CHECK_NO_THROW(create_react_agent({.model = bound, .tools = {adding()}}));
  BOOST_CHECK_THROW(create_react_agent({.model = bound}), error);
}

BOOST_AUTO_TEST_CASE(settings_and_tools_go_along_with_every_request) {
  auto inner = model_of({"done"});
  auto model = bind_settings(bind_tools(inner, {adding()}, "any"), value{{"temperature", 0.5}});
  run({.model = model, .tools = {adding()}});
  BOOST_TEST(inner->requests()[0].tool_choice == value("any"));
  BOOST_TEST(inner->requests()[0].settings["temperature"] == value(0.5));
}

BOOST_AUTO_TEST_CASE(hooks_stand_before_and_behind_the_model) {
  auto model = model_of({"secret"});
  auto out = run({.model = model,
                  .pre_model_hook =
                    [](const state_view&) {
                      return value{{"llm_input_messages", value::list({human_message("short")})}};
                    },
                  .post_model_hook =
                    [](const state_view& s) {
                      auto id = message_member(s["messages"][1], "id").as<std::string>();
                      return value{{"messages", value::list({ai_message("***", {}, id)})}};
                    }});
  BOOST_TEST(shown(model->requests()[0].messages) == "user: short\n");
  BOOST_TEST(shown(out["messages"]) == "user: hi\nassistant: ***\n");
}

BOOST_AUTO_TEST_CASE(a_structured_answer_fits_its_schema) {
  value schema{{"type", "object"},
               {"properties", {{"n", value{{"type", "integer"}}}}},
               {"required", value::list({"n"})}};
  auto model = model_of({"three", value{{"n", 3}}});
  auto out = run({.model = model, .response_format = {schema, "Extract."}});
  BOOST_TEST(out["structured_response"] == (value{{"n", 3}}));
  BOOST_TEST(shown(model->requests()[1].messages)
             == "system: Extract.\nuser: hi\nassistant: three\n");
  BOOST_TEST(
    class_of_failure({.model = model_of({"three", value{{"m", 3}}}), .response_format = {schema}})
    == "StructuredOutputValidationError");
  BOOST_TEST(class_of_failure(
               {.model = model_of({"three", ai_message("no json")}), .response_format = {schema}})
             == "StructuredOutputValidationError");
}

BOOST_AUTO_TEST_CASE(an_agent_that_runs_out_of_steps_says_so) {
  auto out = run({.model = model_of({calls(1, "x"), calls(1, "y")}), .tools = {adding()}},
                 {.recursion_limit = 4});
  BOOST_TEST(shown(out["messages"])
             == "user: hi\nassistant: \ntool: 2\n"
                "assistant: Sorry, need more steps to process this request.\n");
}

BOOST_AUTO_TEST_CASE(a_tool_s_result_may_end_the_run) {
  for (const auto* version : {"v1", "v2"})
    BOOST_TEST(shown(run({.model = model_of({calls(1, "x")}),
                          .tools = {adding({.return_direct = true, .lane = lane::standard})},
                          .version = version})["messages"])
               == "user: hi\nassistant: \ntool: 2\n");
}

BOOST_AUTO_TEST_CASE(a_call_of_the_history_without_an_answer_is_refused) {
  runtime rt;
  auto app = rt.load(create_react_agent({.model = model_of({"done"}), .tools = {adding()}}));
  auto out = app.try_invoke(
    value{{"messages", value::list({human_message("hi"), calls(1, "x"), human_message("?")})}});
  BOOST_REQUIRE(!out);
  BOOST_TEST(reference_name(out.error()) == "ValueError");
}

BOOST_AUTO_TEST_CASE(a_question_pauses_one_call_alone) {
  tool ask_person{"add", "", [](arg<"a", std::int64_t> a, tool_runtime& runtime) {
                    return *a == 1 ? value(2) : runtime.interrupt("ok?");
                  }};
  auto both = ai_message("", {{.name = "add", .args = value{{"a", 1}}, .id = "x"},
                              {.name = "add", .args = value{{"a", 5}}, .id = "y"}});
  runtime rt{{.saver = make_memory_saver()}};
  auto app =
    rt.load(create_react_agent({.model = model_of({both, "done"}), .tools = {ask_person}}));
  auto paused = app.invoke(ask("hi"), {.thread_id = "1"});
  BOOST_TEST(paused.next().size() == 1u);
  auto out = app.invoke(command{.resume = "yes"}, {.thread_id = "1"}).value();
  BOOST_TEST(shown(out["messages"])
             == "user: hi\nassistant: \ntool: 2\ntool: yes\nassistant: done\n");
}

BOOST_AUTO_TEST_CASE(the_state_may_have_channels_of_its_own) {
  runtime rt;
  auto app = rt.load(create_react_agent({.model = model_of({"done"}),
                                         .post_model_hook =
                                           [](const state_view& s) {
                                             return value{{"rounds", s["rounds"].as_int() + 1}};
                                           },
                                         .state = {{"rounds", last_value}}}));
  BOOST_TEST(app.invoke(ask("hi").with("rounds", 4)).value()["rounds"] == value(5));
}

BOOST_AUTO_TEST_CASE(what_can_t_be_an_agent_is_refused) {
  BOOST_CHECK_THROW(create_react_agent({.model = model_of({}), .version = "v3"}), error);
  BOOST_CHECK_THROW(create_react_agent({}), error);
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace troupe
