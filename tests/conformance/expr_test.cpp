// Expressions and statements of the cases, evaluated outside a run.
#include "tests/conformance/body.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <array>

namespace troupe::conformance {
namespace {

struct sample {
  const char* expr;
  const char* expected;

  friend std::ostream& operator<<(std::ostream& out, const sample& s) { return out << s.expr; }
};

// Evaluated on the input {"x": 1, "list": [1, 2], "none": null}.
constexpr std::array samples{
  sample{R"({"a": [{"$add": [1, 2]}, null], "b": "text"})", R"({"a": [3, null], "b": "text"})"},
  sample{R"({"$get": "x"})", "1"},
  sample{R"([{"$get": "y"}, {"$has": "y"}, {"$has": "none"}])", "[null, false, true]"},
  sample{R"({"$in": true})", R"({"list": [1, 2], "none": null, "x": 1})"},
  sample{R"({"$quote": {"$get": "x"}})", R"({"$get": "x"})"},

  sample{R"([{"$add": ["a", "b"]}, {"$add": [1, 0.5]}, {"$add": [[1], [2]]}])",
         R"(["ab", 1.5, [1, 2]])"},
  sample{R"([{"$sub": [3, 5]}, {"$mul": [3, 5]}, {"$mod": [7, 3]}, {"$mod": [-1, 3]}])",
         "[-2, 15, 1, 2]"},
  sample{R"([{"$eq": [1, 1.0]}, {"$eq": [true, 1]}, {"$eq": [[{"a": 1}], [{"a": 1.0}]]}])",
         "[true, false, true]"},
  sample{R"([{"$lt": [1, 2]}, {"$lt": ["b", "a"]}, {"$gt": [2, 1.5]}])", "[true, false, true]"},
  sample{R"([{"$and": [1, []]}, {"$and": [1, "x"]}, {"$not": null}])", "[false, true, true]"},
  sample{R"([{"$or": [0, "", {}]}, {"$or": [0, 1]}])", "[false, true]"},
  sample{R"({"$and": [0, {"$raise": ["ValueError", ""]}]})", "false"},
  sample{R"({"$or": [1, {"$raise": ["ValueError", ""]}]})", "true"},
  sample{R"({"$if": [0, {"$raise": ["ValueError", ""]}, "other"]})", R"("other")"},

  sample{R"([{"$len": "né"}, {"$len": [1]}, {"$len": {"a": 1}}, {"$len": null}])", "[2, 1, 1, 0]"},
  sample{R"([{"$at": [[1, 2], -1]}, {"$at": [[1, 2], 2]}])", "[2, null]"},
  sample{R"([{"$at": [{"a": 5}, "a"]}, {"$at": [null, "a"]}])", "[5, null]"},
  sample{R"([{"$str": 12}, {"$str": "s"}, {"$sum": [1, 2, 0.5]}, {"$sum": []}])",
         R"(["12", "s", 3.5, 0])"},
  sample{R"([{"$sorted": [3, 1, 2]}, {"$keys": {"b": 1, "a": 2}}, {"$range": 3}])",
         R"([[1, 2, 3], ["a", "b"], [0, 1, 2]])"},
  sample{R"({"$map": [{"$get": "list"}, "i", {"$mul": [{"$var": "i"}, 10]}]})", "[10, 20]"},
  sample{R"([{"$count": "a"}, {"$count": "b"}, {"$count": "a"}])", "[1, 1, 2]"},

  sample{R"({"$send": ["n", {"i": 1}]})", R"({"$send": ["n", {"i": 1}]})"},
  sample{R"({"$overwrite": [1]})", R"({"$overwrite": [1]})"},
  sample{R"({"$at": [{"$msg": {"role": "user", "content": "hi", "id": "u"}}, "content"]})",
         R"("hi")"},
};

state_view sample_input() {
  return state_view{from_json(R"({"x": 1, "list": [1, 2], "none": null})").value()};
}

script_json parsed(std::string_view text) {
  return script_json::parse(text);
}

BOOST_AUTO_TEST_SUITE(conformance_expr)

BOOST_DATA_TEST_CASE(expressions_evaluate, boost::unit_test::data::make(samples)) {
  world w{""};
  auto input = sample_input();
  scope s{w, &input};
  BOOST_TEST(evaluate(parsed(sample.expr), s).to_value() == from_json(sample.expected).value());
}

BOOST_AUTO_TEST_CASE(updates_keep_the_order_of_channels) {
  world w{""};
  scope s{w};
  auto update = update_of(evaluate(parsed(R"({"z": 1, "a": {"$add": [1, 1]}})"), s));
  BOOST_TEST_REQUIRE(update.entries().size() == 2u);
  BOOST_TEST(update.entries()[0].first == "z");
  BOOST_TEST(update.entries()[1].first == "a");
  BOOST_TEST(update.entries()[1].second == value(2));
}

BOOST_AUTO_TEST_CASE(a_list_with_commands_is_several_parts) {
  world w{""};
  scope s{w};
  auto parts = output_of(evaluate(parsed(R"([{"$command": {"update": {"a": 1}, "goto": ["b",
    {"$send": ["c", 1]}]}}, null, {"a": 2}])"),
                                  s))
                 .parts;
  BOOST_TEST_REQUIRE(parts.size() == 2u);
  const auto& first = std::get<command>(parts[0]);
  BOOST_TEST(first.update->entries().size() == 1u);
  BOOST_TEST((first.goto_.list() == std::vector<destination>{"b", send{"c", 1}}));
  BOOST_TEST(std::get<state_update>(parts[1]).entries().at(0).second == value(2));
}

