// Agents with middleware, and the ready-made ones.
#include <troupe/agents/middleware.hpp>
#include <troupe/runtime.hpp>

#include <boost/test/unit_test.hpp>

#include <memory>
#include <string>
#include <vector>

namespace troupe {
namespace {

using script = std::vector<scripted_model::answer>;

std::shared_ptr<scripted_model> scripted(script answers) {
  return std::make_shared<scripted_model>(std::move(answers));
}

scripted_model::answer failure(std::string text) {
  return scripted_model::function{[text](const value&) -> value {
    throw node_error{"ConnectionError", text};
  }};
}

value call(std::string id, std::int64_t a = 1) {
  return ai_message("", {{.name = "add", .args = value{{"a", a}}, .id = id}});
}

tool adding_tool() {
  return {
    "add", "Adds one", [](arg<"a", std::int64_t> a) { return *a + 1; }, {.lane = lane::standard}};
}

value asking(const value& text = "hi") {
  return value{{"messages", value::list({human_message(text, "u")})}};
}

compiled_graph agent(chat_model_ptr model, std::vector<middleware> around,
                     std::vector<tool> tools = {adding_tool()}) {
  agent_options options;
  options.model = std::move(model);
  options.tools = std::move(tools);
  options.middleware = std::move(around);
  return create_agent(std::move(options));
}

result<run_result> run(const compiled_graph& graph, const run_input& input = asking()) {
  runtime rt;
  return rt.load(graph).try_invoke(input);
}

std::string in_short(const value& messages) {
  std::string out;
  for (const auto& m : messages.items())
    out += std::string{message_role(m)} + ": " + message_text(m) + "\n";
  return out;
}

std::string talk(const compiled_graph& graph, const run_input& input = asking()) {
  auto out = run(graph, input);
  return out ? in_short(out->value()["messages"]) : reference_name(out.error());
}

// Writes its name and place when it is passed.
middleware marking(const std::string& name, std::shared_ptr<std::string> seen) {
  auto mark = [seen, name](const char* where) {
    return [seen, text = name + where + ' '](const state_view&) { *seen += text; };
  };
  middleware out;
  out.name = name;
  out.before_agent = mark(".before_agent");
  out.before_model = mark(".before_model");
  out.after_model = mark(".after_model");
  out.after_agent = mark(".after_agent");
  out.wrap_model_call = [seen, name](model_call c, model_executor next) {
    *seen += name + "(model ";
    return next(std::move(c));
  };
  out.wrap_tool_call = [seen, name](tool_call_request r, tool_executor next) {
    *seen += name + "(tool ";
    return next(std::move(r));
  };
  return out;
}

retry_options at_once(std::uint32_t retries) {
  retry_options out;
  out.retries_max = retries;
  out.delay = std::chrono::milliseconds{0};
  return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(agents_middleware)

// ---- the agent ------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(an_agent_without_middleware_calls_its_tools_until_it_has_an_answer) {
  BOOST_TEST(talk(agent(scripted({call("1"), "done"}), {}))
             == "user: hi\nassistant: \ntool: 2\nassistant: done\n");
}

BOOST_AUTO_TEST_CASE(hooks_and_wrappers_stand_in_the_order_of_the_list) {
  auto seen = std::make_shared<std::string>();
  talk(agent(scripted({call("1"), "done"}), {marking("A", seen), marking("B", seen)}));
  BOOST_TEST(*seen
             == "A.before_agent B.before_agent A.before_model B.before_model A(model B(model "
                "B.after_model A.after_model A(tool B(tool A.before_model B.before_model "
                "A(model B(model B.after_model A.after_model B.after_agent A.after_agent ");
}

BOOST_AUTO_TEST_CASE(a_hook_may_jump_to_the_end_and_nowhere_it_did_not_say) {
  auto jumping = [](std::vector<std::string> jumps) {
    middleware m;
    m.name = "m";
    m.before_model =
      agent_hook{[](const state_view&) {
                   return value{{"jump_to", "end"}, {"messages", value::list({ai_message("no")})}};
                 },
                 std::move(jumps)};
    m.after_agent = [](const state_view&) {
      return value{{"messages", value::list({ai_message("bye")})}};
    };
    return m;
  };
  BOOST_TEST(talk(agent(scripted({}), {jumping({"end"})}))
             == "user: hi\nassistant: no\nassistant: bye\n");
  BOOST_TEST(talk(agent(scripted({}), {jumping({"model"})})) == "ValueError");
  BOOST_CHECK_THROW(agent(scripted({}), {jumping({"nowhere"})}), error);
  BOOST_CHECK_THROW(agent(scripted({}), {jumping({"end"}), jumping({"end"})}), error);
}

BOOST_AUTO_TEST_CASE(the_last_hook_behind_the_model_may_begin_the_round_again) {
  middleware m;
  m.name = "m";
  m.after_model = agent_hook{[](const state_view& s) -> value {
                               if (s["messages"].size() > 2)
                                 return {};
                               return value{{"jump_to", "model"}};
                             },
                             {"model"}};
  BOOST_TEST(talk(agent(scripted({"one", "two"}), {m}))
             == "user: hi\nassistant: one\nassistant: two\n");
}

BOOST_AUTO_TEST_CASE(a_wrapper_may_write_and_change_what_the_model_is_told) {
  middleware m;
  m.name = "m";
  m.state = {{"n", last_value}};
  m.wrap_model_call = [](model_call c, model_executor next) -> coro<model_response> {
    c.system_message = system_message("be kind");
    auto asked = next(std::move(c));
    auto response = co_await asked;
    response.update.set("n", 7);
    co_return response;
  };
  auto model = scripted({"done"});
  auto out = run(agent(model, {m})).value().value();
  BOOST_TEST(out["n"] == value(7));
  BOOST_TEST(in_short(model->requests()[0].messages) == "system: be kind\nuser: hi\n");
}

BOOST_AUTO_TEST_CASE(calls_that_nobody_answered_are_answered_before_the_model_sees_them) {
  auto model = scripted({"done"});
  auto history = value::list({human_message("a", "1"), call("x"), human_message("b", "2")});
  BOOST_TEST(talk(agent(model, {}), value{{"messages", history}})
             == "user: a\nassistant: \ntool: Tool call add with id x could not be executed - it "
                "was never run.\nuser: b\nassistant: done\n");
}

BOOST_AUTO_TEST_CASE(a_tool_that_nobody_could_run_is_refused) {
  middleware m;
  m.name = "m";
  m.wrap_model_call = [](model_call c, model_executor next) {
    c.request.tools = tool_definitions({tool{"other", "", [] { return 1; }}});
    return next(std::move(c));
  };
  BOOST_TEST(talk(agent(scripted({"done"}), {m})) == "ValueError");
}

BOOST_AUTO_TEST_CASE(the_last_answer_may_be_data) {
  agent_options options;
  options.model = scripted({call("1"), value{{"n", 2}}});
  options.tools = {adding_tool()};
  options.response_format = value{{"type", "object"}, {"required", value::list({"n"})}};
  auto out = run(create_agent(std::move(options))).value().value();
  BOOST_TEST(out["structured_response"] == (value{{"n", 2}}));
}

// ---- limits ---------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(an_agent_ends_at_its_limit_of_model_calls_and_counts_runs_apart) {
  runtime rt{{.saver = make_memory_saver()}};
  auto app = rt.load(
    agent(scripted({call("1"), call("2"), "never"}), {model_call_limit({.thread = 2, .run = 2})}));
  auto out = app.invoke(asking(), {.thread_id = "1"}).value();
  BOOST_TEST(in_short(out["messages"])
             == "user: hi\nassistant: \ntool: 2\nassistant: \ntool: 2\nassistant: Model call "
                "limits exceeded: thread limit (2/2), run limit (2/2)\n");
  BOOST_TEST(!out.contains("run_model_call_count"));
  out = app.invoke(asking("again"), {.thread_id = "1"}).value();
  const auto& last = out["messages"][out["messages"].size() - 1];
  BOOST_TEST(message_text(last) == "Model call limits exceeded: thread limit (2/2)");
  BOOST_TEST(talk(agent(scripted({call("1")}), {model_call_limit({.run = 1}, limit_exit::fail)}))
             == "ModelCallLimitExceededError");
  BOOST_CHECK_THROW(model_call_limit({}), error);
}

BOOST_AUTO_TEST_CASE(tool_calls_beyond_their_limit_are_answered_with_an_error) {
  auto two = ai_message("", {{.name = "add", .args = value{{"a", 1}}, .id = "1"},
                             {.name = "add", .args = value{{"a", 2}}, .id = "2"}});
  BOOST_TEST(talk(agent(scripted({two, "done"}), {tool_call_limit("add", {.run = 1})}))
             == "user: hi\nassistant: \ntool: Tool call limit exceeded. Do not call 'add' "
                "again.\ntool: 2\nassistant: done\n");
  BOOST_TEST(talk(agent(scripted({two}), {tool_call_limit("add", {.run = 1}, limit_exit::fail)}))
             == "ToolCallLimitExceededError");
  BOOST_TEST(talk(agent(scripted({two}), {tool_call_limit("", {.run = 1}, limit_exit::end)}))
             == "user: hi\nassistant: \n"
                "tool: Tool call limit exceeded. Do not make additional tool calls.\n"
                "tool: Execution stopped before this tool call could run because another tool "
                "call in the same batch exceeded the limit.\n"
                "assistant: Tool call limit reached: run limit exceeded (2/1 calls).\n");
}

BOOST_AUTO_TEST_CASE(a_thread_counts_the_tool_calls_that_ran_and_a_run_begins_anew) {
  auto two = ai_message("", {{.name = "add", .args = value{{"a", 1}}, .id = "1"},
                             {.name = "add", .args = value{{"a", 2}}, .id = "2"}});
  runtime rt{{.saver = make_memory_saver()}};
  auto app = rt.load(agent(scripted({two, "done", two, "done", two, "done"}),
                           {tool_call_limit("add", {.thread = 2, .run = 1})}));
  std::size_t ran[3] = {0, 0, 0};
  for (auto& n : ran) {
    auto out = app.invoke(value{{"messages", value::list({human_message("hi")})}},
                          {.thread_id = "1"});
    for (const auto& m : out.value()["messages"].items())
      n += message_role(m) == "tool" && message_member(m, "status") != value("error");
  }
  BOOST_TEST(ran[0] == 1u);
  BOOST_TEST(ran[1] == 2u);
  BOOST_TEST(ran[2] == 2u);
}

// ---- failures -------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(another_model_is_asked_when_one_fails) {
  BOOST_TEST(talk(agent(scripted({failure("a")}),
                        {model_fallback({scripted({failure("b")}), scripted({"third"})})}))
             == "user: hi\nassistant: third\n");
  BOOST_TEST(talk(agent(scripted({failure("a")}), {model_fallback({scripted({failure("b")})})}))
             == "ConnectionError");
}

