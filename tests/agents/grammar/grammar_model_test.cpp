// Models with a grammar of their tools: their requests, and the reading of their answers.
#include "tests/agents/grammar/gbnf_recogniser.hpp"
#include "tests/fixtures/coroutine_body.hpp"
#include "tests/provider/fake_provider.hpp"

#include <troupe/agents/agent.hpp>
#include <troupe/agents/grammar.hpp>
#include <troupe/agents/model_providers.hpp>
#include <troupe/agents/react_agent.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <memory>
#include <string>
#include <vector>

namespace troupe {
namespace {

namespace data = boost::unit_test::data;
using test::fake_provider;
using test::says;

const tool adder{"add", "Adds \"one\"\nto it", [](arg<"a", std::int64_t> a) { return *a + 1; }};

constexpr auto call_text = R"([{"name": "add", "arguments": {"a": 41}}])";
constexpr auto calls_text =
  R"([{"name": "add", "arguments": {"a": 1}}, {"name":"add","arguments":{"a": 2}}])";

std::shared_ptr<scripted_model> model_saying(std::vector<scripted_model::answer> answers) {
  return std::make_shared<scripted_model>(std::move(answers), scripted_options{.stream = true});
}

model_request with_tools(value tool_choice = {}) {
  model_request out{value::list({human_message("41 + 1?")})};
  out.tools = tool_definitions({adder});
  out.tool_choice = std::move(tool_choice);
  return out;
}

// One call of a model that is held to a grammar.
struct held {
  value answer;
  std::vector<value> parts;
  std::optional<error> failure;
};

held ask_held(const chat_model_ptr& model, model_request request, bool stream = false) {
  held out;
  if (stream)
    request.on_part = [&out](const value& part) { out.parts.push_back(part); };
  runtime rt;
  auto how = test::try_body(rt, [&](context& ctx) -> coro<value> {
    auto call = model->invoke(request, ctx);
    out.answer = co_await call;
    co_return value{};
  });
  if (!how)
    out.failure = how.error();
  return out;
}

// The request that a scripted model gets when it has a grammar.
model_request told_to(model_request request, tool_grammar_options options = {}) {
  auto inner = model_saying({"ok"});
  ask_held(with_tool_grammar(inner, std::move(options)), std::move(request));
  return inner->requests().at(0);
}

value calls_in(const value& answer) {
  std::vector<value> out;
  for (const auto& call : message_tool_calls(answer).items())
    out.push_back(call["args"]);
  return value::list(std::move(out));
}

} // namespace

BOOST_AUTO_TEST_SUITE(agents_grammar_model)

// ---- what the model is asked --------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(model_is_told_its_tools_and_held_to_them) {
  auto request = with_tools();
  request.settings = value{{"temperature", 0.5}};
  auto asked = told_to(request);
  BOOST_TEST(asked.tools.empty());
  BOOST_TEST(asked.tool_choice.is_null());
  BOOST_TEST((asked.settings["temperature"] == value(0.5)));
  BOOST_TEST((asked.settings["grammar"] == value(gbnf_of_tools(tool_definitions({adder})))));
  auto system = message_text(asked.messages[0]);
  BOOST_TEST(message_role(asked.messages[0]) == "system");
  BOOST_TEST(system.find(R"({"name": "add", "description": "Adds \"one\"\nto it", "parameters": )"
                         R"({"properties": {"a": {"type": "integer"}}, "required": ["a"], )"
                         R"("type": "object"}})")
             != system.npos);
  BOOST_TEST(system.find(R"([{"name": "TOOL", "arguments": {"PARAMETER": "VALUE"}}])")
             != system.npos);
  BOOST_TEST(message_text(asked.messages[1]) == "41 + 1?");
}

BOOST_AUTO_TEST_CASE(grammar_goes_where_the_server_looks_for_it) {
  auto grammar = value(gbnf_of_tools(tool_definitions({adder})));
  auto request = with_tools();
  request.settings = value{{"structured_outputs", value{{"whitespace_pattern", " ?"}}}};
  auto vllm = told_to(request, {.member = "structured_outputs.grammar"}).settings;
  BOOST_TEST((vllm["structured_outputs"]["grammar"] == grammar));
  BOOST_TEST((vllm["structured_outputs"]["whitespace_pattern"] == value(" ?")));
  auto older = told_to(with_tools(), {.member = "guided_grammar"}).settings;
  BOOST_TEST((older == value{{"guided_grammar", grammar}}));
}