BOOST_AUTO_TEST_CASE(a_body_returns_from_within_loops) {
  world w{""};
  scope s{w};
  auto body = parsed(R"([{"let": ["n", 0]},
    {"for": ["i", {"$range": 5}, [
      {"let": ["n", {"$add": [{"$var": "n"}, {"$var": "i"}]}]},
      {"if": [{"$gt": [{"$var": "n"}, 2]}, [{"return": {"n": {"$var": "n"}}}]]}]]},
    {"return": "not reached"}])");
  BOOST_TEST(run_body(body, s).to_value() == (value::map({{"n", 3}})));
  BOOST_TEST(run_body(parsed("[]"), s).is_null());
}

BOOST_AUTO_TEST_CASE(a_workflow_may_save_something_else_than_it_returns) {
  world w{""};
  auto input = sample_input();
  scope s{w, &input};
  auto returned = run_body(parsed(R"([{"final": [{"$get": "x"}, "saved"]}, {"return": 2}])"), s);
  BOOST_TEST(returned.to_value() == value(1));
  BOOST_TEST((s.saved == value("saved")));
}

BOOST_AUTO_TEST_CASE(a_body_waits_when_it_calls_a_graph_or_a_task_anywhere) {
  BOOST_TEST(waits(parsed(R"([{"if": [true, [{"call": ["r", "g", null]}]]}])")));
  BOOST_TEST(waits(parsed(R"([{"start": ["f", "t"]}])")));
  BOOST_TEST(waits(parsed(R"([{"return": {"x": [{"$result": "f"}]}}])")));
  BOOST_TEST(!waits(parsed(R"([{"let": ["call", "start"]}, {"return": {"$get": "x"}}])")));
}

BOOST_AUTO_TEST_CASE(members_of_a_term_print_in_their_order) {
  world w{""};
  scope s{w};
  auto t = evaluate(parsed(R"({"b": [1, null, 1.5], "a": {"$add": ["x\ty", "é"]}, "$c": {}})"), s);
  BOOST_TEST(json_text(t) == R"({"b": [1, null, 1.5], "a": "x\tyé", "$c": {}})");
}

BOOST_AUTO_TEST_CASE(a_message_is_a_value_of_its_members) {
  world w{""};
  scope s{w};
  auto t = evaluate(parsed(R"({"$msg": {"role": "tool", "content": "c", "id": null,
    "tool_call_id": "t"}})"),
                    s);
  BOOST_TEST_REQUIRE(t.as_message());
  auto message = t.to_value();
  BOOST_TEST(message.payload()["tool_call_id"] == value("t"));
  BOOST_TEST(message.payload()["role"] == value("tool"));
}

BOOST_AUTO_TEST_CASE(a_raise_is_a_node_error_of_its_class) {
  world w{""};
  scope s{w};
  auto body = parsed(R"([{"raise": ["KeyError", {"$add": ["no ", "key"]}]}])");
  BOOST_CHECK_EXCEPTION(run_body(body, s), node_error, [](const node_error& e) {
    return e.type() == "KeyError" && e.what() == std::string{"no key"};
  });
}

BOOST_AUTO_TEST_CASE(what_is_not_known_is_refused_and_remembered) {
  world w{""};
  scope s{w};
  BOOST_CHECK_THROW(evaluate(parsed(R"({"$unheard": 1})"), s), unsupported);
  BOOST_CHECK_THROW(run_body(parsed(R"([{"$unheard_too": "messages"}])"), s), unsupported);
  BOOST_CHECK_EXCEPTION(w.check(), unsupported, [](const unsupported& e) {
    return e.what() == std::string{"unsupported: $unheard"};
  });
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace
} // namespace troupe::conformance
