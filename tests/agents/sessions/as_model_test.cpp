// An agent that is asked as a model.
#include <troupe/agents/agent.hpp>
#include <troupe/agents/model_providers.hpp>
#include <troupe/agents/teams.hpp>
#include <troupe/agents/tool_runner.hpp>
#include <troupe/runtime.hpp>

#include <boost/test/unit_test.hpp>

#include <functional>
#include <string>
#include <vector>

namespace troupe {
namespace {

using line = scripted_model::answer;

value answer_with_usage(const std::string& text, std::int64_t tokens,
                        const std::vector<tool_call>& calls = {}) {
  auto m = ai_message(text, calls);
  return value::extension(value_kind::message,
                          m.payload().with("usage",
                                           value{{"input_tokens", tokens}, {"output_tokens", 1}}));
}

compiled_graph expert(std::vector<line> lines, response_format format = {}) {
  tool add{"add", "", [](arg<"a", std::int64_t> a) { return *a + 1; }};
  auto model = std::make_shared<scripted_model>(std::move(lines), scripted_options{.stream = true});
  return create_agent(
    {.model = model, .tools = {add}, .response_format = std::move(format), .name = "expert"});
}

compiled_graph asks_a_person() {
  state_graph<> g{{{"messages", add_messages}}};
  g.add_node("ask", [](context& ctx) {
    auto answer = ctx.interrupt("really?").as<std::string>();
    return value{{"messages", value::list({ai_message("they say " + answer)})}};
  });
  g.add_edge(START, "ask");
  return g.compile({.name = "asker"});
}

using model_body = std::function<coro<value>(context&)>;

// A graph with a node that runs `body`, whose output is kept as `out`.
compiled_graph around_model(model_body body) {
  state_graph<> g{{{"out", last_value}}};
  g.add_node("outer", [body = std::move(body)](const state_view&, context& ctx) -> coro<value> {
    auto running = body(ctx);
    auto out = co_await running;
    co_return value{{"out", out}};
  });
  g.add_edge(START, "outer");
  return g.compile();
}
model_body asking_model(chat_model_ptr model, model_request request) {
  return [model = std::move(model), request = std::move(request)](context& ctx) {
    return ask_model(*model, request, ctx);
  };
}
model_request request_of(const char* text) {
  return model_request{value::list({human_message(text)})};
}

value asked_once(chat_model_ptr model, model_request request) {
  runtime rt;
  return rt.load(around_model(asking_model(std::move(model), std::move(request))))
    .invoke({})
    .value()["out"];
}
std::string failure_of_asking(chat_model_ptr model, model_request request) {
  runtime rt;
  auto out =
    rt.load(around_model(asking_model(std::move(model), std::move(request)))).try_invoke({});
  return out ? "none" : reference_name(out.error()) + ": " + out.error().message();
}

} // namespace

BOOST_AUTO_TEST_SUITE(agents_as_model)

BOOST_AUTO_TEST_CASE(an_agent_s_last_message_is_the_answer_with_all_it_used) {
  auto model = agent_as_model(
    expert({answer_with_usage("", 10, {{.name = "add", .args = value{{"a", 1}}, .id = "x"}}),
            answer_with_usage("two", 20)}));
  BOOST_TEST(model->name() == "graph:expert");
  auto request = request_of("one and one?");
  // The usage of the given messages belongs to another model, even without an id.
  request.messages = value::list({human_message("hello"), answer_with_usage("hi", 500)})
                       .append_all(request.messages.items());
  auto answer = asked_once(model, request);
  BOOST_TEST(message_text(answer) == "two");
  BOOST_TEST(message_member(answer, "usage")
             == (value{{"input_tokens", 30}, {"output_tokens", 2}}));
  BOOST_TEST(message_member(answer, "name") == value("expert"));
}

BOOST_AUTO_TEST_CASE(a_tool_runner_runs_an_agent_and_tools_are_refused) {
  model_body runs = [](context& ctx) -> coro<value> {
    tool_runner runner{agent_as_model(expert({"a tree"})), {}, value::list({human_message("?")})};
    auto running = runner.until_done(ctx);
    co_await running;
    co_return value(message_text(runner.messages()[1]));
  };
  runtime rt;
  BOOST_TEST(rt.load(around_model(runs)).invoke({}).value()["out"] == value("a tree"));
  auto request = request_of("?");
  request.tools = value::list({value{{"name", "hammer"}}});
  auto why = failure_of_asking(agent_as_model(expert({"x"}), "mine"), request);
  BOOST_TEST(why.starts_with("ValueError: "));
  BOOST_TEST(why.find("`mine`") != why.npos);
}

BOOST_AUTO_TEST_CASE(an_agent_falls_back_and_is_fallen_back_on) {
  line fails = [](const value&) -> value { throw node_error{"Boom", "no"}; };
  auto broken = agent_as_model(expert({fails}));
  auto whole = agent_as_model(expert({"from the other"}));
  BOOST_TEST(message_text(asked_once(with_fallbacks(broken, {whole}), request_of("?")))
             == "from the other");
  BOOST_TEST(
    failure_of_asking(agent_as_model(expert({fails})), request_of("?")).starts_with("Boom"));
}

BOOST_AUTO_TEST_CASE(what_an_agent_says_is_streamed_once) {
  for (bool subgraphs : {true, false}) {
    runtime rt;
    auto app =
      rt.load(around_model(asking_model(agent_as_model(expert({"one two"})), request_of("?"))));
    std::string parts, whole;
    for (auto& part : app.stream({}, {.subgraphs = subgraphs}, {stream_mode::messages})) {
      bool chunk = message_member(part.data[0], "chunk") == value(true);
      (chunk ? parts : whole) += message_text(part.data[0]);
      BOOST_TEST(part.ns.empty() != subgraphs);
    }
    BOOST_TEST(parts == (subgraphs ? "one two" : ""));
    BOOST_TEST(whole == (subgraphs ? "" : "one two"));
  }
}

BOOST_AUTO_TEST_CASE(a_question_within_is_the_task_s_own) {
  auto never = std::make_shared<scripted_model>(std::vector<line>{"never"});
  auto model = with_fallbacks(agent_as_model(asks_a_person()), {never});
  runtime rt{{.saver = make_memory_saver()}};
  auto app = rt.load(around_model(asking_model(model, request_of("?"))));
  run_config on{.thread_id = "t"};
  auto paused = app.invoke({}, on);
  BOOST_REQUIRE(paused.interrupts().size() == 1u);
  BOOST_TEST(paused.interrupts()[0].value == value("really?"));
  auto out = app.invoke(command{.resume = "yes"}, on).value()["out"];
  BOOST_TEST(message_text(out) == "they say yes");
  BOOST_TEST(never->requests().empty());
}

BOOST_AUTO_TEST_CASE(a_structured_response_answers_a_schema) {
  value schema{{"title", "number"},
               {"type", "object"},
               {"properties", {{"n", value{{"type", "integer"}}}}},
               {"required", value::list({"n"})}};
  auto request = request_of("?");
  request.response_schema = schema;
  auto structured = agent_as_model(
    expert({value{{"n", 3}}}, response_format{schema, structured_strategy::provider}));
  model_body asks = [&](context& ctx) { return ask_structured(*structured, request, ctx); };
  runtime rt;
  BOOST_TEST(rt.load(around_model(asks)).invoke({}).value()["out"] == (value{{"n", 3}}));
  auto why = failure_of_asking(agent_as_model(expert({"three"})), request);
  BOOST_TEST(why.find("no structured response") != why.npos);
}

BOOST_AUTO_TEST_CASE(a_graph_that_is_no_agent_is_refused) {
  state_graph<> g{{{"text", last_value}}};
  g.add_node("n", [] {});
  g.add_edge(START, "n");
  BOOST_CHECK_EXCEPTION(agent_as_model(g.compile({.name = "texts"})), error, [](const error& e) {
    return e.code() == errc::invalid_graph && e.message().find("texts") != std::string::npos;
  });
  state_graph<> silent{{{"messages", add_messages}}};
  silent.add_node("n", [] {});
  silent.add_edge(START, "n");
  BOOST_TEST(
    failure_of_asking(agent_as_model(silent.compile()), request_of("?")).find("not an assist")
    != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
