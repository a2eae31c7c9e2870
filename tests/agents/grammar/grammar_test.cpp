// Grammars of JSON Schemas: what they accept, what they don't, and what no grammar can be made of.
#include "tests/agents/grammar/gbnf_recogniser.hpp"
#include "tests/agents/grammar/grammar_features.hpp"
#include "tests/agents/grammar/json_trees.hpp"

#include <troupe/agents/grammar.hpp>
#include <troupe/agents/schema_check.hpp>
#include <troupe/agents/tool.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <functional>
#include <random>
#include <string>
#include <vector>

namespace troupe {
namespace {

namespace data = boost::unit_test::data;
using test::gbnf_recogniser;

value json(std::string_view text) {
  return from_json(text, json_form::plain).value();
}

gbnf_recogniser grammar_of(std::string_view schema) {
  return gbnf_recogniser{gbnf_of_schema(json(schema))};
}

std::string refusal(const std::function<std::string()>& make) {
  try {
    make();
  } catch (const error& e) {
    BOOST_TEST((e.code() == errc::invalid_value));
    return e.message();
  }
  return "no refusal";
}
std::string refusal_of(const value& schema) {
  return refusal([&] { return gbnf_of_schema(schema); });
}

} // namespace

BOOST_AUTO_TEST_SUITE(agents_grammar)

BOOST_DATA_TEST_CASE(grammar_accepts_what_fits_a_schema_and_nothing_else,
                     data::make(test::grammar_features), f) {
  auto grammar = grammar_of(f.schema);
  for (const auto& text : f.accepted)
    BOOST_TEST(grammar.accepts(text), text << " was not accepted");
  for (const auto& text : f.refused)
    BOOST_TEST(!grammar.accepts(text), text << " was accepted");
}

// For schemas with only keywords that a grammar can hold: each value that fits is accepted, and
// each change that the check refuses is refused by the grammar, too.
BOOST_DATA_TEST_CASE(grammar_and_check_agree_on_random_schemas, data::xrange(300u), seed) {
  test::json_trees made{seed};
  auto schema = made.schema();
  BOOST_TEST_CONTEXT("seed " << seed << ": " << to_json(schema)) {
    gbnf_recogniser grammar{gbnf_of_schema(schema)};
    for (int i = 0; i < 5; ++i) {
      auto tree = made.fitting(schema);
      BOOST_REQUIRE(check_schema(schema, tree.as_value()).empty());
      BOOST_TEST(grammar.accepts(tree.text()), tree.text() << " was not accepted");
      for (int k = 0; k < 5; ++k) {
        auto other = made.changed(tree);
        if (!check_schema(schema, other.as_value()).empty())
          BOOST_TEST(!grammar.accepts(other.text()), other.text() << " was accepted");
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(random_changes_are_refused_often_enough_to_mean_something) {
  std::size_t refused = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    test::json_trees made{seed};
    auto schema = made.schema();
    auto other = made.changed(made.fitting(schema));
    refused += check_schema(schema, other.as_value()).empty() ? 0 : 1;
  }
  BOOST_TEST(refused > 100u);
}

BOOST_DATA_TEST_CASE(grammar_of_a_range_accepts_its_integers_and_no_others, data::xrange(60u),
                     seed) {
  std::mt19937 dice{seed};
  auto least = static_cast<std::int64_t>(dice() % 2400) - 1200;
  auto most = least + static_cast<std::int64_t>(dice() % (seed % 2 == 0 ? 20 : 1500));
  gbnf_recogniser grammar{
    gbnf_of_schema(value{{"type", "integer"}, {"minimum", least}, {"maximum", most}})};
  for (auto n = least - 120; n <= most + 120; ++n)
    if (grammar.accepts(std::to_string(n)) != (n >= least && n <= most))
      BOOST_ERROR(n << " from " << least << " to " << most);
}

BOOST_AUTO_TEST_CASE(grammar_holds_what_a_tool_declares) {
  tool t{"t", "d", [](arg<"a", std::int64_t>, arg<"b", std::optional<std::vector<std::string>>>) {
           return 1;
         }};
  gbnf_recogniser grammar{gbnf_of_schema(t.parameters())};
  BOOST_TEST(grammar.accepts(R"({"a": 1})"));
  BOOST_TEST(grammar.accepts(R"({"a": 1, "b": ["x", "y"]})"));
  BOOST_TEST(grammar.accepts(R"({"a": 1, "b": null})"));
  BOOST_TEST(!grammar.accepts(R"({"b": []})"));
  BOOST_TEST(!grammar.accepts(R"({"a": 1.5})"));
}

// ---- what is refused ----------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(schema_that_makes_no_grammar_is_refused_by_keyword_and_place) {
  const std::vector<std::pair<const char*, const char*>> cases{
    {R"({"properties":{"a":{"type":"strng"}}})", "`#/properties/a/type`: unknown type: \"strng\""},
    {R"({"type":["string",1]})", "`#/type`: unknown type"},
    {R"({"type":"array","items":[{}]})", "`#/items`: not a schema"},
    {R"({"properties":[]})", "`#/properties`: not an object"},
    {R"({"required":"a"})", "`#/required`: not a list"},
    {R"({"required":[1]})", "`#/required`: not a list of names"},
    {R"({"enum":"a"})", "`#/enum`: not a list"},
    {R"({"anyOf":{}})", "`#/anyOf`: not a list"},
    {R"({"minLength":"2"})", "`#/minLength`: not an integer"},
    {R"({"anyOf":[{"$ref":"#/$defs/x"}]})",
     "`#/anyOf/$ref`: not a part of the schema: \"#/$defs/x\""},
    {R"({"$ref":"https://example.com/a"})", "`#/$ref`: not a part of the schema"},
    {R"({"$ref":1})", "`#/$ref`: not a part of the schema"},
    {R"("a")", "`#`: not a schema"},
    {"false", "`#`: no JSON fits the schema"},
    {R"({"enum":[]})", "`#`: no JSON fits the schema"},
    {R"({"type":"string","const":1})", "`#`: no JSON fits the schema"},
    {R"({"type":"string","minLength":3,"maxLength":2})", "`#`: no JSON fits the schema"},
    {R"({"type":"array","items":false,"minItems":1})", "`#`: no JSON fits the schema"},
    {R"({"type":"integer","minimum":3,"exclusiveMaximum":3})", "`#`: no JSON fits the schema"},
    {R"({"type":"integer","minimum":1e18})", "`#`: no JSON fits the schema"},
    {R"({"properties":{"a":false},"required":["a"]})", "`#`: no JSON fits the schema"},
    {R"({"required":["a"],"additionalProperties":false})", "`#`: no JSON fits the schema"},
    {R"({"anyOf":[{"$ref":"#"}]})", "`#`: no JSON fits the schema"},
    {R"({"properties":{"a":{"$ref":"#"}},"required":["a"]})", "no finite JSON fits"},
    {R"({"properties":{"b":{"$ref":"#/$defs/n"}},"$defs":{"n":{"properties":{"a":
         {"$ref":"#/$defs/n"}},"required":["a"]}}})",
     "no finite JSON fits the schema at `#/properties/b`"}};
  for (auto [schema, wanted] : cases) {
    auto said = refusal_of(json(schema));
    BOOST_TEST(said.find(wanted) != said.npos, schema << ": " << said);
  }
}

BOOST_AUTO_TEST_CASE(hostile_names_and_texts_stay_in_their_literals) {
  const std::string hostile = "\"] ::= \\x00\n\r root [^-a]{9}|#\t\x7f'😀";
  auto schema = value{{"type", "object"},
                      {"properties", value::map({{hostile, value{{"const", hostile}}}})},
                      {"required", value::list({value(hostile)})},
                      {"additionalProperties", value{{"type", "null"}}}};
  gbnf_recogniser grammar{gbnf_of_schema(schema)};
  auto name = to_json(value(hostile));
  BOOST_TEST(grammar.accepts("{" + name + ":" + name + "}"));
  BOOST_TEST(grammar.accepts("{" + name + ":" + name + ",\"x\":null}"));
  BOOST_TEST(!grammar.accepts("{" + name + ":" + name + "," + name + ":null}"));
  BOOST_TEST(!grammar.accepts("{" + name + ":\"\"}"));
  auto broken = value{{"properties", value::map({{"a\xff", value::map()}})}};
  BOOST_TEST(gbnf_recogniser{gbnf_of_schema(broken)}.accepts("{}")); // no JSON has such a name
  BOOST_TEST(refusal_of(value{{"const", value::bytes({})}}).find("no JSON fits")
             != std::string::npos);
}

// Whatever is given for a schema makes a grammar that can be read, without loops, or is refused.
BOOST_DATA_TEST_CASE(no_schema_makes_a_grammar_that_is_none, data::xrange(1000u), seed) {
  auto schema = test::json_trees{seed}.any_schema();
  BOOST_TEST_CONTEXT("seed " << seed << ": " << to_json(schema)) {
    std::string grammar;
    try {
      grammar = gbnf_of_schema(schema);
    } catch (const error& e) {
      BOOST_TEST((e.code() == errc::invalid_value));
      return;
    }
    gbnf_recogniser recogniser{grammar};
    bool refers = to_json(schema).find("$ref") != std::string::npos;
    for (const auto* text : {"{}", "[]", "[[1]]", "1", "\"a\"", "null", R"({"a":{"a":1},"b":2})"})
      if (recogniser.accepts(text) && !refers) // the check takes too long for loops of references
        BOOST_TEST(check_schema(schema, json(text)).empty(), text << " was accepted");
  }
}

// ---- limits -------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(grammar_is_bounded_in_depth) {
  auto nested = [](std::size_t levels) {
    auto out = value{{"type", "null"}};
    for (; levels > 0; --levels)
      out = value{{"type", "array"}, {"items", out}};
    return out;
  };
  gbnf_of_schema(nested(limits::grammar_depth_max));
  BOOST_TEST(refusal_of(nested(limits::grammar_depth_max + 1)).find("deeper than 64")
             != std::string::npos);
  auto choices = value{{"type", "null"}};
  for (std::size_t i = 0; i < 2 * limits::grammar_depth_max; ++i)
    choices = value{{"anyOf", value::list({choices})}, {"minLength", static_cast<int>(i)}};
  BOOST_TEST(refusal_of(choices).find("deeper than 64") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(grammar_is_bounded_in_schemas) {
  auto choices = [](std::size_t n) {
    std::vector<value> out;
    for (std::size_t i = 0; i < n; ++i)
      out.emplace_back(static_cast<std::int64_t>(i));
    return value{{"enum", value::list(std::move(out))}};
  };
  gbnf_of_schema(choices(limits::grammar_schemas_max - 2)); // the schema counts where it is used
  BOOST_TEST(refusal_of(choices(limits::grammar_schemas_max)).find("more than 10000 schemas")
             != std::string::npos);
  auto all = value::map(); // 4 to the power of 12
  std::vector<value> parts;
  for (int i = 0; i < 12; ++i) {
    std::vector<value> forms;
    for (int k = 0; k < 4; ++k)
      forms.push_back(value{{"minLength", 4 * i + k}});
    parts.push_back(value{{"anyOf", value::list(std::move(forms))}});
  }
  BOOST_TEST(refusal_of(value{{"allOf", value::list(std::move(parts))}}).find("more than 10000")
             != std::string::npos);
}

BOOST_AUTO_TEST_CASE(grammar_is_bounded_in_bytes) {
  auto one = [](std::size_t size) { return value{{"const", std::string(size, 'x')}}; };
  auto grammar = gbnf_of_schema(one(limits::grammar_bytes_max - 100));
  BOOST_TEST(grammar.size() <= limits::grammar_bytes_max + 1000);
  BOOST_TEST(refusal_of(one(limits::grammar_bytes_max)).find("more than 1048576 bytes")
             != std::string::npos);
  auto open = value{{"properties", value::map({{std::string(100'000, 'x'), value::map()}})},
                    {"additionalProperties", true}};
  BOOST_TEST(refusal_of(open).find("bytes") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(grammar_counts_up_to_a_bound_and_no_further) {
  auto text = [](std::int64_t size) {
    return '"' + std::string(static_cast<std::size_t>(size), 'x') + '"';
  };
  constexpr auto most = limits::grammar_repeat_max;
  gbnf_recogniser counted{gbnf_of_schema(value{{"type", "string"}, {"maxLength", most}})};
  BOOST_TEST(counted.accepts(text(most)));
  BOOST_TEST(!counted.accepts(text(most + 1)));
  gbnf_recogniser open{gbnf_of_schema(value{{"type", "string"}, {"maxLength", most + 1}})};
  BOOST_TEST(open.accepts(text(most + 2))); // the check refuses it
  gbnf_recogniser least{gbnf_of_schema(value{{"type", "string"}, {"minLength", most + 1}})};
  BOOST_TEST(!least.accepts(text(most - 1)));
  BOOST_TEST(least.accepts(text(most)));
}

// ---- tools --------------------------------------------------------------------------------------

namespace {

const value two_tools = value::list(
  {json(R"({"name":"add","description":"Adds","parameters":{"type":"object","properties":{
            "a":{"type":"integer"}},"required":["a"]}})"),
   json(R"({"type":"function","function":{"name":"now","parameters":{"properties":{}}}})")});
constexpr auto add_call = R"([{"name": "add", "arguments": {"a": 1}}])";
constexpr auto now_call = R"([{"name":"now","arguments":{}}])";
constexpr auto both_calls =
  R"([{"name": "add", "arguments": {"a": 1}}, {"name":"now","arguments":{}}])";

gbnf_recogniser grammar_of_tools(const tool_answer_form& form) {
  return gbnf_recogniser{gbnf_of_tools(two_tools, form)};
}

std::string refusal_of_tools(const value& tools, const tool_answer_form& form) {
  return refusal([&] { return gbnf_of_tools(tools, form); });
}

} // namespace

BOOST_AUTO_TEST_CASE(answer_is_calls_or_text_unless_the_choice_says_which) {
  auto open = grammar_of_tools({});
  for (const auto* text : {add_call, now_call, both_calls, "It is \"42\".\n\n[1]", " [x]"})
    BOOST_TEST(open.accepts(text), text);
  for (const auto* text :
       {"", "[x]", R"([{"name": "sub", "arguments": {}}])", "[]",
        R"([{"name": "add", "arguments": {}}])", R"([{"name": "now", "arguments": {"a": 1}}])"})
    BOOST_TEST(!open.accepts(text), text);
  for (const auto& choice : {value("any"), value("required"), value(true)}) {
    auto must = grammar_of_tools({.tool_choice = choice});
    BOOST_TEST(must.accepts(both_calls));
    BOOST_TEST(!must.accepts("text"));
  }
  for (const auto& choice : {value("now"), json(R"({"type":"function","function":{"name":"now"}})"),
                             json(R"({"type":"tool","name":"now"})")}) {
    auto named = grammar_of_tools({.tool_choice = choice});
    BOOST_TEST(named.accepts(now_call));
    BOOST_TEST(!named.accepts(add_call));
    BOOST_TEST(!named.accepts("text"));
  }
  auto none = grammar_of_tools({.tool_choice = "none"});
  BOOST_TEST(none.accepts("text"));
  BOOST_TEST(!none.accepts(now_call));
}

BOOST_AUTO_TEST_CASE(answer_has_no_more_calls_than_it_may) {
  auto one = grammar_of_tools({.calls_max = 1});
  BOOST_TEST(one.accepts(add_call));
  BOOST_TEST(!one.accepts(both_calls));
  BOOST_TEST(grammar_of_tools({.calls_max = 2}).accepts(both_calls));
  for (std::uint32_t n : {0u, static_cast<std::uint32_t>(limits::grammar_repeat_max) + 1})
    BOOST_TEST(
      refusal_of_tools(two_tools, {.calls_max = n}).find("calls_max must be from 1 to 1000")
      != std::string::npos);
}

BOOST_AUTO_TEST_CASE(answer_beside_calls_is_data_where_there_is_a_schema) {
  auto schema = json(R"({"type":"object","properties":{"x":{"type":"integer"}},"required":["x"]})");
  auto data_or_calls = grammar_of_tools({.response_schema = schema});
  BOOST_TEST(data_or_calls.accepts(R"({"x": 1})"));
  BOOST_TEST(data_or_calls.accepts(add_call));
  BOOST_TEST(!data_or_calls.accepts("text"));
  auto only_data = grammar_of_tools({.tool_choice = "none", .response_schema = schema});
  BOOST_TEST(only_data.accepts(R"({"x": 1})"));
  BOOST_TEST(!only_data.accepts(add_call));
  for (const auto* list : {R"({"type":"array"})", R"({})", R"({"enum":[1,[2]]})",
                           R"({"anyOf":[{"type":"null"},{"type":"array"}]})"})
    BOOST_TEST(refusal_of_tools(two_tools, {.response_schema = json(list)}).find("look like calls")
               != std::string::npos);
}

BOOST_AUTO_TEST_CASE(tools_that_make_no_grammar_are_refused_by_name) {
  auto says = [](const std::string& refusal, const char* what) {
    BOOST_TEST(refusal.find(what) != refusal.npos, refusal);
  };
  says(refusal_of_tools(two_tools, {.tool_choice = "sub"}), "unknown tool `sub`");
  says(refusal_of_tools(value::list(), {.tool_choice = "any"}), "the list of tools is empty");
  says(refusal_of_tools(two_tools, {.tool_choice = 7}), "unknown choice: 7");
  says(refusal_of_tools(value::list({json(R"({"type":"web_search"})")}), {}), "not a function");
  says(refusal_of_tools(value::list({json(R"({"name":"t","parameters":{"type":"string"}})")}), {}),
       "`t#`: no JSON fits the schema");
  says(refusal_of_tools(
         value::list({json(R"({"name":"t","parameters":{"properties":{"a":{"type":"x"}}}})")}), {}),
       "`t#/properties/a/type`");
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