BOOST_AUTO_TEST_CASE(a_model_is_asked_again_and_an_answer_in_its_place_says_so) {
  BOOST_TEST(talk(agent(scripted({failure("a"), failure("b"), "third"}), {model_retry(at_once(2))}))
             == "user: hi\nassistant: third\n");
  BOOST_TEST(talk(agent(scripted({failure("a"), failure("b"), "third"}), {model_retry(at_once(1))}))
             == "ConnectionError");
  auto options = at_once(0);
  options.give_up = [](const error& e, std::uint32_t n) {
    return e.text() + " after " + std::to_string(n);
  };
  auto out = run(agent(scripted({failure("a")}), {model_retry(options)})).value().value();
  const auto& answer = out["messages"][1];
  BOOST_TEST(message_text(answer) == "a after 1");
  BOOST_TEST(message_member(answer, "response_metadata")["error"]["type"]
             == value("ConnectionError"));
}

BOOST_AUTO_TEST_CASE(a_tool_is_called_again_and_then_reported_to_the_model) {
  auto left = std::make_shared<int>(1);
  tool shaky{"add",
             "",
             [left](arg<"a", std::int64_t> a) {
               if ((*left)-- > 0)
                 throw node_error{"ConnectionError", "lost"};
               return *a;
             },
             {.lane = lane::standard}};
  auto graph = [&](std::uint32_t retries) {
    return agent(scripted({call("1"), "done"}), {tool_retry(at_once(retries))}, {shaky});
  };
  BOOST_TEST(talk(graph(1)) == "user: hi\nassistant: \ntool: 1\nassistant: done\n");
  *left = 5;
  BOOST_TEST(talk(graph(1))
             == "user: hi\nassistant: \ntool: Tool 'add' failed after 2 attempts with "
                "ConnectionError: lost. Please try again.\nassistant: done\n");
}

