// Values as JSON text and as nlohmann documents.
#include "tests/graph/samples.hpp"

#include <troupe/json.hpp>
#include <troupe/limits.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <sstream>

namespace troupe {

namespace {

namespace data = boost::unit_test::data;
using limits::value_depth_max;

void check_round_trip(const value& v) {
  for (int indent : {-1, 0, 2}) {
    auto back = from_json(to_json(v, indent));
    BOOST_REQUIRE(back.has_value());
    BOOST_TEST((*back == v));
  }
  auto document = to_nlohmann(v);
  auto back = from_nlohmann(document);
  BOOST_REQUIRE(back.has_value());
  BOOST_TEST((*back == v));
  BOOST_TEST((document == nlohmann::json::parse(to_json(v))));
}

struct text_case {
  const char* text;
  value read;
};
std::ostream& operator<<(std::ostream& out, const text_case& c) {
  return out << c.text;
}

const std::vector<text_case> other_json{
  {R"({"a":1,"b":2,"a":3})", {{"a", 3}, {"b", 2}}},
  {R"( [ 1 , 1.0 , -0 , 1e2 ] )", value::list({1, 1.0, 0, 100.0})},
  {R"({"$ref":"x"})", value::map({{"$ref", "x"}})},
  {R"({"$bytes":"not base64"})", value::map({{"$bytes", "not base64"}})},
  {R"({"$bytes":"YR=="})", value::map({{"$bytes", "YR=="}})}, // bits left over
  {R"({"$bytes":5})", value::map({{"$bytes", 5}})},
  {R"({"$double":"1"})", value::map({{"$double", "1"}})},
  {R"({"$send":["a"]})", value::map({{"$send", value::list({"a"})}})},
  {R"({"$timestamp":"x"})", value::map({{"$timestamp", "x"}})},
  {R"({"$":1})", value::map({{"$", 1}})},
  {R"({"$$":1})", value::map({{"$", 1}})},
  {"9223372036854775807", 9223372036854775807},
  {"9223372036854775808", 9223372036854775808.0},
  {"-9223372036854775808", std::numeric_limits<std::int64_t>::min()},
  {R"("\u20ac\ud83d\ude00")", "\u20ac\U0001f600"},
};

const std::vector<std::string> no_json{
  "",      " ",   "{",        "[1,]",        "{\"a\"}", "nul",   "1 2", "[1]x",
  "{1:2}", "'a'", "\"\xff\"", "\"\\ud800\"", "nan",     "1e999", "01",  "\"a",
};

} // namespace

BOOST_AUTO_TEST_SUITE(graph_json)

BOOST_AUTO_TEST_CASE(every_kind_reads_back_as_it_was_printed) {
  for (const auto& [name, v] : samples::every_kind())
    BOOST_TEST_CONTEXT(name) check_round_trip(v);
}

BOOST_DATA_TEST_CASE(random_values_read_back_as_they_were_printed, data::xrange(300), seed) {
  check_round_trip(samples::random_values{static_cast<std::uint32_t>(seed)}.next());
}

BOOST_AUTO_TEST_CASE(text_has_one_form) {
  value v{{"b", {1, 1.0, -0.0, 1e300, true, nullptr, "q\"\n"}}, {"a", value::map()}};
  BOOST_TEST(to_json(v) == R"({"a":{},"b":[1,1.0,-0.0,1e+300,true,null,"q\"\n"]})");
  BOOST_TEST(to_json(value{{"a", {1, value::list()}}}, 2)
             == "{\n  \"a\": [\n    1,\n    []\n  ]\n}");
  std::ostringstream out;
  out << value{1, 2};
  BOOST_TEST(out.str() == "[1,2]");
}

BOOST_AUTO_TEST_CASE(kinds_that_are_no_json_print_as_dollar_objects) {
  BOOST_TEST(to_json(samples::some_bytes("ab")) == R"({"$bytes":"YWI="})");
  BOOST_TEST(to_json(std::nan("")) == R"({"$double":"nan"})");
  BOOST_TEST(to_json(-std::numeric_limits<double>::infinity()) == R"({"$double":"-inf"})");
  auto send = value::extension(value_kind::send, {"node", {{"x", 1}}});
  BOOST_TEST(to_json(send) == R"({"$send":["node",{"x":1}]})");
  auto stamp = value::extension(value_kind::timestamp, 12);
  BOOST_TEST(to_json(stamp, 1) == "{\n \"$timestamp\": 12\n}");
}

BOOST_AUTO_TEST_CASE(a_users_own_dollar_member_is_doubled_when_it_is_alone) {
  BOOST_TEST(to_json(value{{"$send", 1}}) == R"({"$$send":1})");
  BOOST_TEST(to_json(value{{"$$send", 1}}) == R"({"$$$send":1})");
  BOOST_TEST(to_json(value{{"$send", 1}, {"a", 2}}) == R"({"$send":1,"a":2})");
  auto inner = value::extension(value_kind::overwrite, value{{"$bytes", "YQ=="}});
  BOOST_TEST(to_json(inner) == R"({"$overwrite":{"$$bytes":"YQ=="}})");
  check_round_trip(inner);
}