BOOST_AUTO_TEST_CASE(choice_of_tools_is_told_and_held) {
  auto said = [](const model_request& asked) { return message_text(asked.messages[0]); };
  auto open = told_to(with_tools());
  BOOST_TEST(said(open).find("answer with text") != std::string::npos);
  auto any = told_to(with_tools("any"));
  BOOST_TEST(said(any).find("at least one tool now") != std::string::npos);
  BOOST_TEST(!test::gbnf_recogniser{any.settings["grammar"].as<std::string>()}.accepts("text"));
  auto named = told_to(with_tools("add"));
  BOOST_TEST(said(named).find("Call the tool \"add\" now") != std::string::npos);
  auto none = told_to(with_tools("none"));
  BOOST_TEST(said(none) == "41 + 1?"); // nothing of tools
  BOOST_TEST(!test::gbnf_recogniser{none.settings["grammar"].as<std::string>()}.accepts(call_text));
  auto single = with_tools();
  single.settings = value{{"parallel_tool_calls", false}};
  auto one = told_to(single);
  BOOST_TEST(!one.settings.contains("parallel_tool_calls"));
  test::gbnf_recogniser grammar{one.settings["grammar"].as<std::string>()};
  BOOST_TEST(grammar.accepts(call_text));
  BOOST_TEST(!grammar.accepts(calls_text));
  BOOST_TEST(!test::gbnf_recogniser{
    told_to(with_tools(), {.calls_max = 1}).settings["grammar"].as<std::string>()}
                .accepts(calls_text));
}

BOOST_AUTO_TEST_CASE(request_without_tools_goes_on_as_it_is) {
  model_request request{value::list({system_message("Be brief."), human_message("hi")})};
  request.settings = value{{"top_p", 0.5}};
  auto asked = told_to(request);
  BOOST_TEST((asked.settings == request.settings));
  BOOST_TEST((asked.messages == request.messages));
}

BOOST_AUTO_TEST_CASE(conversation_is_told_in_the_form_of_the_grammar) {
  auto broken = value::extension(
    value_kind::message,
    ai_message("", {{"add", {{"a", 3}}, "c3"}})
      .payload()
      .with("invalid_tool_calls",
            value::list({value{{"id", "c4"}, {"name", "add"}, {"args", R"({"a": 4)"}}})));
  auto request = with_tools();
  request.messages =
    value::list({system_message("Be brief."), human_message("1 + 1?"),
                 ai_message("I add.", {{"add", {{"a", 1}}, "c1"}, {"add", {{"a", 2}}, "c2"}}),
                 tool_message("2", "c1"), tool_message("no \"such\" thing", "c2", "", "error"),
                 broken, tool_message("4", "c3"), human_message("and?"), ai_message("Done.")});
  auto asked = told_to(request).messages;
  BOOST_REQUIRE(asked.size() == 8u);
  auto text = [&asked](std::size_t i) {
    return std::string{message_role(asked[i])} + ": " + message_text(asked[i]);
  };
  BOOST_TEST(text(0).starts_with("system: Be brief.\n\nYou can call these tools"));
  BOOST_TEST(text(1) == "user: 1 + 1?");
  BOOST_TEST(text(2)
             == "assistant: I add.\n[{\"name\": \"add\", \"arguments\": {\"a\": 1}}, {\"name\": "
                "\"add\", \"arguments\": {\"a\": 2}}]");
  BOOST_TEST(text(3)
             == "user: Results of the calls:\n[{\"name\": \"add\", \"result\": \"2\"}, {\"name\": "
                "\"add\", \"error\": \"no \\\"such\\\" thing\"}]");
  BOOST_TEST(text(4)
             == "assistant: [{\"name\": \"add\", \"arguments\": {\"a\": 3}}, {\"name\": \"add\", "
                "\"arguments\": {\"a\": 4"); // as in the answer
  BOOST_TEST(text(5) == "user: Results of the calls:\n[{\"name\": \"add\", \"result\": \"4\"}]");
  BOOST_TEST(text(7) == "assistant: Done.");
  BOOST_TEST(message_tool_calls(asked[2]).empty());
  BOOST_TEST(message_member(asked[4], "invalid_tool_calls").is_null());
}

// ---- its answers -------------------------------------------------------------------------------