// ---- people ---------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_person_decides_about_each_call) {
  auto four = ai_message("", {{.name = "add", .args = value{{"a", 1}}, .id = "1"},
                              {.name = "add", .args = value{{"a", 2}}, .id = "2"},
                              {.name = "add", .args = value{{"a", 3}}, .id = "3"},
                              {.name = "add", .args = value{{"a", 4}}, .id = "4"}});
  runtime rt{{.saver = make_memory_saver()}};
  auto app = rt.load(agent(scripted({four, "done"}), {human_in_the_loop({{"add", {}}})}));
  auto paused = app.invoke(asking(), {.thread_id = "1"});
  BOOST_REQUIRE(paused.interrupts().size() == 1u);
  const auto& question = paused.interrupts()[0].value;
  BOOST_TEST(question["action_requests"].size() == 4u);
  BOOST_TEST(question["action_requests"][0]["description"]
             == value("Tool execution requires approval\n\nTool: add\nArgs: {\"a\": 1}"));
  auto decisions = from_json(R"([{"type":"approve"},
    {"type":"edit","edited_action":{"name":"add","args":{"a":20}}},
    {"type":"reject","message":"no!"}, {"type":"respond","message":"human says 42"}])")
                     .value();
  auto out = app.invoke(command{.resume = value{{"decisions", decisions}}}, {.thread_id = "1"});
  auto text = in_short(out.value()["messages"]);
  BOOST_TEST(text.find("User rejected the tool call for `add` with reason: no!")
             != std::string::npos);
  BOOST_TEST(text.find("human says 42") != std::string::npos);
  for (const auto& m : out.value()["messages"].items())
    if (message_role(m) == "tool")
      BOOST_TEST((message_member(m, "status") == value("error"))
                 == (message_member(m, "tool_call_id") == value("3")));
  BOOST_TEST(text.find("tool: 2\n") != std::string::npos);
  BOOST_TEST(text.find("Executed instead: add with arguments {\"a\": 20}.\n\nTool response:\n21")
             != std::string::npos);
}

