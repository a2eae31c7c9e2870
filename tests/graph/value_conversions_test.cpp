// Conversions of the standard library's types, and the JSON Schema of each.
#include <troupe/value_conversions.hpp>

#include <troupe/state.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <limits>
#include <set>
#include <unordered_map>
#include <unordered_set>

namespace troupe {
namespace conversion_samples {

enum class mood { good, bad, ugly };
TROUPE_ENUM(mood, good, bad, ugly)

enum plain_number : unsigned char { FIRST = 7, SECOND = 9, AGAIN = 7 };
TROUPE_ENUM(plain_number, FIRST, SECOND, AGAIN)

struct outer {
  enum class size { small, large };
};
TROUPE_ENUM(outer::size, small, large)

struct circle {
  double radius = 0;
  TROUPE_STATE(circle, radius)
};
struct box {
  double width = 0;
  double height = 0;
  TROUPE_STATE(box, width, height)
};

struct kept {
  mood how = mood::good;
  std::chrono::milliseconds wait{};
  std::chrono::system_clock::time_point at{};
  std::variant<std::int64_t, std::string> id;
  std::pair<std::string, int> place;
  std::array<int, 2> range{};
  std::set<std::string> tags;
  std::unordered_map<std::string, double> marks;
  std::filesystem::path file;
  std::vector<std::byte> data;
  uuid key;
  std::optional<mood> next;
  TROUPE_STATE(kept, how, wait, at, id, place, range, tags, marks, file, data, key, next)
};

} // namespace conversion_samples

namespace {

using namespace conversion_samples;
using namespace std::chrono_literals;
using std::chrono::sys_days;

/// The message of the error that reading `v` as a T throws; it must be invalid_value.
template <class T> std::string refusal(const value& v) {
  try {
    (void)v.as<T>();
  } catch (const error& e) {
    BOOST_TEST(static_cast<int>(e.code()) == static_cast<int>(errc::invalid_value));
    BOOST_TEST(!detail::fits<T>(v));
    return e.message();
  }
  return "no error";
}

/// Whether `x` is kept as `v`, and read from it.
template <class T> bool kept_as(const T& x, const value& v) {
  return value::of(x) == v && v.as<T>() == x && detail::fits<T>(v);
}

std::byte operator""_b(unsigned long long n) {
  return static_cast<std::byte>(n);
}

} // namespace

BOOST_AUTO_TEST_SUITE(graph_value_conversions)

// ---- enums ----------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(enum_is_kept_by_name) {
  BOOST_TEST(kept_as(mood::bad, value("bad")));
  BOOST_TEST(kept_as(SECOND, value("SECOND")));
  BOOST_TEST(kept_as(outer::size::large, value("large")));
  BOOST_TEST(kept_as(std::vector{mood::ugly, mood::good}, value::list({"ugly", "good"})));
  BOOST_TEST(to_json(json_schema<mood>()) == R"({"enum":["good","bad","ugly"],"type":"string"})");
}

BOOST_AUTO_TEST_CASE(first_of_two_names_of_a_number_is_written_and_both_are_read) {
  BOOST_TEST(value::of(AGAIN) == value("FIRST"));
  BOOST_TEST((value("AGAIN").as<plain_number>() == FIRST));
}

BOOST_AUTO_TEST_CASE(enum_refuses_what_it_has_no_name_for) {
  BOOST_TEST(refusal<mood>("sad")
             == "read an enum: `sad` is not a mood, which has good, bad, ugly");
  BOOST_TEST(refusal<mood>("") == "read an enum: `` is not a mood, which has good, bad, ugly");
  BOOST_TEST(refusal<mood>(1).find("wanted string: it is integer") != std::string::npos);
  BOOST_CHECK_THROW(value::of(static_cast<mood>(7)), error);
}

// ---- times ----------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(duration_is_kept_as_iso_text) {
  BOOST_TEST(kept_as(0s, value("PT0S")));
  BOOST_TEST(kept_as(1500ms, value("PT1.5S")));
  BOOST_TEST(kept_as(std::chrono::nanoseconds{-1}, value("-PT0.000000001S")));
  BOOST_TEST(kept_as(26h, value("P1DT2H")));
  BOOST_TEST(kept_as(90min, value("PT1H30M")));
  BOOST_TEST(kept_as(std::chrono::days{-3}, value("-P3D")));
  BOOST_TEST(kept_as(-90061500ms, value("-P1DT1H1M1.5S")));
  BOOST_TEST(kept_as(std::chrono::duration<double>{0.25}, value("PT0.25S")));
  BOOST_TEST(kept_as(std::chrono::duration<double>{-0.25}, value("-PT0.25S")));
  BOOST_TEST(value("P2W").as<std::chrono::hours>().count() == 336);
  BOOST_TEST(value("PT90M").as<std::chrono::seconds>().count() == 5400);
  BOOST_TEST(to_json(json_schema<std::chrono::seconds>())
             == R"({"format":"duration","type":"string"})");
}