BOOST_DATA_TEST_CASE(calls_are_read_out_of_the_text, data::make({false, true}), stream) {
  auto usage = value{{"input_tokens", 3}, {"output_tokens", 4}, {"total_tokens", 7}};
  auto said = value::extension(value_kind::message,
                               ai_message(calls_text, {}, "m1")
                                 .payload()
                                 .with("usage", usage)
                                 .with("response_metadata", value{{"model_name", "m"}}));
  auto got = ask_held(with_tool_grammar(model_saying({said})), with_tools(), stream);
  BOOST_TEST((calls_in(got.answer) == value::list({value{{"a", 1}}, value{{"a", 2}}})));
  const auto& calls = message_tool_calls(got.answer);
  BOOST_TEST((calls[0]["name"] == value("add")));
  BOOST_TEST((calls[0]["id"] == value("m1-0")));
  BOOST_TEST((calls[1]["id"] == value("m1-1")));
  BOOST_TEST(message_text(got.answer).empty());
  BOOST_TEST((message_member(got.answer, "id") == value("m1")));
  BOOST_TEST((message_member(got.answer, "usage") == usage));
  BOOST_TEST((message_member(got.answer, "response_metadata")["model_name"] == value("m")));
  BOOST_TEST(got.parts.empty() == !stream);
  for (const auto& part : got.parts)
    BOOST_TEST(message_text(part).empty());
  if (stream) {
    BOOST_TEST(got.parts.size() == 3u); // the calls, and one with the usage
    auto sum = join_chunks(got.parts);
    BOOST_TEST((message_tool_calls(sum) == calls));
    BOOST_TEST((message_member(sum, "usage") == usage));
    BOOST_TEST((message_member(sum, "id") == value("m1")));
  }
}

BOOST_AUTO_TEST_CASE(text_is_given_as_it_comes) {
  auto got = ask_held(with_tool_grammar(model_saying({"It is [42] now"})), with_tools(), true);
  BOOST_TEST(message_text(got.answer) == "It is [42] now");
  BOOST_TEST(message_tool_calls(got.answer).empty());
  BOOST_TEST(got.parts.size() == 4u);
  BOOST_TEST(to_json(join_chunks(got.parts)) == to_json(got.answer));
}

BOOST_AUTO_TEST_CASE(parts_of_a_text_do_not_wait_for_its_end) {
  fake_provider server;
  test::gate rest;
  server.always(says({.text = "It is forty two"}, {.before_event = rest, .gated_from = 3}));
  auto inner = init_chat_model("openai:m", {.base_url = server.url() + "/v1"});
  auto request = with_tools();
  std::size_t came = 0;
  request.on_part = [&](const value& part) {
    if (!message_text(part).empty() && came++ == 0)
      rest.open(); // would hang if parts were kept to the end
  };
  auto got = ask_held(with_tool_grammar(inner), request);
  BOOST_TEST(message_text(got.answer) == "It is forty two");
}

BOOST_AUTO_TEST_CASE(call_that_was_cut_off_is_invalid_and_those_before_it_are_not) {
  const std::string whole = calls_text;
  auto cut = whole.substr(0, whole.size() - 3); // …"arguments":{"a": 2
  for (bool stream : {false, true}) {
    auto got = ask_held(with_tool_grammar(model_saying({value(cut)})), with_tools(), stream);
    BOOST_TEST((calls_in(got.answer) == value::list({value{{"a", 1}}})));
    const auto& invalid = message_member(got.answer, "invalid_tool_calls");
    BOOST_REQUIRE(invalid.size() == 1u);
    BOOST_TEST((invalid[0]["name"] == value("add")));
    BOOST_TEST((invalid[0]["args"] == value(R"({"a": 2)")));
    BOOST_TEST(!invalid[0]["error"].is_null());
    BOOST_TEST((invalid[0]["id"] != message_tool_calls(got.answer)[0]["id"]));
    if (stream)
      BOOST_TEST((message_member(join_chunks(got.parts), "invalid_tool_calls")[0]["args"]
                  == invalid[0]["args"]));
  }
  // Wherever it ends, nothing is called with a part of its arguments.
  for (std::size_t size = 1; size < whole.size(); ++size) {
    auto got = ask_held(with_tool_grammar(model_saying({value(whole.substr(0, size))})),
                        with_tools());
    auto calls = calls_in(got.answer);
    for (const auto& args : calls.items())
      BOOST_TEST((args == value{{"a", 1}} || args == value{{"a", 2}}), whole.substr(0, size));
  }
}

BOOST_AUTO_TEST_CASE(answer_that_only_looks_like_calls_stays_a_text) {
  for (const auto* text : {"[1] is the source", "[", "[]", "[[{\"name\": 1}]]", R"([{"a": 1}])",
                           R"( {"name": "add", "arguments": {"a": 1}})"}) {
    auto got = ask_held(with_tool_grammar(model_saying({value(text)})), with_tools(), true);
    BOOST_TEST(message_text(got.answer) == text);
    BOOST_TEST(message_tool_calls(got.answer).empty());
    BOOST_TEST(message_text(join_chunks(got.parts)) == text);
  }
  // Without tools, a list is a list.
  auto got = ask_held(with_tool_grammar(model_saying({value(call_text)})),
                      model_request{value::list({human_message("x")})});
  BOOST_TEST(message_text(got.answer) == call_text);
}