BOOST_AUTO_TEST_CASE(decisions_that_are_too_few_or_not_allowed_fail) {
  auto resumed = [](const char* decisions) {
    runtime rt{{.saver = make_memory_saver()}};
    auto app = rt.load(agent(scripted({call("1"), "done"}),
                             {human_in_the_loop({{"add", {.decisions = {"approve"}}}})}));
    (void)app.invoke(asking(), {.thread_id = "1"});
    auto out = app.try_invoke(command{.resume = value{{"decisions", from_json(decisions).value()}}},
                              {.thread_id = "1"});
    return out ? "" : reference_name(out.error());
  };
  BOOST_TEST(resumed("[]") == "ValueError");
  BOOST_TEST(resumed(R"([{"type":"reject"}])") == "ValueError");
  BOOST_TEST(resumed(R"([{"type":"approve"}])") == "");
}

BOOST_AUTO_TEST_CASE(calls_that_need_no_review_run_at_once) {
  review rare;
  rare.when = [](const value& c, const value&) { return c["args"]["a"] == value(9); };
  BOOST_TEST(talk(agent(scripted({call("1"), "done"}), {human_in_the_loop({{"add", rare}})}))
             == "user: hi\nassistant: \ntool: 2\nassistant: done\n");
}

// ---- what the model sees --------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_long_conversation_is_summarized_and_calls_stay_with_their_answers) {
  auto history = value::list({human_message("first", "1"), ai_message("ok", {}, "2"), call("x"),
                              tool_message("2", "x", "add"), human_message("last", "3")});
  auto writer = scripted({"they talked"});
  auto model = scripted({"done"});
  auto out =
    talk(agent(model, {summarization(writer, {.trigger_messages = 5, .keep_messages = 2})}),
         value{{"messages", history}});
  BOOST_TEST(out
             == "user: Here is a summary of the conversation to date:\n\nthey talked\n"
                "assistant: \ntool: 2\nuser: last\nassistant: done\n");
  BOOST_TEST(
    message_text(writer->requests()[0].messages[0]).find("<message type=\"human\">first</message>")
    != std::string::npos);
  BOOST_TEST(talk(agent(scripted({"done"}), {summarization(scripted({}), {.trigger_messages = 5})}))
             == "user: hi\nassistant: done\n");
  BOOST_CHECK_THROW(summarization(writer, {}), error);
}

