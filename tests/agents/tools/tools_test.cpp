// Schemas, tools and the node that runs them.
#include <troupe/agents/react_agent.hpp>
#include <troupe/agents/tool_node.hpp>
#include <troupe/limits.hpp>
#include <troupe/runtime.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <latch>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace troupe {
namespace {

namespace data = boost::unit_test::data;

value json_of(std::string_view text) {
  return from_json(text).value();
}

// ---- tools ----------------------------------------------------------------------------------

tool adder() {
  return {"add",
          "Adds two numbers",
          [](arg<"a", std::int64_t, "The first"> a, arg<"b", std::optional<std::int64_t>> b) {
            return *a + (*b).value_or(1);
          },
          {.lane = lane::standard}};
}

tool failing() {
  return {"fail",
          "Fails",
          []() -> std::string {
            throw node_error{"ValueError", "it's broken"};
          },
          {.lane = lane::standard}};
}

// ---- graphs ---------------------------------------------------------------------------------

value calls(std::vector<tool_call> list) {
  return value{{"messages", value::list({human_message("hi", "u"), ai_message("", list, "a")})}};
}

compiled_graph graph_of(std::vector<tool> tools, tool_node_options options = {}) {
  state_graph<> g{{{"messages", add_messages}, {"n", last_value}}};
  g.add_node("tools", tool_node{std::move(tools), std::move(options)});
  g.add_edge(START, "tools");
  return g.compile();
}

result<run_result> run(std::vector<tool> tools, const value& input, tool_node_options options = {},
                       const run_config& config = {}) {
  runtime rt{{.saver = config.thread_id.empty() ? nullptr : make_memory_saver()}};
  return rt.load(graph_of(std::move(tools), std::move(options))).try_invoke(input, config);
}

// The tool messages of a state, without what they were asked.
std::vector<std::string> contents(const value& state) {
  std::vector<std::string> out;
  for (const auto& m : state["messages"].items())
    if (message_role(m) == "tool")
      out.push_back(message_text(m));
  return out;
}

std::vector<std::string> answers(std::vector<tool> tools, std::vector<tool_call> list,
                                 tool_node_options options = {}) {
  return contents(
    run(std::move(tools), calls(std::move(list)), std::move(options)).value().value());
}

using texts = std::vector<std::string>;

} // namespace

BOOST_AUTO_TEST_SUITE(agents_tools)

// ---- schemas --------------------------------------------------------------------------------