BOOST_AUTO_TEST_CASE(duration_at_the_ends_of_its_range_is_kept) {
  for (auto d : {std::chrono::nanoseconds::min(), std::chrono::nanoseconds::max()})
    BOOST_TEST(value::of(d).as<std::chrono::nanoseconds>().count() == d.count());
  for (auto d : {std::chrono::seconds::min(), std::chrono::seconds::max()})
    BOOST_TEST(value::of(d).as<std::chrono::seconds>().count() == d.count());
  BOOST_CHECK_THROW(
    value::of(std::chrono::weeks{std::numeric_limits<int>::max()} * std::int64_t{1'000'000'000}),
    error);
  BOOST_CHECK_THROW(value::of(std::chrono::duration<double>{1e30}), error);
  BOOST_CHECK_THROW(value::of(std::chrono::duration<double>{std::nan("")}), error);
}

BOOST_DATA_TEST_CASE(duration_refuses_other_texts,
                     boost::unit_test::data::make({"",
                                                   "P",
                                                   "PT",
                                                   "-P",
                                                   "P1",
                                                   "1S",
                                                   "PT1",
                                                   "PTS",
                                                   "P1H",
                                                   "PT1D",
                                                   "P1Y",
                                                   "P1M",
                                                   "PT1S1M",
                                                   "PT1S1S",
                                                   "PT1.S",
                                                   "PT.5S",
                                                   "PT1.5M",
                                                   "PT1.0000000001S",
                                                   "P1D ",
                                                   " P1D",
                                                   "p1d",
                                                   "+P1D",
                                                   "P-1D",
                                                   "P1W1D",
                                                   "P1DT",
                                                   "PT1,5S",
                                                   "--P1D",
                                                   "PT99999999999999999999S",
                                                   "PT9223372036854775808S",
                                                   "P1D\n"})) {
  BOOST_TEST(refusal<std::chrono::nanoseconds>(value(sample)).starts_with("read a "));
}

BOOST_AUTO_TEST_CASE(duration_refuses_a_finer_text_and_one_out_of_range) {
  BOOST_TEST(refusal<std::chrono::seconds>("PT1.5S")
             == "read a time: it is not a whole number of the type's units");
  BOOST_TEST(refusal<std::chrono::hours>("PT1H30M")
             == "read a time: it is not a whole number of the type's units");
  BOOST_TEST(refusal<std::chrono::nanoseconds>("P1000000D") == "read a time: out of range");
  using small = std::chrono::duration<std::int8_t>;
  BOOST_TEST(refusal<small>("PT128S") == "read a time: out of the type's range");
  BOOST_TEST(value("-PT128S").as<small>().count() == -128);
  BOOST_TEST(refusal<std::chrono::seconds>(5)
             == "read a duration: wanted an ISO 8601 duration as P1DT2H3M4.5S: it is integer");
}

BOOST_AUTO_TEST_CASE(time_point_is_kept_as_iso_text_in_utc) {
  using std::chrono::year;
  auto day = sys_days{year{2026} / 2 / 28};
  std::chrono::system_clock::time_point late = day + 23h + 59min + 59s + 500ms;
  BOOST_TEST(kept_as(late, value("2026-02-28T23:59:59.500Z")));
  BOOST_TEST(kept_as(std::chrono::sys_seconds{day + 1s}, value("2026-02-28T00:00:01Z")));
  BOOST_TEST(value::of(std::chrono::sys_time<std::chrono::nanoseconds>{day + 1ns})
             == value("2026-02-28T00:00:00.000000001Z"));
  BOOST_TEST(kept_as(std::chrono::sys_seconds{-1s}, value("1969-12-31T23:59:59Z")));
  BOOST_TEST(
    kept_as(std::chrono::sys_seconds{sys_days{year{0} / 1 / 1}}, value("0000-01-01T00:00:00Z")));
  BOOST_TEST(kept_as(std::chrono::sys_seconds{sys_days{year{9999} / 12 / 31}},
                     value("9999-12-31T00:00:00Z")));
  BOOST_TEST(
    (value("2026-03-01T01:29:59.5+01:30").as<std::chrono::system_clock::time_point>() == late));
  BOOST_TEST(
    (value("2026-02-28T18:59:59.5-05:00").as<std::chrono::system_clock::time_point>() == late));
  BOOST_TEST((value::extension(value_kind::timestamp, -1'000'000).as<std::chrono::sys_seconds>()
              == std::chrono::sys_seconds{-1s}));
  BOOST_TEST(to_json(json_schema<std::chrono::system_clock::time_point>())
             == R"({"format":"date-time","type":"string"})");
}

BOOST_DATA_TEST_CASE(time_point_refuses_other_texts,
                     boost::unit_test::data::make({"",
                                                   "2026-02-28",
                                                   "2026-02-28T23:59:59",
                                                   "2026-02-29T00:00:00Z",
                                                   "2026-13-01T00:00:00Z",
                                                   "2026-00-01T00:00:00Z",
                                                   "2026-04-31T00:00:00Z",
                                                   "2026-02-28 23:59:59Z",
                                                   "2026-02-28t23:59:59Z",
                                                   "2026-02-28T23:59:59z",
                                                   "2026-02-28T24:00:00Z",
                                                   "2026-02-28T23:60:00Z",
                                                   "2026-02-28T23:59:60Z",
                                                   "2026-02-28T23:59Z",
                                                   "2026-02-28T23:59:59.Z",
                                                   "2026-02-28T23:59:59.1234567891Z",
                                                   "2026-02-28T23:59:59+1:00",
                                                   "2026-02-28T23:59:59+01",
                                                   "2026-02-28T23:59:59+24:00",
                                                   "2026-02-28T23:59:59ZZ",
                                                   "2026-02-28T23:59:59Z ",
                                                   "+2026-02-28T23:59:59Z",
                                                   "26-02-28T23:59:59Z",
                                                   "12026-02-28T23:59:59Z",
                                                   "2026-2-28T23:59:59Z"})) {
  BOOST_TEST(refusal<std::chrono::system_clock::time_point>(value(sample))
               .starts_with("read a time: wanted a time as 2026-02-28T23:59:59.5Z: it is \""));
}

BOOST_AUTO_TEST_CASE(time_point_refuses_what_its_type_can_not_hold) {
  BOOST_TEST(refusal<std::chrono::sys_seconds>("2026-02-28T23:59:59.5Z")
             == "read a time: it is not a whole number of the type's units");
  BOOST_TEST(refusal<std::chrono::sys_time<std::chrono::nanoseconds>>("9999-01-01T00:00:00Z")
             == "read a time: out of range");
  BOOST_CHECK_THROW(
    value::of(std::chrono::sys_seconds{sys_days{std::chrono::year{10'000} / 1 / 1}}), error);
  BOOST_CHECK_THROW(value::of(std::chrono::sys_seconds{std::chrono::seconds::min()}), error);
}

BOOST_AUTO_TEST_CASE(day_is_kept_as_a_date) {
  auto leap = sys_days{std::chrono::year{2024} / 2 / 29};
  BOOST_TEST(kept_as(leap, value("2024-02-29")));
  BOOST_TEST(refusal<sys_days>("2023-02-29")
             == "read a day: wanted a day as 2026-02-28: it is \"2023-02-29\"");
  BOOST_TEST(refusal<sys_days>("2024-02-29T00:00:00Z").starts_with("read a day"));
  BOOST_TEST(to_json(json_schema<sys_days>()) == R"({"format":"date","type":"string"})");
}

// ---- containers -----------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(pair_tuple_and_array_are_lists_of_their_size) {
  BOOST_TEST(kept_as(std::pair{std::string{"a"}, 1}, value::list({"a", 1})));
  BOOST_TEST(kept_as(std::tuple{1, true, std::string{"x"}}, value::list({1, true, "x"})));
  BOOST_TEST(kept_as(std::array{1, 2, 3}, value::list({1, 2, 3})));
  using nested = std::array<std::array<int, 2>, 2>;
  BOOST_TEST(
    kept_as(nested{{{1, 2}, {3, 4}}}, value::list({value::list({1, 2}), value::list({3, 4})})));
  BOOST_TEST(
    to_json(json_schema<std::pair<std::string, int>>())
    == R"({"maxItems":2,"minItems":2,"prefixItems":[{"type":"string"},{"type":"integer"}],)"
       R"("type":"array"})");
  BOOST_TEST(to_json(json_schema<std::array<int, 3>>())
             == R"({"items":{"type":"integer"},"maxItems":3,"minItems":3,"type":"array"})");
}

BOOST_AUTO_TEST_CASE(list_of_another_size_or_with_a_wrong_element_is_refused) {
  using place = std::pair<std::string, int>;
  BOOST_TEST(refusal<place>(value::list({"a"})) == "read a list of 2: it has 1");
  BOOST_TEST(refusal<place>(value::list({"a", 1, 2})) == "read a list of 2: it has 3");
  BOOST_TEST(refusal<place>("a") == "read a list of 2: it is string");
  BOOST_TEST(refusal<place>(value::list({"a", "b"})).starts_with("element 1: "));
  BOOST_TEST((refusal<std::array<int, 2>>(value::list({1, "x"})).starts_with("element 1: ")));
  BOOST_TEST((refusal<std::array<int, 2>>(value::list()) == "read a list of 2: it has 0"));
}

BOOST_AUTO_TEST_CASE(set_is_a_list_without_equal_elements) {
  BOOST_TEST(kept_as(std::set<std::string>{"b", "a"}, value::list({"a", "b"})));
  BOOST_TEST((value::list({2, 1, 2}).as<std::set<int>>() == std::set{1, 2}));
  BOOST_TEST((refusal<std::set<int>>(value::list({1, "x"})) != "no error"));
  BOOST_TEST((refusal<std::set<int>>(1) != "no error"));
  BOOST_TEST(to_json(json_schema<std::set<int>>())
             == R"({"items":{"type":"integer"},"type":"array","uniqueItems":true})");
}

BOOST_AUTO_TEST_CASE(unordered_set_gives_equal_values_for_equal_elements) {
  std::unordered_set<std::string> up, down;
  for (int i = 0; i < 100; ++i) {
    up.insert("key" + std::to_string(i));
    down.insert("key" + std::to_string(99 - i));
  }
  down.rehash(1000);
  BOOST_TEST(value::of(up) == value::of(down));
  BOOST_TEST((value::of(up).as<std::unordered_set<std::string>>() == up));
}

BOOST_AUTO_TEST_CASE(unordered_map_is_a_map) {
  std::unordered_map<std::string, std::optional<int>> some{{"a", 1}, {"b", std::nullopt}};
  BOOST_TEST(kept_as(some, value::map({{"a", 1}, {"b", nullptr}})));
}

// ---- variants -------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(variant_is_the_value_of_its_alternative) {
  using number = std::variant<double, std::int64_t>;
  BOOST_TEST(kept_as(number{2.0}, value(2.0)));
  BOOST_TEST(kept_as(number{std::int64_t{2}}, value(2)));
  using shape = std::variant<circle, box>;
  value flat{{"width", 2.0}, {"height", 1.0}};
  BOOST_TEST(std::get<box>(flat.as<shape>()).width == 2.0);
  BOOST_TEST(std::get<circle>((value{{"radius", 2.0}}).as<shape>()).radius == 2.0);
  using perhaps = std::variant<std::monostate, mood, std::string>;
  BOOST_TEST(kept_as(perhaps{}, value{}));
  BOOST_TEST(kept_as(perhaps{mood::bad}, value("bad")));
  BOOST_TEST(kept_as(perhaps{std::string{"sad"}}, value("sad")));
  BOOST_TEST(to_json(json_schema<number>())
             == R"({"anyOf":[{"type":"number"},{"type":"integer"}]})");
}

BOOST_AUTO_TEST_CASE(variant_reads_loosely_when_no_alternative_gives_the_value_again) {
  using number = std::variant<std::string, double>;
  BOOST_TEST(std::get<double>(value(2).as<number>()) == 2.0);
}

BOOST_AUTO_TEST_CASE(variant_refuses_with_the_reason_of_each_alternative) {
  using id = std::variant<std::int64_t, std::string>;
  auto why = refusal<id>(true);
  BOOST_TEST(why.starts_with("read a variant: no alternative fits; "));
  BOOST_TEST(why.find("wanted integer") != std::string::npos);
  BOOST_TEST(why.find("wanted string") != std::string::npos);
}

// ---- bytes, paths, ids ----------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(bytes_are_kept_as_bytes) {
  std::vector data{0x00_b, 0xff_b};
  BOOST_TEST(kept_as(data, value::bytes(data)));
  BOOST_TEST(value::of(data).is_bytes());
  BOOST_TEST(kept_as(std::vector<std::byte>{}, value::bytes({})));
  BOOST_TEST(refusal<std::vector<std::byte>>(value::list({1})).find("wanted bytes")
             != std::string::npos);
  std::array<std::byte, 2> two{0x01_b, 0x02_b};
  BOOST_TEST(kept_as(two, value::bytes(two)));
  BOOST_TEST(
    (refusal<std::array<std::byte, 3>>(value::bytes(two)) == "read bytes: wanted 3: there are 2"));
  BOOST_TEST(
    to_json(json_schema<std::vector<std::byte>>())
    == R"({"patternProperties":{"^[$]bytes$":{"contentEncoding":"base64","type":"string"}},)"
       R"("required":["$bytes"],"type":"object"})");
}

BOOST_AUTO_TEST_CASE(path_is_kept_as_text_without_null_bytes) {
  BOOST_TEST(kept_as(std::filesystem::path{"a/b c.txt"}, value("a/b c.txt")));
  BOOST_TEST(refusal<std::filesystem::path>(std::string{"a\0b", 3})
             == "read a path: it has a null byte");
  BOOST_TEST(to_json(json_schema<std::filesystem::path>())
             == R"({"format":"path","type":"string"})");
}

BOOST_AUTO_TEST_CASE(uuid_is_kept_as_its_text) {
  auto text = "6ba7b810-9dad-11d1-80b4-00c04fd430c8";
  auto id = read_uuid(text).value();
  BOOST_TEST((id.bytes[0] == 0x6b_b));
  BOOST_TEST((id.bytes[15] == 0xc8_b));
  BOOST_TEST(kept_as(id, value(text)));
  BOOST_TEST((read_uuid("6BA7B810-9DAD-11D1-80B4-00C04FD430C8").value() == id));
  BOOST_TEST(to_string(uuid{}) == "00000000-0000-0000-0000-000000000000");
  BOOST_TEST((uuid{} < id));
  BOOST_TEST(to_json(json_schema<uuid>()) == R"({"format":"uuid","type":"string"})");
}

BOOST_DATA_TEST_CASE(uuid_refuses_other_texts,
                     boost::unit_test::data::make({"", "6ba7b8109dad11d180b400c04fd430c8",
                                                   "{6ba7b810-9dad-11d1-80b4-00c04fd430c8}",
                                                   "6ba7b810-9dad-11d1-80b4-00c04fd430cg",
                                                   "6ba7b810-9dad-11d1-80b4-00c04fd430c",
                                                   "6ba7b810-9dad-11d1-80b4-00c04fd430c88",
                                                   "6ba7b810-9dad-11d1-80b4000c04fd430c8",
                                                   "6ba7b-10-9dad-11d1-80b4-00c04fd430c8"})) {
  BOOST_TEST(refusal<uuid>(value(sample)).starts_with("read a uuid: wanted 36 characters"));
}

// ---- in a state -----------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(typed_state_keeps_all_of_them) {
  kept all;
  all.how = mood::ugly;
  all.wait = 250ms;
  all.at = sys_days{std::chrono::year{2026} / 1 / 2};
  all.id = "x";
  all.place = {"here", 3};
  all.range = {1, 2};
  all.tags = {"a"};
  all.marks = {{"m", 0.5}};
  all.file = "f";
  all.data = {0x01_b};
  all.key = read_uuid("6ba7b810-9dad-11d1-80b4-00c04fd430c8").value();
  auto v = value::of(all);
  auto again = from_msgpack(to_msgpack(v).value()).value().as<kept>();
  BOOST_TEST(value::of(again) == v);
  BOOST_TEST((again.how == mood::ugly));
  BOOST_TEST(again.tags.contains("a"));
}

BOOST_AUTO_TEST_CASE(value_that_is_not_a_member_s_names_the_member) {
  try {
    (void)value::map({{"how", "sad"}}).as<kept>();
    BOOST_FAIL("read");
  } catch (const error& e) {
    BOOST_TEST(e.message()
               == "read state kept: `how`: read an enum: `sad` is not a mood, which has good, bad, "
                  "ugly");
  }
}

BOOST_AUTO_TEST_CASE(schema_of_a_state_requires_a_variant_unless_it_may_be_null) {
  auto required = json_schema<kept>()["required"];
  auto has = [&required](const char* name) {
    return std::ranges::find(required.items(), value(name)) != required.items().end();
  };
  BOOST_TEST(has("id"));
  BOOST_TEST(has("how"));
  BOOST_TEST(!has("next"));
}

BOOST_AUTO_TEST_CASE(write_that_does_not_fit_is_refused_where_it_is_made) {
  for (const auto& [name, spec] : schema_of<kept>().channels) {
    BOOST_TEST_CONTEXT(name) {
      BOOST_REQUIRE(spec.check);
      BOOST_TEST(spec.check->fits(nullptr));
      BOOST_TEST(!spec.check->fits(value::list({value::list(), true})));
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace troupe