BOOST_AUTO_TEST_CASE(a_summary_that_is_too_much_for_its_model_is_asked_for_once_more_with_less) {
  auto too_much = [](const char* of_class) {
    return scripted_model::function{[of_class](const value&) -> value {
      throw node_error{of_class, "prompt is too long"};
    }};
  };
  std::string middle;
  for (int i = 0; i < 300; ++i)
    middle += "ö" + std::to_string(i) + ' ';
  auto heard =
    value{{"messages", value::list({human_message("first words " + middle),
                                    human_message("last words"), human_message("now")})}};
  auto talk_with = [&](const std::shared_ptr<scripted_model>& writer) {
    return talk(agent(scripted({"done"}),
                      {summarization(writer, {.trigger_messages = 3, .keep_messages = 1})}),
                heard);
  };
  auto writer = scripted({too_much("ContextOverflowError"), "short"});
  BOOST_TEST(talk_with(writer)
             == "user: Here is a summary of the conversation to date:\n\nshort\nuser: now\n"
                "assistant: done\n");
  auto asked = [&](std::size_t i) { return message_text(writer->requests()[i].messages[0]); };
  BOOST_TEST(asked(0).find(middle) != std::string::npos);
  auto mark = asked(1).find("\n[... middle of conversation omitted ...]\n");
  BOOST_REQUIRE(mark != std::string::npos);
  BOOST_TEST(asked(1).find("first words ö0") < mark);
  BOOST_TEST(asked(1).find("last words") > mark);
  BOOST_TEST(asked(0).size() - asked(1).size() > middle.size() / 3);
  auto twice = scripted({too_much("ContextOverflowError"), too_much("ContextOverflowError"), "x"});
  BOOST_TEST(talk_with(twice) == "ContextOverflowError");
  BOOST_TEST(twice->requests().size() == 2u);
  auto other = scripted({too_much("RateLimitError"), "x"});
  BOOST_TEST(talk_with(other) == "RateLimitError");
  BOOST_TEST(other->requests().size() == 1u);
}

BOOST_AUTO_TEST_CASE(older_tool_results_are_cleared_for_the_model_and_kept_in_the_state) {
  auto model = scripted({call("1"), call("2"), "done"});
  auto out = talk(agent(model, {context_editing({.trigger_tokens = 0, .keep = 1})}));
  BOOST_TEST(in_short(model->requests()[2].messages)
             == "user: hi\nassistant: \ntool: [cleared]\nassistant: \ntool: 2\n");
  BOOST_TEST(out == "user: hi\nassistant: \ntool: 2\nassistant: \ntool: 2\nassistant: done\n");
}

BOOST_AUTO_TEST_CASE(results_of_excluded_tools_count_among_those_that_are_kept) {
  auto history =
    value::list({human_message("hi"), call("1"), tool_message("r1", "1", "add"), call("2"),
                 tool_message("r2", "2", "add"), ai_message("", {{.name = "search", .id = "3"}}),
                 tool_message("r3", "3", "search"), human_message("on")});
  auto shown = [&](const value& messages, clear_options options) {
    options.trigger_tokens = 0;
    auto model = scripted({"done"});
    talk(agent(model, {context_editing(std::move(options))}), value{{"messages", messages}});
    return model->requests()[0].messages;
  };
  auto results = [](const value& messages) {
    std::string out;
    for (const auto& m : messages.items())
      if (message_role(m) == "tool")
        out += message_text(m) + ' ';
    return out;
  };
  BOOST_TEST(results(shown(history, {.keep = 1, .exclude_tools = {"search"}}))
             == "[cleared] [cleared] r3 ");
  BOOST_TEST(results(shown(history, {.keep = 0, .exclude_tools = {"search"}}))
             == "[cleared] [cleared] r3 ");
  // Without a name in the message, that in the call counts.
  auto unnamed = value::list({human_message("hi"), ai_message("", {{.name = "search", .id = "3"}}),
                              tool_message("r3", "3"), human_message("on")});
  BOOST_TEST(results(shown(unnamed, {.keep = 0, .exclude_tools = {"search"}})) == "r3 ");
  // A result without a call stays.
  auto orphan = value::list(
    {human_message("hi"), ai_message("a"), tool_message("r", "9", "add"), human_message("on")});
  BOOST_TEST(results(shown(orphan, {.keep = 0})) == "r ");
}