BOOST_DATA_TEST_CASE(other_json_reads_by_the_rules, data::make(other_json)) {
  auto read = from_json(sample.text);
  BOOST_REQUIRE(read.has_value());
  BOOST_TEST(*read == sample.read);
}

BOOST_AUTO_TEST_CASE(plain_json_never_becomes_one_of_troupes_kinds) {
  auto read = from_json(
    R"({"a":{"$send":["n",1]},"b":{"$bytes":"aGk="},"c":18446744073709551615,"d":{"$$x":1,"$$x":2}})",
    json_form::plain);
  BOOST_REQUIRE(read);
  BOOST_TEST((*read)["a"].is_map());
  BOOST_TEST((*read)["b"]["$bytes"] == value("aGk="));
  BOOST_TEST((*read)["c"].is_double());
  BOOST_TEST((*read)["d"]["$$x"] == value(2));
}

BOOST_AUTO_TEST_CASE(plain_json_has_the_limits_of_values) {
  auto nested = [](std::size_t depth, const std::string& innermost) {
    return std::string(depth, '[') + innermost + std::string(depth, ']');
  };
  for (const auto* innermost : {"[]", "{}", R"({"$bytes":"aGk="})"}) {
    BOOST_TEST(!!from_json(nested(value_depth_max - 1, innermost), json_form::plain));
    BOOST_TEST(!from_json(nested(value_depth_max, innermost), json_form::plain));
  }
  BOOST_TEST(!from_json("{\"a\":\"\xff\"}", json_form::plain));
}

BOOST_DATA_TEST_CASE(text_that_is_no_json_is_refused, data::make(no_json)) {
  auto read = from_json(sample);
  BOOST_REQUIRE(!read.has_value());
  BOOST_TEST((read.error().code() == errc::invalid_value));
}

BOOST_AUTO_TEST_CASE(errors_name_the_byte) {
  BOOST_TEST(from_json("[1, 2, x]").error().message() == "read JSON: not JSON: at byte 8");
}

BOOST_AUTO_TEST_CASE(strings_that_are_no_utf8_print_with_replacements) {
  BOOST_TEST(to_json("a\xff") == "\"a\xef\xbf\xbd\"");
}

BOOST_DATA_TEST_CASE(depth_is_allowed_to_the_limit_and_not_past, data::make({false, true}), maps) {
  check_round_trip(samples::nested(value_depth_max, 1, maps));
  check_round_trip(samples::nested(value_depth_max, samples::some_bytes("x"), maps));
  check_round_trip(samples::nested(value_depth_max, std::nan(""), maps));
  auto stamp = value::extension(value_kind::timestamp, 1);
  check_round_trip(samples::nested(value_depth_max - 1, stamp, maps));
  for (const auto& innermost : {value::list(), value::map(), stamp}) {
    auto deeper = samples::nested(value_depth_max, innermost, maps);
    BOOST_CHECK_THROW(to_json(deeper), error);
    BOOST_CHECK_THROW(to_nlohmann(deeper), error);
    std::ostringstream out;
    out << deeper;
    BOOST_TEST(out.str().find("too deep") != std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(text_and_documents_past_the_depth_limit_are_refused) {
  auto wrap = [](std::string inner) {
    for (std::size_t i = 0; i < value_depth_max; ++i)
      inner = "[" + inner + "]";
    return inner;
  };
  BOOST_TEST(from_json(wrap("1")).has_value());
  BOOST_TEST(from_json(wrap(R"({"$bytes":""})")).has_value());
  for (auto inner : {"[]", "{}", R"({"$bytes":5})", R"({"$timestamp":5})", R"({"$bytes":[]})"}) {
    auto text = wrap(inner);
    auto read = from_json(text);
    BOOST_REQUIRE(!read.has_value());
    BOOST_TEST(read.error().message().find("too deep") != std::string::npos);
    BOOST_TEST(!from_nlohmann(nlohmann::json::parse(text)).has_value());
  }
  BOOST_TEST(!from_json(std::string(1'000'000, '[')).has_value());
  BOOST_TEST(!from_json(std::string(limits::json_size_bytes_max + 1, ' ')).has_value());
}

BOOST_AUTO_TEST_CASE(documents_of_other_hands_convert) {
  nlohmann::json document{{"n", 18446744073709551615u}, {"b", nlohmann::json::binary({1, 2})}};
  auto read = from_nlohmann(document);
  BOOST_REQUIRE(read.has_value());
  BOOST_TEST((*read)["n"] == 18446744073709551615.0);
  BOOST_TEST((*read)["b"].as_bytes().size() == 2u);
  BOOST_TEST(!from_nlohmann(nlohmann::json(nlohmann::json::value_t::discarded)).has_value());
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