BOOST_AUTO_TEST_CASE(names_of_members_that_begin_with_a_dollar_are_the_models_own) {
  auto got = ask_held(with_tool_grammar(model_saying(
                        {value(R"([{"name": "add", "arguments": {"$bytes": "YQ=="}}])")})),
                      with_tools());
  BOOST_TEST((message_tool_calls(got.answer)[0]["args"]["$bytes"] == value("YQ==")));
}

// ---- schemas of answers -------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(schema_of_the_answer_becomes_a_grammar) {
  auto schema = value{{"type", "object"},
                      {"properties", value{{"x", value{{"type", "integer"}}}}},
                      {"required", value::list({"x"})}};
  model_request request{value::list({human_message("x?")})};
  request.response_schema = schema;
  auto inner = model_saying({value(R"({"x": 1})")});
  auto model = with_tool_grammar(inner);
  runtime rt;
  auto how = test::try_body(rt, [&](context& ctx) -> coro<value> {
    auto call = ask_structured(*model, request, ctx);
    auto answer = co_await call;
    co_return answer;
  });
  BOOST_TEST((how.value() == value{{"x", 1}}));
  auto asked = inner->requests().at(0);
  BOOST_TEST((asked.settings["grammar"] == value(gbnf_of_schema(schema))));
  BOOST_TEST(asked.response_schema.is_null());
  BOOST_TEST(message_text(asked.messages[0]).find("fits this JSON Schema: {") != std::string::npos);
  BOOST_TEST((model->profile()["structured_output"] == value(true)));
  request.tools = tool_definitions({adder});
  BOOST_TEST(
    message_text(told_to(request).messages[0]).find("When you need no tool, answer with JSON")
    != std::string::npos);
}

// ---- agents -------------------------------------------------------------------------------------

BOOST_DATA_TEST_CASE(agent_calls_its_tools_through_a_server_that_knows_none,
                     data::make({false, true}), prebuilt) {
  fake_provider server;
  server.then(says({.text = call_text}));
  server.then(says({.text = "It is 42"}));
  auto model = with_tool_grammar(init_chat_model("openai:m", {.base_url = server.url() + "/v1"}));
  runtime rt;
  auto agent = rt.load(prebuilt ? create_react_agent({.model = model, .tools = {adder}})
                                : create_agent({.model = model, .tools = {adder}}));
  auto out = agent.invoke(value{{"messages", value::list({human_message("41 + 1?")})}}).value();
  const auto& messages = out["messages"];
  BOOST_TEST(message_text(messages[2]) == "42");
  BOOST_TEST(
    (message_member(messages[2], "tool_call_id") == message_tool_calls(messages[1])[0]["id"]));
  BOOST_TEST(message_text(messages[3]) == "It is 42");
  auto first = server.requests().at(0).body;
  BOOST_TEST((first["grammar"] == value(gbnf_of_tools(tool_definitions({adder})))));
  BOOST_TEST(!first.contains("tools"));
  auto second = server.requests().at(1).body["messages"];
  BOOST_TEST((second[2]["content"] == value(call_text)));
  BOOST_TEST(!second[2].contains("tool_calls"));
  BOOST_TEST((second[3]["role"] == value("user")));
}

BOOST_AUTO_TEST_CASE(tools_are_bound_to_what_holds_a_model) {
  auto inner = model_saying({value(call_text)});
  auto bound = bind_tools(with_tool_grammar(inner), {adder});
  auto got = ask_held(bound, model_request{value::list({human_message("x")})});
  BOOST_TEST(message_tool_calls(got.answer).size() == 1u);
}

BOOST_AUTO_TEST_CASE(what_holds_no_model_is_refused) {
  auto refused = [](const std::function<void()>& make) {
    try {
      make();
    } catch (const error& e) {
      return e.code() == errc::invalid_config;
    }
    return false;
  };
  BOOST_TEST(refused([] { with_tool_grammar(nullptr); }));
  BOOST_TEST(refused([] { with_tool_grammar(bind_tools(model_saying({}), {adder})); }));
  for (const auto* member : {"", ".grammar", "grammar.", "a..b"})
    BOOST_TEST(refused([member] { with_tool_grammar(model_saying({}), {.member = member}); }));
}

BOOST_AUTO_TEST_CASE(tool_that_makes_no_grammar_fails_the_call_and_nobody_is_asked) {
  auto inner = model_saying({"ok"});
  auto request = with_tools("sub");
  auto got = ask_held(with_tool_grammar(inner), request);
  BOOST_REQUIRE(got.failure.has_value());
  BOOST_TEST(got.failure->text().find("unknown tool `sub`") != std::string::npos);
  BOOST_TEST(inner->requests().empty());
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