BOOST_AUTO_TEST_CASE(cleared_arguments_are_noted_in_their_message) {
  auto two = ai_message("", {{.name = "add", .args = value{{"a", 1}}, .id = "2"},
                             {.name = "add", .args = value{{"a", 2}}, .id = "1"}});
  auto history = value::list({human_message("hi"), two, tool_message("r2", "2", "add"),
                              tool_message("r1", "1", "add"), human_message("on")});
  auto model = scripted({"done"});
  talk(agent(model, {context_editing({.trigger_tokens = 0, .keep = 0, .clear_tool_inputs = true})}),
       value{{"messages", history}});
  const auto& cleared = model->requests()[0].messages[1];
  BOOST_TEST(message_tool_calls(cleared)[0]["args"] == value::map());
  BOOST_TEST(message_member(cleared, "response_metadata")["context_editing"]["cleared_tool_inputs"]
             == value::list({"1", "2"}));
}

BOOST_AUTO_TEST_CASE(a_model_chooses_the_tools_that_are_shown) {
  tool other{"other", "", [] { return 1; }};
  tool third{"third", "", [] { return 1; }};
  auto model = scripted({"done"});
  auto chooser = scripted({value{{"tools", value::list({"other", "add"})}}});
  talk(agent(model, {tool_selector(chooser, {.tools_max = 1, .always = {"third"}})},
             {adding_tool(), other, third}));
  auto tools = model->requests()[0].tools;
  BOOST_REQUIRE(tools.size() == 2u);
  BOOST_TEST(tools[0]["name"] == value("other"));
  BOOST_TEST(tools[1]["name"] == value("third"));
  auto wrong = scripted({value{{"tools", value::list({"nobody"})}}});
  BOOST_TEST(talk(agent(scripted({"done"}), {tool_selector(wrong)}))
             == "StructuredOutputValidationError");
}

BOOST_AUTO_TEST_CASE(an_agent_keeps_a_list_of_things_to_do) {
  auto todos = from_json(R"([{"content":"a","status":"pending"}])").value();
  tool_call write{.name = "write_todos", .args = value{{"todos", todos}}, .id = "1"};
  auto model = scripted({ai_message("", {write}), "done"});
  auto out = run(agent(model, {todo_list()})).value().value();
  BOOST_TEST(out["todos"] == todos);
  BOOST_TEST(message_role(model->requests()[0].messages[0]) == "system");
  auto again = write;
  again.id = "2";
  out =
    run(agent(scripted({ai_message("", {write, again}), "done"}), {todo_list()})).value().value();
  BOOST_TEST(!out.contains("todos"));
  BOOST_TEST(message_member(out["messages"][2], "status") == value("error"));
}