struct schema_case {
  const char* schema;
  const char* json;
  const char* wrong; // "path: message", "" when it fits
};
std::ostream& operator<<(std::ostream& out, const schema_case& c) {
  return out << c.schema << " with " << c.json;
}
const std::vector<schema_case> schema_cases{
  {R"({"type":"integer"})", "1", ""},
  {R"({"type":"integer"})", "1.0", ""},
  {R"({"type":"integer"})", "1.5", ": Input should be a valid integer"},
  {R"({"type":["string","null"]})", "null", ""},
  {R"({"type":"object","properties":{"a":{"type":"string"}},"required":["a"]})", "{}",
   "a: Field required"},
  {R"({"properties":{"a":{"items":{"type":"string"}}}})", R"({"a":["x",1]})",
   "a.1: Input should be a valid string"},
  {R"({"additionalProperties":false})", R"({"x":1})", "x: Extra inputs are not permitted"},
  {R"({"enum":["a","b","c"]})", R"("d")", ": Input should be 'a', 'b' or 'c'"},
  {R"({"const":1})", "1.0", ""},
  {R"({"minimum":1})", "0", ": Input should be greater than or equal to 1"},
  {R"({"maxLength":2})", R"("äöü")", ": Input should have at most 2 characters"},
  {R"({"anyOf":[{"type":"integer"},{"type":"null"}]})", R"("x")",
   ": Input should be a valid integer"},
  {R"({"oneOf":[{"type":"integer"},{"minimum":0}]})", "1",
   ": Input should be of exactly one of the allowed forms"},
  {R"({"not":{"type":"string"}})", R"("x")", ": Input should not be of the excluded form"},
  {R"({"uniqueItems":true})", "[1,2,1.0]", ": Input should have unique items"},
  {R"({"$ref":"#/$defs/n","$defs":{"n":{"type":"integer"}}})", R"("x")",
   ": Input should be a valid integer"},
  {R"({"$ref":"#"})", "1", ""},
};
BOOST_DATA_TEST_CASE(a_value_is_checked_against_a_schema, data::make(schema_cases), c) {
  auto wrong = check_schema(json_of(c.schema), json_of(c.json));
  BOOST_TEST((wrong.empty() ? "" : wrong[0].path + ": " + wrong[0].message) == c.wrong);
}

BOOST_AUTO_TEST_CASE(a_schema_that_chooses_among_itself_is_given_up) {
  for (const char* schema :
       {R"({"anyOf":[{"$ref":"#"},{"$ref":"#"}]})", R"({"allOf":[{"$ref":"#"},{"$ref":"#"}]})",
        R"({"not":{"oneOf":[{"$ref":"#"},{"$ref":"#"}]}})"}) {
    auto found = check_schema(json_of(schema), 1);
    BOOST_REQUIRE_EQUAL(found.size(), 1u);
    BOOST_TEST(found[0].message == "Input takes too long to check");
  }
  // A list of many items is not one of these.
  auto schema = value{{"items", value{{"type", "integer"}}}};
  BOOST_TEST(check_schema(schema, value::list(std::vector<value>(1'000'000, value(1)))).empty());
}

BOOST_AUTO_TEST_CASE(a_schema_with_a_keyword_that_would_be_passed_over_is_refused) {
  auto known =
    require_known_schema(json_of(R"({"properties":{"a":{"type":"string","pattern":"x"}}})"));
  BOOST_REQUIRE(!known);
  BOOST_TEST(known.error().message().find("#/properties/a/pattern") != std::string::npos);
  BOOST_TEST(!require_known_schema(json_of(R"({"$ref":"http://x/y"})")));
  BOOST_TEST(bool(require_known_schema(json_of(R"({"title":"t","format":"date","items":true})"))));
}

// ---- one declaration ------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_function_s_parameters_are_its_schema) {
  BOOST_TEST(to_json(adder().definition()) == to_json(json_of(R"({"name":"add",
    "description":"Adds two numbers","parameters":{"type":"object","required":["a"],"properties":{
      "a":{"type":"integer","description":"The first"},
      "b":{"anyOf":[{"type":"integer"},{"type":"null"}]}}}})")));
}

BOOST_AUTO_TEST_CASE(what_is_injected_is_hidden_from_the_model_and_never_taken_from_it) {
  tool look{"look", "",
            [](injected_state<"n", std::int64_t> n, injected_tool_call_id id, injected_state<> all,
               tool_runtime& runtime) {
              return std::to_string(*n) + *id + std::to_string(all->size())
                     + runtime.tool_call_id();
            }};
  BOOST_TEST(look.parameters()["properties"].empty());
  auto input = calls({{.name = "look", .args = value{{"n", 99}, {"id", "forged"}}, .id = "c"}});
  auto out = run({look}, input.with("n", 7)).value().value();
  BOOST_TEST((contents(out) == texts{"7c2c"}));
}

BOOST_AUTO_TEST_CASE(names_that_providers_refuse_are_refused) {
  auto named = [](const std::string& name) { return tool{name, "", [] { return 1; }}; };
  BOOST_CHECK_THROW(named(""), error);
  BOOST_CHECK_THROW(named("a b"), error);
  BOOST_CHECK_THROW(named(std::string(65, 'a')), error);
  BOOST_TEST(named(std::string(64, 'a')).name().size() == 64u);
  BOOST_CHECK_THROW((tool_node{{named("a"), named("a")}}), error);
}

// ---- running --------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(results_stand_in_the_order_of_the_calls) {
  BOOST_TEST((answers({adder()}, {{.name = "add", .args = value{{"a", 1}}, .id = "1"},
                                  {.name = "add", .args = value{{"a", 2}, {"b", 2.0}}, .id = "2"}})
              == texts{"2", "4"}));
}

BOOST_AUTO_TEST_CASE(tools_of_the_blocking_lane_run_side_by_side) {
  std::latch both{2};
  tool meet{"meet", "", [&both] {
              both.arrive_and_wait(); // alone, it would wait for ever
              return "met";
            }};
  BOOST_TEST((answers({meet}, {{.name = "meet", .id = "1"}, {.name = "meet", .id = "2"}})
              == texts{"met", "met"}));
}

BOOST_AUTO_TEST_CASE(coroutines_run_side_by_side_and_may_block_in_jobs) {
  std::latch both{2};
  tool meet{"meet", "", [&both](arg<"n", int> n, tool_runtime& runtime) -> coro<std::string> {
              auto job = runtime.blocking([&both] {
                both.arrive_and_wait();
                return 1;
              });
              auto one = co_await job;
              co_return std::to_string(*n + one);
            }};
  BOOST_TEST((answers({meet}, {{.name = "meet", .args = value{{"n", 1}}, .id = "1"},
                               {.name = "meet", .args = value{{"n", 2}}, .id = "2"}})
              == texts{"2", "3"}));
}

BOOST_AUTO_TEST_CASE(questions_are_asked_in_the_order_of_the_calls_whoever_comes_first) {
  std::atomic<bool> second_asked = false;
  tool ask{"ask", "", [&second_asked](arg<"n", int> n, tool_runtime& runtime) {
             if (*n == 2)
               second_asked = true, second_asked.notify_all();
             else
               second_asked.wait(false);
             return runtime.interrupt(*n).as<std::string>();
           }};
  runtime rt{{.saver = make_memory_saver()}};
  auto app = rt.load(graph_of({ask}));
  run_config config{.thread_id = "1"};
  auto asked = app.invoke(calls({{.name = "ask", .args = value{{"n", 1}}, .id = "1"},
                                 {.name = "ask", .args = value{{"n", 2}}, .id = "2"}}),
                          config);
  BOOST_REQUIRE(asked.interrupts().size() == 1u);
  BOOST_TEST(asked.interrupts()[0].value == value(1));
  second_asked = false;
  asked = app.invoke(command{.resume = "one"}, config);
  BOOST_REQUIRE(asked.interrupts().size() == 1u);
  BOOST_TEST(asked.interrupts()[0].value == value(2));
  second_asked = false;
  BOOST_TEST(
    (contents(app.invoke(command{.resume = "two"}, config).value()) == texts{"one", "two"}));
}

// As a node's body: see coordinator_asked.
BOOST_AUTO_TEST_CASE(a_tool_that_catches_its_own_question_fails_its_node) {
  auto plain = [](tool_runtime& runtime) -> std::string {
    try {
      return runtime.interrupt("sure?").as<std::string>();
    } catch (...) {
      return "yes";
    }
  };
  auto coroutine = [](tool_runtime& runtime) -> coro<std::string> {
    std::string out = "yes";
    try {
      out = runtime.interrupt("sure?").as<std::string>();
    } catch (...) {}
    co_return out;
  };
  for (const auto& swallows :
       {tool{"ask", "", plain, {.lane = lane::standard}},
        tool{"ask", "", plain, {.lane = lane::blocking}}, tool{"ask", "", coroutine}}) {
    auto how = run({swallows}, calls({{.name = "ask", .id = "1"}}), {.handle_tool_errors = true},
                   {.thread_id = "t"});
    BOOST_REQUIRE(!how);
    BOOST_TEST((how.error().code() == errc::invalid_graph));
    BOOST_TEST(how.error().message().starts_with(
      "node `tools`: its body asked a question and returned: do not catch what interrupt throws"));
  }
}

BOOST_AUTO_TEST_CASE(a_call_that_has_a_message_is_not_run_again) {
  auto input = calls({{.name = "add", .args = value{{"a", 1}}, .id = "1"},
                      {.name = "add", .args = value{{"a", 2}}, .id = "2"}});
  input = input.with("messages", input["messages"].append(tool_message("done", "1", "add")));
  BOOST_TEST((contents(run({adder()}, input).value().value()) == texts{"done", "3"}));
}

BOOST_AUTO_TEST_CASE(so_many_calls_are_run_and_no_more) {
  auto ending = [](std::size_t n) {
    std::vector<tool_call> list(n, tool_call{.name = "nobody", .id = "1"});
    return run({adder()}, calls(std::move(list)));
  };
  BOOST_TEST(bool(ending(limits::tool_calls_max)));
  auto refused = ending(limits::tool_calls_max + 1);
  BOOST_REQUIRE(!refused);
  BOOST_TEST((refused.error().code() == errc::invalid_value));
}

BOOST_AUTO_TEST_CASE(a_tool_may_run_a_graph) {
  state_graph<> inner{{{"n", last_value}}};
  inner.add_node("add", [](const state_view& s) { return value{{"n", s["n"].as_int() + 1}}; });
  inner.add_edge(START, "add");
  tool call{"call", "", [graph = inner.compile()](arg<"n", int> n, tool_runtime& runtime) {
              return runtime.task().invoke(graph, value{{"n", *n}})["n"];
            }};
  BOOST_TEST((answers({call}, {{.name = "call", .args = value{{"n", 1}}, .id = "1"},
                               {.name = "call", .args = value{{"n", 2}}, .id = "2"}})
              == texts{"2", "3"}));
}

// ---- errors ---------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(arguments_that_do_not_fit_become_a_message) {
  BOOST_TEST((answers({adder()}, {{.name = "add", .args = value{{"a", "x"}}, .id = "1"}})
              == texts{"Error invoking tool 'add' with kwargs {\"a\": \"x\"} with error:\n "
                       "a: Input should be a valid integer\n Please fix the error and try "
                       "again."}));
}

BOOST_AUTO_TEST_CASE(a_policy_says_which_errors_become_messages) {
  const std::vector<tool_call> call{{.name = "fail", .id = "1"}};
  const texts generic{"Error: ValueError(\"it's broken\")\n Please fix your mistakes."};
  auto with = [&call](tool_errors errors) {
    return answers({failing()}, call, {.handle_tool_errors = std::move(errors)});
  };
  BOOST_TEST((with(true) == generic));
  BOOST_TEST((with({"KeyError", "ValueError"}) == generic));
  BOOST_TEST((with("try again") == texts{"try again"}));
  BOOST_TEST(
    (with(tool_errors::handler{[](const error& e) { return e.type(); }}) == texts{"ValueError"}));
  for (const tool_errors& errors :
       {tool_errors{}, tool_errors{false}, tool_errors{"KeyError", "x"}}) {
    auto out = run({failing()}, calls(call), {.handle_tool_errors = errors});
    BOOST_REQUIRE(!out);
    BOOST_TEST(reference_name(out.error()) == "ValueError");
  }
}

struct class_row {
  const char* thrown;
  const char* caught_by;
  bool fits;
};
std::ostream& operator<<(std::ostream& out, const class_row& r) {
  return out << r.thrown << " by " << r.caught_by;
}
const class_row class_rows[] = {
  {"KeyError", "LookupError", true},
  {"IndexError", "LookupError", true},
  {"ZeroDivisionError", "ArithmeticError", true},
  {"OverflowError", "ArithmeticError", true},
  {"ConnectionError", "OSError", true},
  {"ConnectionRefusedError", "OSError", true},
  {"TimeoutError", "OSError", true},
  {"FileNotFoundError", "OSError", true},
  {"UnicodeDecodeError", "ValueError", true},
  {"NotImplementedError", "RuntimeError", true},
  {"ModuleNotFoundError", "ImportError", true},
  {"GraphRecursionError", "RuntimeError", true},
  {"ToolInvocationError", "ToolException", true},
  {"KeyError", "Exception", true},
  {"Own", "Exception", true},
  {"LookupError", "KeyError", false},
  {"KeyError", "ValueError", false},
  {"Own", "RuntimeError", false},
  {"ConnectionError", "IOError", true},
  {"std::out_of_range", "std::logic_error", true},
};
BOOST_DATA_TEST_CASE(a_class_stands_for_those_derived_from_it, class_rows, row) {
  tool fails{"fail", "", [row]() -> int { throw node_error{row.thrown, "no"}; }};
  auto out = run({fails}, calls({{.name = "fail", .id = "1"}}),
                 {.handle_tool_errors = tool_errors{std::vector<std::string>{row.caught_by}}});
  BOOST_TEST(out.has_value() == row.fits);
}

BOOST_AUTO_TEST_CASE(arguments_that_do_not_fit_have_one_text_under_every_policy) {
  const std::vector<tool_call> call{{.name = "add", .args = value{{"a", "x"}}, .id = "1"}};
  auto told = answers({adder()}, call);
  for (const tool_errors& errors : {tool_errors{true}, tool_errors{"ToolException", "x"}})
    BOOST_TEST((answers({adder()}, call, {.handle_tool_errors = errors}) == told));
}

BOOST_AUTO_TEST_CASE(what_is_not_a_std_exception_is_an_error_like_any_other) {
  for (auto where : {lane::standard, lane::blocking}) {
    tool fails{"fail", "", []() -> int { throw 42; }, {.lane = where}};
    tool hangs{"fail", "", []() -> coro<int> {
                 throw 42;
                 co_return 1;
               }};
    for (const auto& t : {fails, hangs}) {
      const std::vector<tool_call> call{{.name = "fail", .id = "1"}};
      BOOST_TEST(
        (answers({t}, call, {.handle_tool_errors = true})
         == texts{"Error: int('a tool threw something that is not a std::exception')\n Please fix "
                  "your mistakes."}));
      BOOST_TEST(!run({t}, calls(call)).has_value());
    }
  }
}

BOOST_AUTO_TEST_CASE(a_tool_that_wants_the_messages_alone_gets_a_list_that_is_the_input) {
  auto graph = [](const tool& t) {
    state_graph<> g{{{"__root__", add_messages}}};
    g.add_node("tools", tool_node{{t}});
    g.add_edge(START, "tools");
    return g.compile();
  };
  auto ask = [&](const tool& t) {
    runtime rt;
    return rt.load(graph(t)).try_invoke(
      value::list({ai_message("", {{.name = t.name(), .id = "1"}})}));
  };
  tool counts{"counts", "", [](injected_state<"messages"> m) { return m->size(); }};
  auto out = ask(counts);
  BOOST_REQUIRE(out.has_value());
  BOOST_TEST(message_text(out->value()[1]) == "1");
  tool wants{"wants", "", [](injected_state<"messages"> m, injected_state<"n", int> n) {
               return static_cast<int>(m->size()) + *n;
             }};
  auto refused = ask(wants);
  BOOST_REQUIRE(!refused);
  BOOST_TEST(
    refused.error().text()
    == "Invalid input to ToolNode. Tool wants requires the graph's state as input, a map. State "
       "should contain fields messages, n.");
}

BOOST_AUTO_TEST_CASE(a_list_that_removes_all_messages_answers_its_call_too) {
  for (bool answers_it : {false, true}) {
    tool clears{"clears", "", [answers_it](injected_tool_call_id id) {
                  std::vector<tool_output::part> parts{
                    command{.update = state_update{}.set(
                              "messages", value::list({remove_message(REMOVE_ALL_MESSAGES)}))}};
                  if (answers_it)
                    parts.emplace_back(tool_message("cleared", *id));
                  return tool_output{std::move(parts)};
                }};
    auto out = run({clears}, calls({{.name = "clears", .id = "1"}}));
    BOOST_TEST(out.has_value() == answers_it);
    if (!out)
      BOOST_TEST(out.error().text().find("returned a list with 0 messages") != std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(a_tool_s_own_answer_to_an_error_comes_first) {
  tool own{"fail",
           "",
           []() -> int { throw std::runtime_error{"no"}; },
           {.on_error = [](const error& e) { return "sorry: " + e.text(); }}};
  BOOST_TEST((answers({own}, {{.name = "fail", .id = "1"}}) == texts{"sorry: no"}));
}

// ---- what tools give back -------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(content_and_artifact_are_kept_apart) {
  tool both{"both", "", [] { return tool_output::with_artifact("text", value{{"k", 1}}); }};
  auto out = run({both}, calls({{.name = "both", .id = "1"}})).value().value();
  BOOST_TEST(message_member(out["messages"][2], "artifact") == (value{{"k", 1}}));
}

BOOST_AUTO_TEST_CASE(a_command_must_answer_its_call) {
  tool silent{"silent", "", [] { return command{.update = state_update{}.set("n", 1)}; }};
  tool right{"right", "", [](injected_tool_call_id id) {
               return command{.update = state_update{}.set("n", 2).set(
                                "messages", value::list({tool_message("ok", *id)}))};
             }};
  auto refused = run({silent}, calls({{.name = "silent", .id = "1"}}));
  BOOST_REQUIRE(!refused);
  BOOST_TEST(reference_name(refused.error()) == "ValueError");
  auto out = run({right}, calls({{.name = "right", .id = "1"}})).value().value();
  BOOST_TEST(out["n"] == value(2));
  BOOST_TEST(message_member(out["messages"][2], "name") == value("right"));
}

// ---- wrappers -------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_wrapper_may_change_a_call_run_it_again_or_answer_it_itself) {
  tool_node_options options;
  options.wrap_tool_call = [](tool_call_request request, tool_executor run) -> coro<tool_output> {
    if (request.call()["id"] == value("own"))
      co_return tool_output{tool_message("by hand", "own")};
    auto first = run(request);
    auto once = co_await first;
    auto more = request.with_call(request.call().with("args", value{{"a", 10}}));
    auto second = run(more);
    auto twice = co_await second;
    co_return twice;
  };
  BOOST_TEST(
    (answers({adder()},
             {{.name = "add", .args = value{{"a", 1}}, .id = "1"}, {.name = "add", .id = "own"}},
             options)
     == texts{"11", "by hand"}));
}

BOOST_AUTO_TEST_CASE(a_wrapper_may_bring_a_tool_that_the_node_does_not_know) {
  tool_node_options options;
  options.wrap_tool_call = [](tool_call_request request, tool_executor run) -> coro<tool_output> {
    if (!request.tool())
      request = request.with_tool(adder());
    auto known = run(std::move(request));
    auto out = co_await known;
    co_return out;
  };
  BOOST_TEST((answers({failing()}, {{.name = "add", .args = value{{"a", 1}}, .id = "1"}}, options)
              == texts{"2"}));
}

BOOST_AUTO_TEST_CASE(a_wrapper_may_give_a_tool_another_state) {
  tool_node_options options;
  options.wrap_tool_call = [](tool_call_request request, tool_executor run) -> coro<tool_output> {
    auto first = run(request.with_state(request.state().with("user", "bob"))
                       .with_call(request.call().with("args", value::map())));
    auto other = co_await first;
    auto second = run(request);
    auto own = co_await second;
    auto both = message_text(std::get<value>(own.parts().at(0))) + " and "
                + message_text(std::get<value>(other.parts().at(0)));
    co_return tool_output{tool_message(both, "1")};
  };
  tool who{"who", "", [](injected_state<"user", std::string> user) { return *user; }};
  state_graph<> g{{{"messages", add_messages}, {"user", last_value}}};
  g.add_node("tools", tool_node{{who}, options});
  g.add_edge(START, "tools");
  runtime rt;
  auto out = rt.load(g.compile())
               .invoke({{"messages", value::list({ai_message("", {{.name = "who", .id = "1"}})})},
                        {"user", "ada"}});
  BOOST_TEST(message_text(out.value()["messages"][1]) == "ada and bob");
}

// ---- events ---------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(readers_of_tools_see_calls_begin_speak_and_end) {
  tool talk{"talk", "", [](arg<"x", int> x, tool_runtime& runtime) {
              runtime.emit_output_delta("piece");
              return *x;
            }};
  runtime rt;
  auto parts = rt.load(graph_of({talk, failing()}, {.handle_tool_errors = true}))
                 .stream(calls({{.name = "talk", .args = value{{"x", 1}, {"y", 2}}, .id = "1"},
                                {.name = "fail", .id = "2"}}),
                         {}, {stream_mode::tools});
  std::string seen;
  while (auto part = parts.next()) {
    seen += part->data["event"].as<std::string>() + ' ';
    if (part->data["event"] == value("tool-started") && part->data["tool_name"] == value("talk"))
      BOOST_TEST(part->data["input"] == (value{{"x", 1}}));
  }
  BOOST_TEST(seen == "tool-started tool-output-delta tool-finished tool-started tool-error ");
}

// ---- one at a time --------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(calls_that_run_one_at_a_time_keep_their_order_and_others_run_beside_them) {
  std::mutex mutex;
  std::vector<std::int64_t> begun;
  std::atomic<int> at_once{0};
  std::atomic<int> most{0};
  auto body = [&](arg<"x", std::int64_t> x) {
    most = std::max(most.load(), ++at_once);
    std::this_thread::yield();
    {
      std::lock_guard guard{mutex};
      begun.push_back(*x);
    }
    --at_once;
    return *x;
  };
  tool_options in_turn;
  in_turn.one_at_a_time = true;
  tool step{"step", "", body, in_turn};
  std::latch both{2};
  tool meet{"meet", "", [&both] {
              both.arrive_and_wait();
              return 0;
            }};
  std::vector<tool_call> list;
  for (std::int64_t i = 0; i < 10; ++i)
    list.push_back({.name = "step", .args = value{{"x", i}}, .id = std::to_string(i)});
  list.push_back({.name = "meet", .id = "m1"});
  list.push_back({.name = "meet", .id = "m2"});
  auto in_order = [&] {
    bool out = std::ranges::is_sorted(begun) && begun.size() == 10 && most == 1;
    begun.clear();
    return out;
  };
  BOOST_TEST(answers({step, meet}, list).size() == 12u);
  BOOST_TEST(in_order());
  for (const char* version : {"v1", "v2"}) {
    runtime rt;
    auto model = std::make_shared<scripted_model>(
      std::vector<scripted_model::answer>{ai_message("", {list.begin(), list.begin() + 10}), "ok"});
    react_agent_options options{.model = model, .tools = {step, meet}};
    options.version = version;
    auto out = rt.load(create_react_agent(options))
                 .invoke(value{{"messages", value::list({human_message("hi")})}})
                 .value();
    BOOST_TEST(contents(out).size() == 10u);
    BOOST_TEST(in_order(), version);
  }
}

// ---- routes ---------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(the_route_leads_to_the_tools_when_the_last_message_calls) {
  auto where = [](const value& state) { return tools_condition{}(state_view{state}); };
  BOOST_TEST(where(calls({{.name = "add", .id = "1"}})) == "tools");
  BOOST_TEST(where(value{{"messages", value::list({ai_message("done")})}}) == END);
  BOOST_CHECK_THROW(where(value{{"messages", value::list()}}), node_error);
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace troupe