// ---- personal data --------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(personal_data_is_hidden_before_the_model_sees_it) {
  auto cleaned = [](const char* type, pii_strategy strategy, const char* text) {
    auto model = scripted({"done"});
    talk(agent(model, {pii(type, {.strategy = strategy})}), asking(text));
    return message_text(model->requests()[0].messages[0]);
  };
  using s = pii_strategy;
  BOOST_TEST(cleaned("email", s::redact, "to joe@mail.co.uk.") == "to [REDACTED_EMAIL].");
  BOOST_TEST(cleaned("email", s::mask, "joe@mail.co.uk") == "joe@****.uk");
  BOOST_TEST(cleaned("email", s::hash, "a@b, x@y.zz") == "a@b, <email_hash:4bcc30a8>");
  BOOST_TEST(cleaned("credit_card", s::mask, "4111 1111 1111 1111") == "**** **** **** 1111");
  BOOST_TEST(cleaned("credit_card", s::redact, "4111111111111112") == "4111111111111112");
  BOOST_TEST(cleaned("ip", s::mask, "at 10.0.0.1, 300.1.1.1") == "at *.*.*.1, 300.1.1.1");
  BOOST_TEST(cleaned("mac_address", s::mask, "00:11:22:33:44:ab") == "**:**:**:**:**:ab");
  BOOST_TEST(cleaned("url", s::mask, "see https://x.y/z?q=1.") == "see [MASKED_URL].");
}

BOOST_AUTO_TEST_CASE(personal_data_in_answers_and_results_is_hidden_in_the_state) {
  tool leaky{"add", "", [](arg<"a", std::int64_t>) { return "root@host.org"; }};
  pii_options options;
  options.output = options.tool_results = true;
  BOOST_TEST(
    talk(agent(scripted({call("1"), "it is me@host.org"}), {pii("email", options)}, {leaky}))
    == "user: hi\nassistant: \ntool: [REDACTED_EMAIL]\nassistant: it is "
       "[REDACTED_EMAIL]\n");
  BOOST_TEST(talk(agent(scripted({"x"}), {pii("email", {.strategy = pii_strategy::block})}),
                  asking("me@host.org"))
             == "PIIDetectionError");
  BOOST_CHECK_THROW(pii("shoe_size"), error);
}

BOOST_AUTO_TEST_CASE(personal_data_in_what_a_tool_says_is_hidden_from_readers) {
  tool leaky{"add", "", [](arg<"a", std::int64_t> a, tool_runtime& runtime) {
               runtime.emit_output_delta("mail ro");
               runtime.emit_output_delta("ot@host.o");
               runtime.emit_output_delta("rg at 10.0.0.1");
               runtime.emit_output_delta(value{{"to", value::list({"a@b.org", 1})}});
               if (*a > 5)
                 throw node_error{"Boom", "no root@host.org"};
               return "root@host.org";
             }};
  auto told_by = [&](pii_strategy strategy, std::int64_t a, bool results = true) {
    pii_options options{.strategy = strategy, .tool_results = results};
    auto ask = ai_message("", {{.name = "add", .args = value{{"a", a}}, .id = "1"}});
    runtime rt;
    auto app = rt.load(create_agent({.model = scripted({ask, "done"}),
                                     .tools = {leaky},
                                     .middleware = {pii("email", options), pii("ip", options)},
                                     .tool_node = {.handle_tool_errors = true}}));
    auto parts = app.stream(value{{"messages", value::list({human_message("hi")})}}, {},
                            {stream_mode::tools});
    std::string seen;
    for (auto next = parts.try_next(); next && *next; next = parts.try_next()) {
      const auto& e = (*next)->data;
      if (e.contains("delta"))
        seen += e["delta"].is_string() ? e["delta"].as<std::string>() : to_json(e["delta"]);
      else if (e.contains("output"))
        seen += " = " + (is_message(e["output"]) ? message_text(e["output"]) : "nothing");
      else if (e.contains("message"))
        seen += " ! " + to_json(e["message"]);
    }
    return seen;
  };
  using s = pii_strategy;
  BOOST_TEST(told_by(s::redact, 1)
             == "mail [REDACTED_EMAIL] at [REDACTED_IP]{\"to\":[\"[REDACTED_EMAIL]\",1]} = "
                "[REDACTED_EMAIL]");
  BOOST_TEST(told_by(s::redact, 6)
             == "mail [REDACTED_EMAIL] at [REDACTED_IP]{\"to\":[\"[REDACTED_EMAIL]\",1]} ! \"no "
                "[REDACTED_EMAIL]\"");
  BOOST_TEST(told_by(s::block, 1) == "null = nothing");
  BOOST_TEST(told_by(s::redact, 1, false)
             == "mail root@host.org at 10.0.0.1{\"to\":[\"a@b.org\",1]} = root@host.org");
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace troupe
